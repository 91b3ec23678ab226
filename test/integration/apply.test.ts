import { object, parse, string } from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { applyObject, patchObject, type WriteOutcome, type WriteTarget } from "../../common/kube/apply.ts";
import { createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";

const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const never = new AbortController().signal;
const written = object({ metadata: object({ uid: string(), resourceVersion: string() }) });

let owner: Owner;
let plane: ControlPlane;
let signals: Disposable;
let client: KubeClient;
let stranger: KubeClient;
/** The claim of a test, as it is at its begin. */
let target: WriteTarget;
let count = 0;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  // Without controllers nothing else writes to a claim.
  plane = await borrowControlPlane(owner);
  client = await clientOf(plane.kubeconfig);
  stranger = await clientOf(await plane.kubeconfigFor({ user: "ann" }));
});
afterAll(async () => {
  await Promise.all([client.close(), stranger.close()]);
  await owner.close();
  signals[Symbol.dispose]();
});

async function clientOf(kubeconfig: string): Promise<KubeClient> {
  return createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), { clock: owner.clock });
}

beforeEach(async () => {
  count += 1;
  target = await createClaim(`data-${count}`);
});

async function createClaim(name: string): Promise<WriteTarget> {
  const spec = {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Mi" } },
    storageClassName: "",
    volumeName: "none",
  };
  const { metadata } = parse(
    written,
    await client.request({ method: "POST", path: CLAIMS, body: { metadata: { name }, spec } }, never),
  );
  const path = `${CLAIMS}/${name}`;
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "default", path, name, ...metadata };
}

/** Its finalizer is a controller's to remove, and none runs. */
async function deleteClaim({ path }: WriteTarget): Promise<void> {
  const patch = { metadata: { finalizers: null } };
  await client.request({ method: "PATCH", path, body: patch, contentType: "application/merge-patch+json" }, never);
  await client.request({ method: "DELETE", path }, never);
}

async function touch({ path }: WriteTarget): Promise<void> {
  const patch = { metadata: { labels: { touched: "yes" } } };
  await client.request({ method: "PATCH", path, body: patch, contentType: "application/merge-patch+json" }, never);
}

/** Every way to write: to the object and to its status, as an apply and as a merge patch. */
const WAYS = [
  { name: "an apply to the object", how: "apply", subresource: undefined },
  { name: "an apply to its status", how: "apply", subresource: "status" },
  { name: "a merge patch of the object", how: "patch", subresource: undefined },
  { name: "a merge patch of its status", how: "patch", subresource: "status" },
] as const;
type Way = Pick<(typeof WAYS)[number], "how" | "subresource">;

interface Change {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly from?: KubeClient;
  readonly manager?: string;
}

function write(
  { how, subresource }: Way,
  to: WriteTarget,
  { annotations = { "example.org/a": "b" }, from = client, manager = "test" }: Change = {},
): Promise<WriteOutcome> {
  const fields = { metadata: { annotations } };
  const exact = { ...to, subresource };
  if (how === "patch") return patchObject(from, { target: exact, patch: fields, fieldManager: manager }, never);
  return applyObject(from, { target: exact, fields, options: { fieldManager: manager, force: false } }, never);
}

function claimAt({ path }: WriteTarget): Promise<unknown> {
  return client.request({ method: "GET", path }, never);
}

