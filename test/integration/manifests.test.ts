import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import {
  type KubernetesObject,
  loadAllYaml,
  type V1DaemonSet,
  type V1Deployment,
  type V1PodSpec,
  type V1PodTemplateSpec,
} from "@kubernetes/client-node";
import { boolean, object, parse } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accepted } from "../rig/control-plane/api.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { byName, kustomize, MANIFESTS } from "./manifest-tools.ts";

const run = promisify(execFile);

let owner: Owner;
let signals: Disposable;
/** Nobody else is to see these pods. */
let plane: ControlPlane;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  plane = await borrowControlPlane(owner);
  await apply("base");
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function kubectl(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return run(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`, ...args]);
}

/** As an administrator does it; unknown fields are errors. */
function apply(path: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k", `${MANIFESTS}/${path}`);
}

/** A folder that puts a component on top of the base. */
async function overlayWith(component: string): Promise<string> {
  const overlay = join(owner.folder, component);
  await mkdir(overlay);
  const path = (to: string): string => relative(overlay, `${MANIFESTS}/${to}`);
  const kustomization = { resources: [path("base")], components: [path(`components/${component}`)] };
  await writeFile(join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
  return overlay;
}

/** All objects by name; containers without what a cluster for tests sets. */
function besideImagesAndSizes(manifests: string): ReadonlyMap<string, KubernetesObject> {
  const objects = byName(manifests);
  for (const workload of objects.values()) {
    const { containers = [], initContainers = [] } = podOf(workload);
    for (const container of [...containers, ...initContainers])
      Object.assign(container, { image: undefined, imagePullPolicy: undefined, resources: undefined });
  }
  return objects;
}

/** The pod of a workload; of other objects, nothing. */
function podOf({ spec }: V1DaemonSet | V1Deployment): Partial<V1PodSpec> {
  return spec?.template?.spec ?? {};
}

async function rendered<T extends KubernetesObject>(path: string, kind: string): Promise<T> {
  const [found, ...others] = loadAllYaml(await kustomize(`${MANIFESTS}/${path}`)).filter((one) => one.kind === kind);
  if (found === undefined || others.length > 0) throw new Error(`${path} has not one object of kind ${kind}`);
  return found;
}

function create(path: string, body: object): Promise<string> {
  return accepted(plane.api({ method: "POST", path, body }), path);
}

/** A pod as the controller of the template makes it; the effect of a label or a default is visible nowhere else. */
function createPod(namespace: string, { metadata, spec }: V1PodTemplateSpec): Promise<string> {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, generateName: "test-" }, spec };
  return create(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);
}

describe("an API server", () => {
  it.each(["base", "overlays/test"])("takes %s without a word of warning", async (path) => {
    const { stdout, stderr } = await apply(path);

    expect(stderr).toBe("");
    expect(stdout).toContain("daemonset.apps/mooring-agent serverside-applied");
    expect(stdout).toContain("deployment.apps/mooring-aggregator serverside-applied");
  });

  it("admits both pods where they belong", async () => {
    const agent = await rendered<V1DaemonSet>("base", "DaemonSet");
    const aggregator = await rendered<V1Deployment>("base", "Deployment");

    await createPod("mooring-agents", agent.spec?.template ?? {});
    await createPod("mooring", aggregator.spec?.template ?? {});
  });

  it("admits nothing that reads a node's files beside the aggregator", async () => {
    const agent = await rendered<V1DaemonSet>("base", "DaemonSet");
    const template = agent.spec?.template ?? {};

    await expect(
      createPod("mooring", {
        ...template,
        spec: { containers: [], ...template.spec, serviceAccountName: "mooring-aggregator" },
      }),
    ).rejects.toThrow(/violates PodSecurity[^\n]*hostPath/);
  });
});

describe("the test overlay", () => {
  it("sets the image, and leaves reports encrypted and authenticated on both sides", async () => {
    const templates = [
      (await rendered<V1DaemonSet>("overlays/test", "DaemonSet")).spec?.template,
      (await rendered<V1Deployment>("overlays/test", "Deployment")).spec?.template,
    ];

    const containers = templates.flatMap((template) => template?.spec?.containers ?? []);
    expect(containers.map(({ image }) => image)).toEqual(["mooring.test/mooring:test", "mooring.test/mooring:test"]);
    const settings = containers.flatMap(({ env = [] }) => env);
    expect(settings).toContainEqual({ name: "MOORING_AGGREGATOR_URL", value: expect.stringMatching(/^https:/) });
    expect(settings).toContainEqual({ name: "MOORING_AGGREGATOR_TOKEN_FILE", value: expect.any(String) });
    expect(settings).toContainEqual({ name: "MOORING_REPORT_BIND_ADDRESS", value: ":8443" });
  });

  it("differs from the base with affinity-rights in images and sizes alone", async () => {
    const withRights = await overlayWith("affinity-rights");

    const [test, base] = await Promise.all([kustomize(`${MANIFESTS}/overlays/test`), kustomize(withRights)]);

    expect(besideImagesAndSizes(test)).toEqual(besideImagesAndSizes(base));
  });
});

describe("the components for rejecting pods", () => {
  it.each([
    { component: "affinity-enforce", name: "MOORING_AFFINITY", value: "enforce", role: "mooring-agent-reject" },
    { component: "affinity-delete", name: "MOORING_DELETE_REVERTED", value: "true", role: "mooring-agent-delete" },
  ])("$component sets $name and gives the right, on top of the base", async ({ component, name, value, role }) => {
    const manifests = await kustomize(await overlayWith(component));

    const [agent] = loadAllYaml(manifests).filter((one): one is V1DaemonSet => one.kind === "DaemonSet");
    const env = agent?.spec?.template.spec?.containers[0]?.env ?? [];
    expect(env).toContainEqual({ name, value });
    expect(env.map((one) => one.name)).toContain("MOORING_NODE");
    expect(manifests).toMatch(new RegExp(`kind: ClusterRole\\nmetadata:\\n {2}name: ${role}`));
  });
});

describe("the component for clusters that restrict critical pods", () => {
  it("is taken", async () => {
    const { stdout } = await kubectl(
      "apply",
      "--server-side",
      "--validate=strict",
      "-f",
      `${MANIFESTS}/components/critical-pods-quota/quota.yaml`,
    );

    expect(stdout.match(/resourcequota\/critical-pods serverside-applied/g)).toHaveLength(2);
  });
});

describe("the accounts", () => {
  const agent = "system:serviceaccount:mooring-agents:mooring-agent";
  const aggregator = "system:serviceaccount:mooring:mooring-aggregator";

  interface Question {
    readonly verb: string;
    readonly resource: string;
    readonly group?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  }

  async function may(user: string, resourceAttributes: Question): Promise<boolean> {
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const answer = await create(path, { spec: { user, groups: ["system:serviceaccounts"], resourceAttributes } });
    return parse(object({ status: object({ allowed: boolean() }) }), JSON.parse(answer)).status.allowed;
  }

  const lease = { resource: "leases", group: "coordination.k8s.io", name: "mooring-aggregator" } as const;

  it.each<{ readonly who: string; readonly ask: Question; readonly allowed: boolean; readonly name: string }>([
    { name: "an agent sees pods", who: agent, ask: { verb: "watch", resource: "pods" }, allowed: true },
    {
      name: "an agent deletes no pod",
      who: agent,
      ask: { verb: "delete", resource: "pods" },
      allowed: false,
    },
    {
      name: "an agent changes nothing of a pod but its status",
      who: agent,
      ask: { verb: "patch", resource: "pods" },
      allowed: false,
    },
    { name: "an agent reads a volume", who: agent, ask: { verb: "get", resource: "persistentvolumes" }, allowed: true },
    {
      name: "an agent changes no node",
      who: agent,
      ask: { verb: "patch", resource: "nodes", subresource: "status" },
      allowed: false,
    },
    {
      name: "an agent lists no claims",
      who: agent,
      ask: { verb: "list", resource: "persistentvolumeclaims" },
      allowed: false,
    },
    {
      name: "an agent cannot lead",
      who: agent,
      ask: { verb: "patch", namespace: "mooring", ...lease },
      allowed: false,
    },
    {
      name: "an aggregator renews its Lease",
      who: aggregator,
      ask: { verb: "patch", namespace: "mooring", ...lease },
      allowed: true,
    },
    {
      name: "an aggregator cannot take another Lease",
      who: aggregator,
      ask: { verb: "patch", namespace: "mooring", ...lease, name: "other" },
      allowed: false,
    },
    {
      name: "an aggregator takes no kubelet's Lease",
      who: aggregator,
      ask: { verb: "patch", namespace: "kube-node-lease", ...lease },
      allowed: false,
    },
    {
      name: "an aggregator labels pods of its namespace",
      who: aggregator,
      ask: { verb: "patch", namespace: "mooring", resource: "pods" },
      allowed: true,
    },
    {
      name: "an aggregator labels no agent",
      who: aggregator,
      ask: { verb: "patch", namespace: "mooring-agents", resource: "pods" },
      allowed: false,
    },
    {
      name: "an aggregator writes a claim's status",
      who: aggregator,
      ask: { verb: "patch", namespace: "shop", resource: "persistentvolumeclaims", subresource: "status" },
      allowed: true,
    },
    {
      name: "an aggregator changes no claim",
      who: aggregator,
      ask: { verb: "patch", namespace: "shop", resource: "persistentvolumeclaims" },
      allowed: false,
    },
    {
      name: "an aggregator deletes no claim",
      who: aggregator,
      ask: { verb: "delete", namespace: "shop", resource: "persistentvolumeclaims" },
      allowed: false,
    },
    {
      name: "an aggregator reads no secret",
      who: aggregator,
      ask: { verb: "get", namespace: "mooring", resource: "secrets" },
      allowed: false,
    },
  ])("$name", async ({ who, ask, allowed }) => {
    expect(await may(who, ask)).toBe(allowed);
  });
});
