import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { KubernetesObject, V1Container, V1DaemonSet, V1Deployment, V1PodSpec } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiAnswer } from "../rig/control-plane/api.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { createClusterApi } from "../rig/stand-in/cluster-api.ts";
import { APPLY } from "../rig/stand-in/mooring.ts";
import { byName, kustomize, MANIFESTS } from "./manifest-tools.ts";

const POLICY = "mooring-pods.mooring.dev";
/** A namespace of the same Pod Security level as the agents', without the policy. */
const ELSEWHERE = "elsewhere";
const run = promisify(execFile);

let owner: Owner;
let signals: Disposable;
let plane: ControlPlane;
let agent: V1PodSpec;
let aggregator: V1PodSpec;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  plane = await borrowControlPlane(owner);
  const manifests = byName(await kustomize(`${MANIFESTS}/base`));
  agent = podOf(manifests.get("DaemonSet mooring-agents/mooring-agent"));
  aggregator = podOf(manifests.get("Deployment mooring/mooring-aggregator"));
  const files = ["namespaces", "rbac", "policies/pods"].flatMap((name) => ["-f", `${MANIFESTS}/base/${name}.yaml`]);
  const api = createClusterApi(plane.api);
  await api.create("/api/v1/namespaces", { metadata: { name: ELSEWHERE } });
  await api.create(`/api/v1/namespaces/${ELSEWHERE}/serviceaccounts`, { metadata: { name: "mooring-agent" } });
  const flags = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
  await run(plane.kubectl, [...flags, ...APPLY, ...files]);
  const check = async (): Promise<void> => {
    const { status, text } = await tryOut("mooring-agents", { ...agent, hostNetwork: true });
    if (status !== 403) throw new Error(text);
  };
  await waitUntil(owner, { what: "the policy in force", limitMs: 30_000, check });
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function podOf(object: KubernetesObject | undefined): V1PodSpec {
  const { spec }: V1DaemonSet | V1Deployment = object ?? {};
  if (spec?.template.spec === undefined) throw new Error("no pod template");
  return spec.template.spec;
}

/** What the API server says of such a pod; it is not stored. */
function tryOut(namespace: string, spec: V1PodSpec): Promise<ApiAnswer> {
  const body = { apiVersion: "v1", kind: "Pod", metadata: { generateName: "test-" }, spec };
  return plane.api({ method: "POST", path: `/api/v1/namespaces/${namespace}/pods?dryRun=All`, body });
}

type Change = (spec: V1PodSpec) => V1PodSpec;

function container(change: (container: V1Container) => Partial<V1Container>): Change {
  return (spec) => ({ ...spec, containers: spec.containers.map((one) => ({ ...one, ...change(one) })) });
}

function init(change: (container: V1Container) => Partial<V1Container>): Change {
  return (spec) => ({
    ...spec,
    initContainers: (spec.initContainers ?? []).map((one) => ({ ...one, ...change(one) })),
  });
}

function confined(fields: V1Container["securityContext"]): (container: V1Container) => Partial<V1Container> {
  return ({ securityContext }) => ({ securityContext: { ...securityContext, ...fields } });
}

