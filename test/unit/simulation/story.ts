import { createMemoryJournal, type Journal } from "../../../agent/sinks/journal.ts";
import { type Claim, projectClaim } from "../../../common/storage/claim.ts";
import { createFakeKernelTable, type FakeKernelTable } from "../../fakes/kernel-table.ts";
import { csiMountPoint, tokenMountPoint } from "../../fakes/mount-table.ts";
import type { ObjectRef } from "../../simulation/engine/api/objects.ts";
import { createEngine, type Engine, type EngineOptions } from "../../simulation/engine/engine.ts";
import type { SimMachine } from "../../simulation/engine/machine.ts";
import type { SimProcess } from "../../simulation/engine/process.ts";

/** One node with its table, an agent on it, two aggregators elsewhere, one claim; nothing restarts by itself by default. */
export interface Story {
  readonly engine: Engine;
  readonly node: SimMachine;
  readonly table: FakeKernelTable;
  readonly processes: SimProcess[];
  readonly startAgent: () => SimProcess;
  readonly startAggregator: (name: "a" | "b") => SimProcess;
  readonly claim: () => Claim;
  /** True wall time of the unmount, milliseconds since the epoch; undefined before it. */
  readonly unmountedAtMs: () => number | undefined;
  /** A pod uses the claim for ten seconds, then its volume is unmounted; a second later it is gone. */
  readonly use: (fromMs: number) => void;
}

const NODE = "node-1";
const AGENT_POD = "agent-1";
const CLAIM: ObjectRef = { resource: "persistentvolumeclaims", namespace: "default", name: "data" };
const POD: ObjectRef = { resource: "pods", namespace: "default", name: "web" };

export function createStory(options: EngineOptions, { restarts = false } = {}): Story {
  const engine = createEngine(options);
  const { api, scheduler } = engine;
  const node = engine.machine({ name: NODE, driftPpm: 120, wallOffsetMs: -7_200_000 });
  const machines = { a: engine.machine({ name: "other-a", driftPpm: -80 }), b: engine.machine({ name: "other-b" }) };
  const table = createFakeKernelTable(tokenMountPoint(AGENT_POD));
  const journal: Journal = createMemoryJournal();
  const processes: SimProcess[] = [];
  let unmountedAtMs: number | undefined;
  populate(engine);

  const keep = (process: SimProcess, start: () => void): SimProcess => {
    processes.push(process);
    process.onEnd((state) => {
      if (restarts && state === "crashed") scheduler.after(1_000, start);
    });
    return process;
  };
  const startAgent = (): SimProcess =>
    keep(engine.startAgent({ machine: node, node: NODE, podUid: AGENT_POD, table, journal }), startAgent);
  const startAggregator = (name: "a" | "b"): SimProcess =>
    keep(engine.startAggregator({ machine: machines[name], pod: `aggregator-${name}` }), () => startAggregator(name));

  const use = (fromMs: number): void => {
    let place = "";
    scheduler.at(fromMs, () => {
      const pod = api.create("pods", podObject());
      place = csiMountPoint(pod.metadata.uid, "pv-data");
    });
    scheduler.at(fromMs + 1_000, () => table.mount(place));
    scheduler.at(fromMs + 1_500, () => setPhase(engine, "Running"));
    scheduler.at(fromMs + 9_000, () => setPhase(engine, "Succeeded"));
    scheduler.at(fromMs + 10_000, () => {
      table.unmount(place);
      unmountedAtMs = engine.trueWallMs();
    });
    scheduler.at(fromMs + 11_000, () => api.delete(POD));
  };
  return {
    engine,
    node,
    table,
    processes,
    startAgent,
    startAggregator,
    use,
    claim: () => projectClaim(api.get(CLAIM)),
    unmountedAtMs: () => unmountedAtMs,
  };
}

function populate({ api }: Engine): void {
  const bootID = `${NODE}-boot-1`;
  const nodeStatus = { nodeInfo: { bootID }, conditions: [{ type: "Ready", status: "True" }] };
  api.create("nodes", { metadata: { name: NODE, labels: { "kubernetes.io/os": "linux" } }, status: nodeStatus });
  const claim = api.create("persistentvolumeclaims", {
    metadata: { name: "data", namespace: "default" },
    spec: { volumeName: "pv-data", storageClassName: "fast" },
    status: { phase: "Bound" },
  });
  const { uid, creationTimestamp } = claim.metadata;
  api.create("persistentvolumes", {
    metadata: { name: "pv-data" },
    spec: {
      claimRef: { namespace: "default", name: "data", uid },
      csi: { driver: "csi.example.org", volumeHandle: "handle-data" },
    },
    status: { phase: "Bound", lastPhaseTransitionTime: creationTimestamp },
  });
  for (const name of ["aggregator-a", "aggregator-b"]) {
    const labels = { "app.kubernetes.io/name": "mooring-aggregator" };
    api.create("pods", { metadata: { name, namespace: "mooring", labels }, spec: {}, status: { phase: "Running" } });
  }
  api.create("pods", {
    metadata: {
      name: "agent",
      namespace: "mooring-agents",
      uid: AGENT_POD,
      labels: { "app.kubernetes.io/name": "mooring-agent" },
    },
    spec: { nodeName: NODE, serviceAccountName: "mooring-agent" },
    status: { phase: "Running" },
  });
}

function podObject() {
  return {
    metadata: { name: "web", namespace: "default" },
    spec: { nodeName: NODE, volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] },
    status: { phase: "Pending" },
  };
}

function setPhase({ api }: Engine, phase: "Running" | "Succeeded"): void {
  const state = phase === "Running" ? { running: {} } : { terminated: {} };
  const status = { phase, containerStatuses: [{ name: "main", state }] };
  api.update(POD, (pod) => ({ ...pod, status }), { subresource: "status", manager: "kubelet" });
}
