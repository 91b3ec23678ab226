import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPrinter, standardScreen } from "../demo/print.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { timingRows } from "./affinity/figures.ts";
import {
  correctInTime,
  loseRack,
  moveFromImageless,
  moveFromRunning,
  placeAttached,
  placeBare,
  untilReadiness,
  waitInRack,
} from "./affinity/left-alone.ts";
import {
  bindAfterJoin,
  bindRightly,
  bindWrongly,
  type Misplaced,
  misplaceHalf,
  misplaceLocal,
  misplaceOne,
  moveAway,
  type Places,
  removePod,
  sendAgainAndAgain,
  untilTold,
  untilUnmounted,
} from "./affinity/misplaced.ts";
import { type AffinityStage, openAffinityStage, setAgents, untilRunning } from "./affinity/stage.ts";
import { GRACE_MS, Trial } from "./affinity/trial.ts";
import { touchFaults } from "./affinity/verdict.ts";
import { removeReplicaSet } from "./affinity/workloads.ts";
import { agentOn, killProgram, untilReporting } from "./scenarios/failures/mooring.ts";

/** Long enough beyond the grace period for an agent that were about to act. Milliseconds. */
const BEYOND_MS = 2_000;
/** The kubelet writes its own view over what it does not know every ten seconds (status manager). */
const KUBELET_ROUND_MS = 12_000;
/** An agent checks a waiting pod again after this time. */
const RECHECK_MS = 60_000;
/** Between two pods of many. */
const SPACE_MS = 800;
/** Where a pod is put, and where its volume is. */
const FIRST: Places = { on: "node-1", home: "node-2" };
const SECOND: Places = { on: "node-2", home: "node-1" };
const RACK_APPS = ["rack-1", "rack-2", "rack-3"] as const;

let owner: Owner;
let signals: Disposable;
let stage: AffinityStage;
let trial: Trial;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openAffinityStage(owner);
  trial = new Trial(stage);
});

afterAll(async () => {
  const printer = createPrinter(standardScreen());
  printer.table(timingRows(trial?.timings ?? []));
  printer.text(trial?.takenBack ?? "");
  await owner.close();
  signals[Symbol.dispose]();
});

describe("agents as the manifests have them (--affinity=audit)", () => {
  let pod: Misplaced;

  it("report a pod on a wrong node once, also after they were killed, and do not reject it", async () => {
    pod = await misplaceLocal(stage, "told", FIRST);
    await untilTold(stage, pod.uid, { action: "WouldReject" });

    await killProgram(stage, await agentOn(stage, "node-1"));
    await untilReporting(stage, () => agentOn(stage, "node-1"));
    await trial.pause(GRACE_MS + BEYOND_MS);

    expect(trial.timesTold(pod.uid, "WouldReject")).toBe(1);
    expect(touchFaults(stage.pods.states(pod.uid))).toEqual([]);
  });

  it("reject it with --affinity=enforce", async () => {
    await setAgents(stage, "MOORING_AFFINITY=enforce", "MOORING_HEARTBEAT=5s");

    await trial.expectRejected(pod, { isTimed: false });

    await untilRunning(stage, { app: pod.app, on: "node-2" });
  });
});

describe("a pod that is not rejected", { concurrent: true }, () => {
  it("runs, and its volume was moved", async () => {
    const { uid } = await trial.letAlone(moveFromRunning(stage, "moved", FIRST));

    await trial.pause(2 * GRACE_MS);

    expect(stage.pods.states(uid).at(-1)).toMatchObject({ isReady: true, restarts: 0 });
  });

  it("has a hostPath volume, which was moved, and waits for its image", async () => {
    const { uid } = await trial.letAlone(moveFromImageless(stage, "imageless", FIRST));

    await trial.pause(3 * GRACE_MS);

    expect(stage.pods.states(uid).at(-1)).toMatchObject({ phase: "Pending", node: "node-1" });
  });

  it("is where its volume turns out to be, before the grace period is over", async () => {
    const { uid } = await trial.letAlone(correctInTime(stage, "corrected", FIRST));

    await trial.pause(2 * GRACE_MS);

    expect(trial.timesTold(uid, "Rejected")).toBe(0);
  });

  it.each([
    { name: "has no controller that would replace it", app: "bare", place: placeBare },
    { name: "has a volume that was attached before the first check", app: "attached", place: placeAttached },
  ])("$name", async ({ app, place }) => {
    const { uid } = await trial.letAlone(place(stage, app, FIRST));

    await trial.pause(2 * GRACE_MS);

    expect(stage.pods.states(uid).at(-1)).toMatchObject({ phase: "Pending", node: "node-1" });
  });
});

describe("a node that loses the label which its pods' volumes ask for", () => {
  it("rejects none of them, and its agent is not ready until the label is back", async () => {
    const waiting = await waitInRack(stage, RACK_APPS);
    for (const pod of waiting) await trial.letAlone(Promise.resolve(pod));
    {
      await using _lost = await loseRack(stage);
      await untilReadiness(stage, "node-2", { isReady: false, words: "labels may be wrong" });
      await trial.pause(2 * GRACE_MS);
    }

    await untilReadiness(stage, "node-2", { isReady: true });
    for (const { uid } of waiting) expect(stage.pods.states(uid).at(-1)).toMatchObject({ phase: "Pending" });
  });
});

