import type { Owner } from "../rig/process/owner.ts";
import { NAMESPACE, NODES, volumeOf } from "./claims.ts";
import type { Killer } from "./killer.ts";
import { LINES, type Line } from "./lines.ts";
import type { CrashNode, CrashPod } from "./node.ts";
import { type Ending, OFTEN_KILLED, type PlannedUse } from "./plan.ts";
import { untilPublished } from "./publication.ts";
import type { Checkpoint, CrashRecord, Span, TrueUse, Victim } from "./record.ts";
import type { CrashWorld } from "./world.ts";

/** Where workers record what they do. */
export interface Notes {
  readonly noteUse: (use: TrueUse) => void;
  readonly noteCheckpoint: (checkpoint: Checkpoint) => void;
  /** A unique pod name. */
  readonly nextPod: () => string;
}

/** What workers need. */
export interface WorkParts extends Notes {
  readonly owner: Owner;
  readonly world: CrashWorld;
  readonly killer: Killer;
  /** The record so far. */
  readonly record: () => CrashRecord;
}

/** Uses a line's claim as planned, one use after the other. */
export async function work(parts: WorkParts, line: Line, uses: readonly PlannedUse[]): Promise<void> {
  const { clock, signal } = parts.owner;
  for (const planned of uses) {
    if (signal.aborted) return;
    await clock.sleep(planned.restMs, signal);
    const back = await takeDown(parts, planned);
    try {
      const over = await use(parts, line, planned);
      back();
      if (planned.isWaitedFor && !isShared(line)) await awaitPublication(parts, over);
    } finally {
      back();
    }
  }
}

/** Kills the processes that are down for a whole use; the returned function lets them restart. */
async function takeDown({ owner, killer }: WorkParts, planned: PlannedUse): Promise<() => void> {
  const away = planned.faults.find((fault) => fault.kind === "away");
  const over = Promise.withResolvers<void>();
  if (away === undefined) return over.resolve;
  const victims = away.who === "agent" ? [agentOf(planned)] : OFTEN_KILLED;
  const back = async (): Promise<void> => {
    await over.promise;
    await owner.clock.sleep(away.pauseMs, owner.signal);
  };
  await killer.kill(victims, { lateMs: 0, over: back });
  return over.resolve;
}

function agentOf({ node }: PlannedUse): Victim {
  return node === 0 ? "agent of node-a" : "agent of node-b";
}

/** Another line may use the claim at any time, so that its end cannot be awaited. */
function isShared(line: Line): boolean {
  return LINES.some((other) => other !== line && other.claim === line.claim);
}

async function use(parts: WorkParts, line: Line, planned: PlannedUse): Promise<TrueUse> {
  const { owner, noteUse } = parts;
  const { clock, signal } = owner;
  const { node, pod, begun } = await begin(parts, line, planned);
  const endsAtMs = clock.monotonicMs() + planned.mountedMs;
  scheduleKills(parts, planned, endsAtMs);
  await node.reportRunning(pod);
  await clock.sleep(endsAtMs - planned.gapMs - clock.monotonicMs(), signal);
  const wait = (): Promise<void> => clock.sleep(endsAtMs - clock.monotonicMs(), signal);
  const unmount = async (): Promise<Span> => {
    const unmounted = await node.unmount(pod);
    noteUse({ ...begun, unmounted });
    return unmounted;
  };
  const unmounted = await ENDS[planned.ending]({ node, pod, unmount, wait });
  const over = { ...begun, unmounted, removedMs: clock.wallMs() };
  noteUse(over);
  return over;
}

interface Begun {
  readonly node: CrashNode;
  readonly pod: CrashPod;
  readonly begun: TrueUse;
}

/** Creates a pod and mounts its volume. */
async function begin({ owner, world, nextPod, noteUse }: WorkParts, line: Line, planned: PlannedUse): Promise<Begun> {
  const node = world.nodes[planned.node];
  if (node === undefined) throw new TypeError(`no node ${planned.node}`);
  const { name: claim, hasSubPath } = line.claim;
  const askedMs = owner.clock.wallMs();
  const wanted = { namespace: NAMESPACE, name: nextPod(), claim, volume: volumeOf(line.claim) };
  const pod = await node.createPod(wanted, hasSubPath);
  const mounted = await node.mount(pod);
  const begun: TrueUse = {
    claim,
    pod: `${NAMESPACE}/${pod.name}`,
    podUid: pod.uid,
    node: NODES[planned.node],
    askedMs,
    mounted,
    unmounted: undefined,
    removedMs: undefined,
  };
  noteUse(begun);
  return { node, pod, begun };
}

/** Schedules each kill around the planned unmount. */
function scheduleKills({ owner, killer }: WorkParts, { faults }: PlannedUse, endsAtMs: number): void {
  const { clock, signal } = owner;
  for (const fault of faults) {
    if (fault.kind === "away") continue;
    const kill = async (): Promise<void> => {
      await clock.sleep(endsAtMs + fault.offsetMs - clock.monotonicMs(), signal);
      await killer.kill(fault.victims, { lateMs: fault.lateMs, over: () => clock.sleep(fault.pauseMs, signal) });
    };
    killer.inBackground(kill());
  }
}

interface End {
  readonly node: CrashNode;
  readonly pod: CrashPod;
  readonly unmount: () => Promise<Span>;
  /** Waits until the planned end. The first of the two events comes earlier by the planned gap. */
  readonly wait: () => Promise<void>;
}

const ENDS: Readonly<Record<Ending, (end: End) => Promise<Span>>> = {
  finished: async ({ node, pod, unmount, wait }) => {
    await node.finish(pod);
    await wait();
    const span = await unmount();
    await node.remove(pod);
    return span;
  },
  deleted: async ({ node, pod, unmount, wait }) => {
    await node.remove(pod);
    await wait();
    return await unmount();
  },
  terminated: async ({ node, pod, unmount, wait }) => {
    await node.terminate(pod);
    await node.finish(pod);
    await wait();
    const span = await unmount();
    await node.remove(pod);
    return span;
  },
  "unmounted-first": async ({ node, pod, unmount, wait }) => {
    const span = await unmount();
    await wait();
    await node.remove(pod);
    return span;
  },
};

/** Waits until the end of the use is published, unless another line uses the claim. */
async function awaitPublication({ owner, record, noteCheckpoint }: WorkParts, over: TrueUse): Promise<void> {
  await untilPublished({ owner, record }, [over]);
  if (!owner.signal.aborted) noteCheckpoint({ atMs: owner.clock.wallMs(), claim: over.claim });
}
