import { csiMountPoint, formatMountLine, tokenMountPoint } from "../../fakes/mount-table.ts";
import type { Engine } from "../engine/engine.ts";
import type { KernelTable } from "../engine/kernel.ts";

/** The size of the cluster. */
export interface Sizes {
  readonly claims: number;
  /** Nodes with an agent; one more node never reports. */
  readonly nodes: number;
  /** Mounted claims on each of these nodes. */
  readonly mountedOnEach: number;
}

/** A node of the cluster, and its mounts. */
export interface LargeNode {
  readonly name: string;
  readonly agentPod: string;
  readonly hasAgent: boolean;
  readonly table: KernelTable & { readonly unmount: (podUid: string) => void };
  readonly users: readonly User[];
}

/** A pod that uses one claim. */
export interface User {
  readonly pod: string;
  readonly podUid: string;
  readonly claim: string;
}

export const NAMESPACE = "shop";

/** Fills the API server and returns the nodes. Claims that no node has mounted are idle. */
export function makeCluster({ api }: Engine, { claims, nodes, mountedOnEach }: Sizes): readonly LargeNode[] {
  for (const name of ["aggregator-a", "aggregator-b"]) {
    const labels = { "app.kubernetes.io/name": "mooring-aggregator" };
    api.create("pods", { metadata: { name, namespace: "mooring", labels }, spec: {}, status: { phase: "Running" } });
  }
  let made = 0;
  const claim = (): string => {
    made += 1;
    return makeClaim({ api }, made);
  };
  const all = Array.from({ length: nodes + 1 }, (_, index): LargeNode => {
    const name = `node-${index}`;
    const agentPod = `agent-${index}`;
    const nodeInfo = { bootID: `${name}-boot-1` };
    const status = { nodeInfo, conditions: [{ type: "Ready", status: "True" }] };
    api.create("nodes", { metadata: { name, labels: { "kubernetes.io/os": "linux" } }, status });
    const users = Array.from({ length: mountedOnEach }, (_, place) =>
      makeUser({ api }, { node: name, place, claim: claim() }),
    );
    return { name, agentPod, hasAgent: index < nodes, table: tableOf(agentPod, users), users };
  });
  while (made < claims) claim();
  return all;
}

function makeClaim({ api }: Pick<Engine, "api">, n: number): string {
  const [name, volumeName] = [`data-${n}`, `pv-${n}`];
  const { uid, creationTimestamp } = api.create("persistentvolumeclaims", {
    metadata: { name, namespace: NAMESPACE },
    spec: { volumeName, storageClassName: "fast" },
    status: { phase: "Bound" },
  }).metadata;
  api.create("persistentvolumes", {
    metadata: { name: volumeName },
    spec: {
      claimRef: { namespace: NAMESPACE, name, uid },
      csi: { driver: "csi.example", volumeHandle: `handle-${n}` },
    },
    status: { phase: "Bound", lastPhaseTransitionTime: creationTimestamp },
  });
  return name;
}

function makeUser(
  { api }: Pick<Engine, "api">,
  { node, place, claim }: { readonly node: string; readonly place: number; readonly claim: string },
): User {
  const pod = `${node}-${place}`;
  const { uid } = api.create("pods", {
    metadata: { name: pod, namespace: NAMESPACE },
    spec: { nodeName: node, volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }] },
    status: { phase: "Running", containerStatuses: [{ name: "main", state: { running: {} } }] },
  }).metadata;
  return { pod, podUid: uid, claim };
}

/** A PV has the number of its claim. */
function tableOf(agentPod: string, users: readonly User[]): LargeNode["table"] {
  const lines = new Map(
    users.map(({ podUid, claim }) => [
      podUid,
      formatMountLine({ mountPoint: csiMountPoint(podUid, claim.replace("data-", "pv-")) }),
    ]),
  );
  const own = formatMountLine({ mountPoint: tokenMountPoint(agentPod) });
  const listeners = new Set<() => void>();
  return {
    text: () => [own, ...lines.values()].join(""),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    unmount: (podUid) => {
      lines.delete(podUid);
      for (const listener of listeners) listener();
    },
  };
}