describe("the namespace of the aggregators", () => {
  it("admits an aggregator", async () => {
    expect(await tryOut("mooring", aggregator)).toMatchObject({ status: 201 });
  });

  it("would refuse an agent for nothing but what the node's files force", async () => {
    const { status, text } = await tryOut("mooring", { ...agent, serviceAccountName: "mooring-aggregator" });

    expect(status).toBe(403);
    const reasons = [...text.matchAll(/(?:latest\\": |, )([a-zA-Z][^()]*) \(/g)].map(([, reason]) => reason);
    expect(reasons).toEqual([
      // The kubelet makes the directory of the journal as root's: it has to be given to the agent's user.
      "unrestricted capabilities",
      "restricted volume types",
      "runAsNonRoot != true",
      "runAsUser=0",
    ]);
    expect(text).not.toMatch(/container \\"agent\\"/);
  });
});

describe("the namespace of the agents", () => {
  it("admits an agent", async () => {
    expect(await tryOut("mooring-agents", agent)).toMatchObject({ status: 201 });
  });

  const bind = { name: "more", hostPath: { path: "/etc" } };
  const rows: readonly { readonly name: string; readonly change: Change }[] = [
    {
      name: "another directory of the node",
      change: (spec) => ({ ...spec, volumes: [...(spec.volumes ?? []), bind] }),
    },
    {
      name: "the whole of /var/lib in place of the journal",
      change: (spec) => ({ ...spec, volumes: [...(spec.volumes ?? []), { ...bind, hostPath: { path: "/var/lib" } }] }),
    },
    {
      name: "a share of another machine",
      change: (spec) => ({
        ...spec,
        volumes: [...(spec.volumes ?? []), { name: "more", nfs: { server: "192.0.2.1", path: "/" } }],
      }),
    },
    {
      name: "the whole of the node's /proc",
      change: (spec) => ({ ...spec, volumes: [...(spec.volumes ?? []), { ...bind, hostPath: { path: "/proc" } }] }),
    },
    {
      name: "the environment of the node's first process",
      change: (spec) => ({
        ...spec,
        volumes: [...(spec.volumes ?? []), { ...bind, hostPath: { path: "/proc/1/environ" } }],
      }),
    },
    {
      name: "the node's mount table to write to",
      change: container(({ volumeMounts = [] }) => ({
        volumeMounts: volumeMounts.map(({ readOnly: _, ...mount }) => mount),
      })),
    },
    {
      name: "mounts that reach the node",
      change: container(({ volumeMounts = [] }) => ({
        volumeMounts: volumeMounts.map((mount) => ({ ...mount, mountPropagation: "HostToContainer" })),
      })),
    },
    { name: "the node's network", change: (spec) => ({ ...spec, hostNetwork: true }) },
    { name: "the node's processes", change: (spec) => ({ ...spec, hostPID: true }) },
    { name: "the node's IPC", change: (spec) => ({ ...spec, hostIPC: true }) },
    { name: "a port of the node", change: container(() => ({ ports: [{ containerPort: 80, hostPort: 80 }] })) },
    {
      name: "a sysctl",
      change: (spec) => ({
        ...spec,
        securityContext: { ...spec.securityContext, sysctls: [{ name: "net.ipv4.ip_forward", value: "1" }] },
      }),
    },
    {
      name: "a privileged container",
      change: container(confined({ privileged: true, allowPrivilegeEscalation: true })),
    },
    { name: "a container that may gain privileges", change: container(confined({ allowPrivilegeEscalation: true })) },
    { name: "a container that can change its root", change: container(confined({ readOnlyRootFilesystem: false })) },
    {
      name: "a capability",
      change: container(confined({ capabilities: { drop: ["ALL"], add: ["SYS_PTRACE"] } })),
    },
    { name: "the capabilities of the runtime", change: container(confined({ capabilities: {} })) },
    {
      name: "more than CHOWN at the begin",
      change: init(confined({ capabilities: { drop: ["ALL"], add: ["CHOWN", "DAC_OVERRIDE"] } })),
    },
    { name: "a root for good", change: container(confined({ runAsUser: 0, runAsNonRoot: false })) },
    {
      name: "a root at the begin that sees the mount table",
      change: init(({ volumeMounts = [] }) => ({
        volumeMounts: [...volumeMounts, { name: "mountinfo", mountPath: "/host/mountinfo", readOnly: true }],
      })),
    },
    { name: "a root beside the agent for good", change: init(() => ({ restartPolicy: "Always" })) },
    {
      name: "a pod that may be root",
      change: (spec) => ({ ...spec, securityContext: { ...spec.securityContext, runAsNonRoot: false } }),
    },
    { name: "no seccomp profile", change: container(confined({ seccompProfile: { type: "Unconfined" } })) },
    { name: "no AppArmor profile", change: container(confined({ appArmorProfile: { type: "Unconfined" } })) },
  ];

  it.each(rows)("refuses $name, which its level alone would admit", async ({ change }) => {
    const here = await tryOut("mooring-agents", change(agent));
    const elsewhere = await tryOut(ELSEWHERE, change(agent));

    expect(here.status).toBe(403);
    expect(here.text).toContain(`ValidatingAdmissionPolicy '${POLICY}' with binding '${POLICY}' denied request`);
    expect(elsewhere).toMatchObject({ status: 201 });
  });

  it("allows no ephemeral container in an agent", async () => {
    const pods = "/api/v1/namespaces/mooring-agents/pods";
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "agent" }, spec: agent };
    expect(await plane.api({ method: "POST", path: pods, body })).toMatchObject({ status: 201 });
    const ephemeralContainers = [{ name: "debug", image: "busybox", targetContainerName: "agent" }];

    const answer = await plane.api({
      method: "PATCH",
      path: `${pods}/agent/ephemeralcontainers`,
      body: { spec: { ephemeralContainers } },
      contentType: "application/strategic-merge-patch+json",
    });

    expect(answer.status).toBe(403);
    expect(answer.text).toContain("no container is put into a running pod here");
  });
});
