import { describe, expect, it } from "vitest";
import { rolledOut, rollOut, WORKLOADS } from "../../image/rollout.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { seconds } from "../affinity/figures.ts";
import { placeAttached, placeBare, untilReadiness } from "../affinity/left-alone.ts";
import { type Misplaced, misplaceCsi, misplaceLocal } from "../affinity/misplaced.ts";
import { type AffinityStage, openAffinityStage, setAgents, untilRunning } from "../affinity/stage.ts";
import { GRACE_MS, Trial } from "../affinity/trial.ts";
import { rejectedAt, touchFaults } from "../affinity/verdict.ts";
import { volumeOf } from "../scenarios/claims.ts";
import { setVariables } from "../scenarios/failures/mooring.ts";
import { NODES } from "../scenarios/stage.ts";
import { runForAll } from "./run.ts";

const ALONE_MS = 300_000;
/** So long the kubelet waits for a pod's volumes before it begins anew (k/k: pkg/kubelet/volumemanager, `podAttachAndMountTimeout`). */
const MOUNT_WAIT_MS = 123_000;
const SETTINGS = [
  "MOORING_AFFINITY=enforce",
  "MOORING_REJECT_ATTACHED=true",
  "MOORING_REJECT_BARE_PODS=true",
  "MOORING_HEARTBEAT=5s",
] as const;
const PLACES = { on: "node-1", home: "node-2" } as const;
/** The agents are there for so long before the last of them is ready. */
const ROLL_OUT_MS = 60_000;
/** Longer than the six minutes after which a volume is detached by force, but only from a node that is not healthy. */
const WAIT_MS = 420_000;
const HEAD = ["pod on a wrong node", "Kubernetes alone for 5 minutes", "Mooring rolled out then", "what replaces it"];

let stage: AffinityStage;
let trial: Trial;
/** The same pods with Kubernetes alone and with Mooring. */
let pods: readonly Misplaced[] = [];
let rolledOutMs: number;
/** By when the object of the pod whose volume was attached was deleted. */
let removedMs = Number.NaN;
/** How many FailedMount events each had by then. */
let alone: readonly number[] = [];

runForAll(
  async (owner) => {
    stage = await openAffinityStage(owner, { hasMooring: false });
    trial = new Trial(stage);
  },
  () => [HEAD, ...pods.map(rowOf)],
);

describe("Kubernetes alone", () => {
  it(
    "leaves a pod on a wrong node for as long as one looks",
    async () => {
      pods = [
        await misplaceLocal(stage, "local", PLACES),
        await misplaceCsi(stage, "plain", PLACES),
        await misplaceAttached("attached"),
      ];

      await trial.pause(ALONE_MS);

      for (const pod of pods) {
        expect(stage.pods.states(pod.uid).at(-1)).toMatchObject({
          phase: "Pending",
          waitingFor: ["ContainerCreating"],
        });
        expect(failedMounts(pod)).toBeGreaterThan(0);
      }
    },
    ALONE_MS + 60_000,
  );
});

describe("Mooring that is rolled out and enforces affinity (--reject-attached --reject-bare-pods)", () => {
  it("rejects them, and an attached one after a mount wait of the kubelet", async () => {
    alone = pods.map(failedMounts);
    await rollOut(stage.owner, stage.cluster);
    await setAgents(stage, ...SETTINGS);
    rolledOutMs = stage.owner.clock.wallMs();

    for (const pod of pods) await trial.expectRejected(pod, { isTimed: false, limitMs: 2 * MOUNT_WAIT_MS });

    const [attached = Number.NaN] = pods.filter(({ app }) => app === "attached").map(rejectionMs);
    expect(attached - rolledOutMs).toBeGreaterThan(MOUNT_WAIT_MS - ROLL_OUT_MS);
  }, 420_000);

  it("rejects a pod that no controller owns", async () => {
    const pod = await placeBare(stage, "bare", PLACES);

    await trial.expectRejected({ ...pod, node: "node-1", volume: volumeOf("bare"), kind: "bare pod" });
  });
});