describe.each(WAYS)("$name", (way) => {
  it("is applied to the object that it was decided on", async () => {
    const outcome = await write(way, target);

    expect(outcome).toMatchObject({
      kind: "applied",
      object: { metadata: { uid: target.uid, annotations: { "example.org/a": "b" } } },
    });
    expect(await claimAt(target)).toMatchObject({ metadata: { annotations: { "example.org/a": "b" } } });
  });

  it("is applied to any state when none is named", async () => {
    const { resourceVersion: _, ...anyState } = target;
    await touch(target);

    expect(await write(way, anyState)).toMatchObject({ kind: "applied" });
  });

  it("is a conflict when the object has changed since", async () => {
    await touch(target);

    expect(await write(way, target)).toMatchObject({ kind: "conflict" });
    expect(await claimAt(target)).not.toMatchObject({ metadata: { annotations: { "example.org/a": "b" } } });
  });

  it("is a conflict when an answer was lost and the same body is sent again", async () => {
    await write(way, target);

    expect(await write(way, target, { annotations: { "example.org/a": "c" } })).toMatchObject({ kind: "conflict" });
  });

  it("finds no object of its UID when another one has the name", async () => {
    const { resourceVersion: _, ...anyState } = target;
    await deleteClaim(target);
    await createClaim(target.name);

    expect(await write(way, anyState)).toMatchObject({ kind: "gone" });
    expect((await write(way, target)).kind).toMatch(/gone|conflict/);
    expect(await claimAt(target)).not.toMatchObject({ metadata: { annotations: { "example.org/a": "b" } } });
  });

  it("creates nothing when the object is gone", async () => {
    const { resourceVersion: _, ...anyState } = target;
    await deleteClaim(target);

    expect(await write(way, anyState)).toMatchObject({ kind: "gone" });
    expect((await write(way, target)).kind).toMatch(/gone|conflict/);
    await expect(claimAt(target)).rejects.toMatchObject({ status: 404 });
  });

  it("is refused when it is invalid", async () => {
    const outcome = await write(way, target, { annotations: { "not a name": "b" } });

    expect(outcome).toMatchObject({ kind: "refused", status: 422, reason: "Invalid" });
  });

  it("is to be tried again when no role allows it", async () => {
    const writing = write(way, target, { from: stranger });

    await expect(writing).rejects.toMatchObject({ status: 403, reason: "Forbidden", retriable: true });
  });
});

describe.each([
  { reason: undefined, status: 422, word: "Invalid" },
  { reason: "Forbidden", status: 403, word: "Forbidden" },
])("a write that an admission policy denies with the reason $word", ({ reason, status, word }) => {
  const policy = `deny-${word.toLowerCase()}`;

  beforeAll(async () => {
    const resources = ["persistentvolumeclaims", "persistentvolumeclaims/status"];
    const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources }];
    const expression = `!("example.org/${policy}" in object.metadata.?annotations.orValue({}))`;
    const validations = [{ expression, message: "not so", ...(reason && { reason }) }];
    const metadata = { name: policy };
    const spec = { failurePolicy: "Fail", matchConstraints: { resourceRules: rules }, validations };
    await create("validatingadmissionpolicies", { metadata, spec });
    const binding = { policyName: policy, validationActions: ["Deny"] };
    await create("validatingadmissionpolicybindings", { metadata, spec: binding });
  });

  async function create(resource: string, body: object): Promise<void> {
    await client.request({ method: "POST", path: `${ADMISSION}/${resource}`, body }, never);
  }

  it.each(WAYS)("is refused: $name", async (way) => {
    const { resourceVersion: _, ...anyState } = target;
    const denied = (): Promise<WriteOutcome> =>
      write(way, anyState, { annotations: { [`example.org/${policy}`]: "b" } });

    // A policy is in force some moments after it was made.
    await waitUntil(owner, {
      what: policy,
      limitMs: 20_000,
      check: async () => void expect(await denied()).not.toMatchObject({ kind: "applied" }),
    });

    expect(await denied()).toMatchObject({
      kind: "refused",
      status,
      reason: word,
      message: expect.stringContaining("not so"),
    });
  });
});

describe("an apply of fields that another manager owns", () => {
  it("is refused without force, and takes them with it", async () => {
    const { resourceVersion: _, ...anyState } = target;
    const apply = { how: "apply", subresource: undefined } as const;
    await write(apply, anyState, { manager: "other" });

    const refused = await write(apply, anyState, { annotations: { "example.org/a": "c" } });
    const options = { fieldManager: "test", force: true };
    const fields = { metadata: { annotations: { "example.org/a": "c" } } };
    const forced = await applyObject(client, { target: anyState, fields, options }, never);

    expect(refused).toMatchObject({ kind: "refused", status: 409, reason: "FieldManagerConflict" });
    expect(forced).toMatchObject({ kind: "applied" });
  });
});

describe("a write to what the server does not serve", () => {
  it("is to be tried again: a resource may come later", async () => {
    const path = "/apis/example.org/v1/namespaces/default/things/a";

    await expect(write(WAYS[2], { ...target, path })).rejects.toMatchObject({ status: 404, retriable: true });
  });
});