describe("a pod on a wrong node", { concurrent: true }, () => {
  it("is replaced by its ReplicaSet where its volume is", async () => {
    const pod = await misplaceLocal(stage, "by-hand", SECOND);
    await trial.expectRejected(pod);

    await untilRunning(stage, { app: pod.app, on: "node-1" });
  });

  it("is replaced by its StatefulSet, once the scheduler knows better", async () => {
    const pod = await bindWrongly(stage, "stale", SECOND);
    await trial.expectRejected(pod);

    await bindRightly(stage, pod, "node-1");
    await untilRunning(stage, { app: pod.app, on: "node-1" });
  });

  it("is replaced, once it is deleted, after its volume was moved while it was being attached", async () => {
    const pod = await moveAway(stage, "slow", SECOND);
    // The agent sees it when it checks the waiting pod again.
    await trial.expectRejected(pod, { limitMs: RECHECK_MS + GRACE_MS + 30_000 });

    await stage.letAttach();
    // For as long as there is the pod, its kubelet goes on with the mount, and so the volume counts as used there.
    await removePod(stage, pod);
    await untilRunning(stage, { app: pod.app, on: "node-1" });
  });

  it("has its other volume unmounted, which was right", async () => {
    const { pod, right } = await misplaceHalf(stage, "half", SECOND);
    await trial.expectRejected(pod);

    await untilUnmounted(stage, right);
  });

  it("is replaced repeatedly: the third rejection is the last for a minute, and an event on its owner reports that", async () => {
    const { uid, pods } = await sendAgainAndAgain(stage, "insistent", FIRST);

    await untilTold(stage, uid, { action: "BackingOff" });

    for (const pod of pods().slice(0, 3)) await trial.expectRejected(pod);
    expect(pods().map(({ phase }) => phase)).toEqual(["Failed", "Failed", "Failed", "Pending"]);
    expect(trial.timesTold(uid, "BackingOff")).toBe(1);
  });
});

describe("a rejection", () => {
  it("needs no kubelet, and holds when the kubelet comes back", async () => {
    const { kubelet } = stage.node("node-2");
    await kubelet.stop();
    const pod = await misplaceLocal(stage, "without-kubelet", SECOND);
    await trial.expectRejected(pod);
    await untilRunning(stage, { app: pod.app, on: "node-1" });

    await kubelet.start();
    await trial.pause(KUBELET_ROUND_MS);

    expect(trial.faultsOf(pod)).toEqual([]);
  });

  it("holds for a minute and across a restart of the kubelet, which then runs the corrected pod", async () => {
    await stage.node("node-1").kubelet.restart();
    await untilRunning(stage, { app: "corrected", on: "node-1" });
    await trial.pause(KUBELET_ROUND_MS);
    await trial.untilMinuteOld(["by-hand", "stale", "slow", "insistent"]);

    trial.expectHeld();
  });

  it("comes after the grace period, also of many pods", async () => {
    const rejectOne = async (_: unknown, index: number): Promise<void> => {
      await trial.pause(index * SPACE_MS);
      const pod = await misplaceOne(stage, index);
      await trial.expectRejected(pod);
      await removeReplicaSet(stage, pod.app);
    };
    // Seven on each node: with what else happened in that minute, as many as the node's limit lets go.
    await Promise.all(Array.from({ length: 14 }, rejectOne));

    trial.expectWaited(20);
  });

  it("happens to a pod that had waited for its node to join", async () => {
    const pod = await bindAfterJoin(stage, "autoscaled", SECOND);

    await trial.expectRejected(pod, { isTimed: false });

    await bindRightly(stage, pod, "node-1");
    await untilRunning(stage, { app: pod.app, on: "node-1" });
  });

  it("is made up for by an agent that was killed before it", async () => {
    const pod = await misplaceLocal(stage, "agent-killed", SECOND);
    await trial.pause(GRACE_MS / 2);
    await killProgram(stage, await agentOn(stage, "node-2"));

    await trial.expectRejected(pod, { isTimed: false });

    await untilRunning(stage, { app: pod.app, on: "node-1" });
  });
});

describe("in the end", () => {
  it("every rejection holds, no pod with a mounted volume was rejected, and no other pod", () => {
    trial.expectHeld();
    trial.expectNobodyElse(["insistent"]);
  });

  it("the pods whose node had its label back run, and an agent counted the others", async () => {
    for (const app of RACK_APPS) await untilRunning(stage, { app, on: "node-2" });
    await trial.expectCounted("node-1");
  });

  it("a pod whose volume is attached was reported once, after a mount wait of the kubelet", async () => {
    const [pod = expect.fail("there is none")] = stage.pods.ofApp("attached");

    await untilTold(stage, pod.uid, { action: "Waiting", limitMs: 90_000 });

    expect(trial.timesTold(pod.uid, "Waiting")).toBe(1);
    expect(stage.pods.states(pod.uid).at(-1)).toMatchObject({ phase: "Pending" });
  });
});