describe("the aggregator", () => {
  it("pauses the rejections of all nodes when there are too many (--pause-rejections-at=1), until the setting changes", async () => {
    await setHold("1");
    for (const node of NODES) await untilReadiness(stage, node, { isReady: true, words: "pauses all rejections" });
    const held = await misplaceLocal(stage, "held", PLACES);
    await trial.pause(3 * GRACE_MS);
    expect(touchFaults(stage.pods.states(held.uid))).toEqual([]);

    await setHold("0");

    await trial.expectRejected(held, { isTimed: false, limitMs: 60_000 });
  }, 240_000);
});

describe("agents that stand aside (--kubelet-enforces-since=1.36)", () => {
  it("leave rejections to a kubelet that enforces affinity itself", async () => {
    await setAgents(stage, "MOORING_KUBELET_ENFORCES_SINCE=1.36");
    for (const node of NODES) await untilReadiness(stage, node, { isReady: true, words: "stands aside" });

    const pod = await misplaceLocal(stage, "aside", PLACES);

    await trial.pause(3 * GRACE_MS);
    expect(touchFaults(stage.pods.states(pod.uid))).toEqual([]);
    trial.expectHeld();
    trial.expectNobodyElse([]);
  });
});

describe("what replaces a pod whose volume was attached", () => {
  it(
    "waits for as long as the object of that pod is there, since its kubelet still counts the volume as in use",
    async () => {
      const pod = attachedPod();
      await trial.pause(rejectionMs(pod) + WAIT_MS - stage.owner.clock.wallMs());

      // A ReplicaSet that has not seen the first pod yet makes one too many, and deletes it.
      const there = stage.pods.ofApp(pod.app).filter(({ isGone }) => !isGone);
      expect(there.map(({ node, phase, isReady }) => [node, phase, isReady])).toEqual([
        [PLACES.on, "Failed", false],
        [PLACES.home, "Pending", false],
      ]);
    },
    WAIT_MS + 60_000,
  );

  it("runs once agents delete rejected pods (--delete-rejected), which keeps a bare pod", async () => {
    const pod = attachedPod();
    await rollOut(stage.owner, stage.cluster, { components: ["affinity-delete"] });
    await setAgents(stage, "MOORING_DELETE_REJECTED=true");

    await stage.until("the deletion", () => requireGone(pod));
    removedMs = stage.owner.clock.wallMs();
    await untilRunning(stage, { app: pod.app, on: PLACES.home });

    expect(stage.pods.ofApp("bare").map(({ phase, isGone }) => [phase, isGone])).toEqual([["Failed", false]]);
  }, 480_000);
});

function attachedPod(): Misplaced {
  return pods.find(({ app }) => app === "attached") ?? expect.fail("there is none");
}

function requireGone({ uid, app }: Misplaced): void {
  if (stage.pods.states(uid).at(-1)?.isGone !== true) throw new HarnessError(`the pod of ${app} is there`);
}

/** A row of the table. */
function rowOf(pod: Misplaced, index: number): readonly string[] {
  const failed = rejectionMs(pod);
  const runs = stage.pods
    .ofApp(pod.app)
    .flatMap(({ uid }) => stage.pods.states(uid).find(({ isReady }) => isReady) ?? []);
  const since = (ms: number, from: number): string => seconds(Math.max(0, ms - from));
  const isHeldUp = pod.app === "attached";
  const when = isHeldUp ? "after that pod was deleted" : "later";
  return [
    pod.kind,
    `${alone[index] ?? 0} FailedMount events`,
    `Failed after ${since(failed, rolledOutMs)}`,
    runs[0] === undefined ? "-" : `runs ${since(runs[0].seenMs, isHeldUp ? removedMs : failed)} ${when}`,
  ];
}

function rejectionMs({ uid }: Misplaced): number {
  return rejectedAt(stage.pods.states(uid)) ?? Number.NaN;
}

async function setHold(at: string): Promise<void> {
  const [aggregator] = WORKLOADS;
  await setVariables(stage, aggregator, `MOORING_PAUSE_REJECTIONS_AT=${at}`);
  await rolledOut(stage.cluster);
}

async function misplaceAttached(app: string): Promise<Misplaced> {
  const pod = await placeAttached(stage, app, PLACES);
  return { ...pod, node: PLACES.on, volume: volumeOf(app), kind: "CSI volume that was attached all the same" };
}

function failedMounts({ uid }: Misplaced): number {
  const told = stage.events.on(uid).filter(({ reason }) => reason === "FailedMount");
  return told.reduce((sum, { times }) => sum + times, 0);
}
