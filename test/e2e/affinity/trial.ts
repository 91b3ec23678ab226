import { expect } from "vitest";
import type { NodeName } from "../scenarios/stage.ts";
import { seconds, type Timing } from "./figures.ts";
import { type LeftAlone, metricOn } from "./left-alone.ts";
import { type Action, type Misplaced, mountsBefore, untilTold } from "./misplaced.ts";
import { type AffinityStage, untilRejected } from "./stage.ts";
import {
  historyOf,
  isRejected,
  rejectedAt,
  rejectionFaults,
  takenBackMs,
  timeToRejection,
  touchFaults,
} from "./verdict.ts";

/** The grace period that the manifests leave as it is. Milliseconds. */
export const GRACE_MS = 5_000;

/** By so much two watches may differ, milliseconds. */
const WATCHES_MS = 500;
const COUNTED = 'mooring_affinity_rejections_total{reason="VolumeNodeAffinity",outcome="rejected"}';

/** What is known of all pods of a stage that had to be rejected, and of those that must not be. */
export class Trial {
  readonly stage: AffinityStage;
  readonly #rejected: Misplaced[] = [];
  readonly #leftAlone: LeftAlone[] = [];
  readonly #timings: Timing[] = [];

  constructor(stage: AffinityStage) {
    this.stage = stage;
  }

  /** For people: how often, and for how long, a kubelet took a rejection back before it took it over. */
  get takenBack(): string {
    const { pods, owner } = this.stage;
    const took = this.#rejected.flatMap(({ uid }) => takenBackMs(pods.states(uid), owner.clock.wallMs()));
    const times = took.length === 0 ? "never" : `for ${took.map(seconds).join(", ")}`;
    return `taken back by a kubelet before it took it over: ${times}, of ${this.#rejected.length} rejections`;
  }

  /** How long it took of each pod that was timed. */
  get timings(): readonly Timing[] {
    return this.#timings;
  }

  pause(ms: number): Promise<void> {
    const { clock, signal } = this.stage.owner;
    return clock.sleep(Math.max(0, ms), signal);
  }

  /** Waits until the pod is rejected, and judges how. */
  async expectRejected(pod: Misplaced, { isTimed = true, limitMs = 30_000 } = {}): Promise<void> {
    this.#rejected.push(pod);
    await untilRejected(this.stage, pod.uid, limitMs);
    if (isTimed) this.#time(pod);
    const told = await untilTold(this.stage, pod.uid, { action: "Rejected" });
    expect(told).toMatchObject({ type: "Warning", times: 1 });
    expect(told.note).toContain(pod.volume);
    expect(this.faultsOf(pod)).toEqual([]);
  }

  #time({ uid, kind, movedMs }: Misplaced): void {
    const states = this.stage.pods.states(uid);
    const tookMs = movedMs === undefined ? timeToRejection(states) : (rejectedAt(states) ?? Number.NaN) - movedMs;
    this.#timings.push({ kind, tookMs, isFromBind: movedMs === undefined });
  }

  /** Remembers a pod that must not be rejected. */
  async letAlone(made: Promise<LeftAlone>): Promise<LeftAlone> {
    const pod = await made;
    this.#leftAlone.push(pod);
    return pod;
  }

  /** What is wrong with its rejection, and then also what befell it. */
  faultsOf({ uid }: Pick<Misplaced, "uid">): readonly string[] {
    const { pods, owner, starvation } = this.stage;
    const states = pods.states(uid);
    const faults = rejectionFaults(states, { nowMs: owner.clock.wallMs(), starvation });
    return faults.length === 0 ? [] : [...faults, historyOf(states)];
  }

  /** How often Mooring told of the object with this UID in this word. */
  timesTold(uid: string, action: Action): number {
    const told = this.stage.events.on(uid).filter((one) => one.action === action);
    return told.reduce((sum, { times }) => sum + times, 0);
  }

  /** Waits until every rejection of these workloads is a minute old. */
  async untilMinuteOld(apps: readonly string[]): Promise<void> {
    const at = this.#rejected.filter(({ app }) => apps.includes(app)).map((pod) => this.#rejectedAt(pod));
    expect(at.length).toBeGreaterThan(0);
    await this.pause(Math.max(...at) + 60_000 - this.stage.owner.clock.wallMs());
  }

  #rejectedAt({ app, uid }: Misplaced): number {
    return rejectedAt(this.stage.pods.states(uid)) ?? expect.fail(`${app} was not rejected`);
  }

  /** Every rejection still is what it was, and no volume was mounted before it. What a driver was doing then, the kubelet may finish. */
  expectHeld(): void {
    const faults = this.#rejected.map((pod) => [pod.app, this.faultsOf(pod)]);
    expect(faults).toEqual(this.#rejected.map(({ app }) => [app, []]));
    expect(this.#rejected.flatMap((pod) => mountsBefore(this.stage, pod, this.#rejectedAt(pod)))).toEqual([]);
  }

  /** The agent of a node that was there all the time counted what happened on it. */
  async expectCounted(node: NodeName): Promise<void> {
    const pods = this.stage.pods.all().filter((pod) => pod.node === node && isRejected(pod));
    expect(await metricOn(this.stage, node, COUNTED)).toBe(pods.length);
  }

  /** Nobody was touched but those that had to be, and pods of these workloads. */
  expectNobodyElse(apps: readonly string[]): void {
    const { pods } = this.stage;
    const faults = this.#leftAlone.map(({ app, uid }) => [app, touchFaults(pods.states(uid))]);
    const known = new Set(this.#rejected.map(({ uid }) => uid));
    const others = pods.all().filter((pod) => isRejected(pod) && !known.has(pod.uid));

    expect(faults).toEqual(this.#leftAlone.map(({ app }) => [app, []]));
    expect(others.filter(({ labels }) => !apps.includes(labels.app ?? "")).map(({ name }) => name)).toEqual([]);
  }

  /** All pods that were timed waited for the whole grace period. How much longer is printed in the end, and is the machine's affair. */
  expectWaited(count: number): void {
    const beyond = this.#timings.flatMap(({ tookMs, isFromBind }) => (isFromBind ? [tookMs - GRACE_MS] : []));
    expect(beyond.length).toBeGreaterThanOrEqual(count);
    // The agent's watch may show a pod a little earlier than the log's.
    expect(Math.min(...beyond)).toBeGreaterThanOrEqual(-WATCHES_MS);
  }
}
