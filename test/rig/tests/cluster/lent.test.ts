import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { createLending, type Lending } from "../../control-plane/lent.ts";
import { pidsWithEnvironment } from "../../process/identity.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { RUN_VARIABLE } from "../../process/run-folder.ts";
import { waitUntil } from "../../process/wait.ts";
import { type ClusterApi, createClusterApi } from "../../stand-in/cluster-api.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const MAPS = "/api/v1/namespaces/default/configmaps";
/** Two objects that every cluster has. */
const [CHANGED, DELETED] = ["/api/v1/namespaces/default", `${RBAC}/clusterroles/system:basic-user`];

/** What the first borrower makes, and where each of these is. */
const MADE = [
  { kind: "namespace", in: "/api/v1/namespaces", spec: {} },
  { kind: "node", in: "/api/v1/nodes", spec: {} },
  { kind: "claim", in: "/api/v1/namespaces/guests/persistentvolumeclaims", spec: { spec: claimSpec() } },
  {
    kind: "role",
    in: `${RBAC}/clusterroles`,
    spec: { rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }] },
  },
  { kind: "binding", in: `${RBAC}/clusterrolebindings`, spec: bindingSpec() },
  { kind: "policy", in: `${ADMISSION}/validatingadmissionpolicies`, spec: { spec: policySpec() } },
  {
    kind: "policy's binding",
    in: `${ADMISSION}/validatingadmissionpolicybindings`,
    spec: { spec: { policyName: "guests", validationActions: ["Deny"] } },
  },
] as const;

function claimSpec(): object {
  return { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } }, storageClassName: "" };
}

function bindingSpec(): object {
  const group = { apiGroup: "rbac.authorization.k8s.io" };
  const subjects = [{ ...group, kind: "User", name: "ann" }];
  return { subjects, roleRef: { ...group, kind: "ClusterRole", name: "guests" } };
}

function policySpec(): object {
  const resourceRules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }];
  return { matchConstraints: { resourceRules }, validations: [{ expression: "false", message: "no guests" }] };
}

async function annSeesNodes(api: ClusterApi): Promise<unknown> {
  const spec = { user: "ann", resourceAttributes: { verb: "get", resource: "nodes" } };
  return await api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec });
}

/** What the API server says of a ConfigMap that nobody makes. */
function tryOut({ api }: ControlPlane): ReturnType<ControlPlane["api"]> {
  return api({ method: "POST", path: `${MAPS}?dryRun=All`, body: { metadata: { name: "guest" } } });
}

describe("a control plane that is lent to one after the other", () => {
  let lending: Lending;
  let owner: Owner;
  let plane: ControlPlane;
  let first: { readonly pid: number | undefined; readonly had: readonly unknown[] };

  /** All but the time of the last write. */
  async function agentState(api: ClusterApi): Promise<readonly unknown[]> {
    const found = await Promise.all([CHANGED, DELETED].map((path) => api.get(path)));
    return found.map((one) =>
      JSON.parse(JSON.stringify(one, (key, value) => (key === "resourceVersion" ? "" : value))),
    );
  }

  async function useAll(borrower: Owner, lent: ControlPlane): Promise<void> {
    const api = createClusterApi(lent.api);
    for (const { in: path, spec } of MADE) await api.create(path, { metadata: { name: "guests" }, ...spec });
    await api.patch(CHANGED, { metadata: { labels: { guest: "was-here" } } });
    await api.remove(DELETED);
    const check = async (): Promise<void> => {
      expect(await annSeesNodes(api)).toMatchObject({ status: { allowed: true } });
      expect(await tryOut(lent)).toMatchObject({ text: expect.stringContaining("no guests") });
    };
    await waitUntil(borrower, { what: "the role and the policy in force", limitMs: 20_000, check });
  }

  beforeAll(async () => {
    lending = createLending();
    const borrower = await openOwner();
    try {
      const lent = await lending.borrow(borrower, ["kube-controller-manager"]);
      first = { pid: lent.part("kube-apiserver").pid, had: await agentState(createClusterApi(lent.api)) };
      await useAll(borrower, lent);
    } finally {
      await borrower.close();
    }
    owner = await openOwner();
    plane = await lending.borrow(owner);
  });
  afterAll(async () => {
    await owner.close();
    await lending.close();
  });

  it("is the same one", () => {
    expect(plane.part("kube-apiserver").pid).toBe(first.pid);
  });

  it.each(MADE)("has no $kind of the borrower before", async ({ in: path }) => {
    expect(await plane.api({ path: `${path}/guests` })).toMatchObject({ status: 404 });
  });

  it("does not keep permissions that an earlier borrower granted", async () => {
    expect(await annSeesNodes(createClusterApi(plane.api))).toMatchObject({ status: { allowed: false } });
  });

  it("refuses nothing by a policy of the borrower before", async () => {
    expect(await tryOut(plane)).toMatchObject({ status: 201 });
  });

  it("has what the borrower before changed and deleted as it was", async () => {
    expect(await agentState(createClusterApi(plane.api))).toEqual(first.had);
  });

  it("has no controllers unless they are asked for", () => {
    expect(() => plane.part("kube-controller-manager")).toThrow("was not asked for");
  });

  it("is not lent to a second borrower at the same time, which gets one of its own", async () => {
    const second = await openOwner();
    onTestFinished(() => second.close());

    const other = await lending.borrow(second);

    expect(pidsWithEnvironment(RUN_VARIABLE, second.folder)).toContain(other.part("kube-apiserver").pid);
    expect(other.part("kube-apiserver").pid).not.toBe(first.pid);
  });

  it("is not lent again when its API server was killed, and nothing of it is left", async () => {
    const folder = plane.kubeconfig.replace(/\/control-plane\/.*/, "");
    await plane.part("kube-apiserver").kill();
    await owner.close();
    const left = pidsWithEnvironment(RUN_VARIABLE, folder);
    owner = await openOwner();

    plane = await lending.borrow(owner);

    expect(left).toEqual([]);
    expect(plane.part("kube-apiserver").pid).not.toBe(first.pid);
    expect(await plane.api({ path: "/readyz" })).toMatchObject({ status: 200 });
  });
});
