import { describe, expect, it } from "vitest";
import type { MountScan } from "../../../../agent/core/mounted-volumes.ts";
import { initialState, type NodeState, type PodFacts } from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { reportOf } from "../../../../agent/core/report.ts";
import { interpretStored, mergeStored } from "../../../../agent/core/restore.ts";
import { factsOf } from "../../../../aggregator/core/claims/facts.ts";
import { EMPTY_HISTORY, settleHistory } from "../../../../aggregator/core/claims/history.ts";
import type { EndedPod } from "../../../../aggregator/core/cluster-objects.ts";
import type { NodeView } from "../../../../aggregator/core/nodes/node-view.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { knownMountedVolume } from "../../../fakes/node-states.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";
import { desiredClaimStatus } from "./decisions.ts";
import { ended, evidenceWith, fleetWith } from "./evidence.ts";
import { acceptReport } from "./reported.ts";

/** What both sides decide together. Times are seconds; the first boot began at noon. */

const SECOND = 1_000;
const IDENTITY = { node: "n1", podUid: "agent-1", instance: "run-1", driftPpm: 0, session: "" };

function scanAt(at: number, isMounted: boolean): MountScan {
  const { mountedVolume, mountPoint, device } = knownMountedVolume(1);
  const mount = { mountId: 1, parentId: 1, device, root: "/", mountPoint, fsType: "ext4" };
  const mountedVolumes = isMounted ? [{ ...mountedVolume, mount }] : [];
  const times = { beganAt: at * SECOND, endedAt: at * SECOND + 1 };
  return { ...times, mountedVolumes, incomplete: undefined, kubeletRoot: "/k" };
}

/** The pod as the agent's watch shows it. */
function podAt(at: number, isRunning: boolean): ReadonlyMap<string, PodFacts> {
  return new Map([["u1", { name: "shop/web-0", resourceVersion: String(at), isRunning, isOver: false }]]);
}

/** What the aggregator knows of the node once this state was reported at once. */
function reported(view: NodeView | undefined, state: NodeState, bootedAt = 0): NodeView {
  const report = reportOf(IDENTITY, state, (state.scan?.endedAt ?? 0) + 1) ?? expect.fail("there is nothing to report");
  const atMs = NOON + bootedAt * SECOND + report.sentAt;
  const result = acceptReport(view, report, { atMs, widthMs: 0, nodeBootId: state.bootId });
  return result.kind === "accepted" ? result.view : expect.fail(result.kind);
}

/** What is decided at a time, once the pod is over. */
function statusAt(at: number, view: NodeView, { stored, over }: Ending): ClaimStatus | undefined {
  const unmountRecords = [...view.unmountRecords.values()];
  const claim = claimWith({ status: stored });
  const fleet = fleetWith([view], { nodeNames: () => ["n1"], nowMs: () => NOON + at * SECOND });
  const evidence = evidenceWith({ claim, volume: volumeWith(), unmountRecords });
  const history = settleHistory({ ...EMPTY_HISTORY, pending: [over] }, { ...evidence, ...fleet });
  return desiredClaimStatus(factsOf({ ...evidence, history }, fleet));
}

interface Ending {
  readonly stored: ClaimStatus;
  readonly over: EndedPod;
}

const onN1 = mountedStatus(["n1"]);

it("a pod that has not started ends its use with the last of two unmounts, also where its agent had not watched", () => {
  let state = initialState("boot-1");
  let view: NodeView | undefined;
  // It was mounted again at 110, the pod was over at 117, it was unmounted at 118.
  for (const at of [87, 90, 94, 98, 100, 104, 125]) {
    const pods = at === 125 ? new Map() : podAt(at, false);
    state = observe(state, { scan: scanAt(at, at >= 90 && at < 100), pods, podsResourceVersion: String(at) }).state;
    view = reported(view, state);
  }
  const over = ended({ uid: "u1", hasStarted: false }, { gone: "117", seenAtMs: NOON + 117 * SECOND });

  const status = statusAt(126, view ?? expect.fail("nothing was reported"), { stored: onN1, over });

  expect(status).toMatchObject({ unused: true, reason: "Unmounted" });
  expect(status?.sinceMs).toBeGreaterThanOrEqual(NOON + 118 * SECOND);
});

/** When the node reboots, the pod is over, its volume is unmounted, and the agent starts. */
const [REBOOT, OVER, UNMOUNTED, STARTED] = [100, 490, 500, 510];

function firstBoot(): NodeState {
  const seen = { scan: scanAt(90, true), podsResourceVersion: "90", pods: podAt(1, true) };
  return observe(initialState("boot-1"), seen).state;
}

/** After the reboot the pod ran again, under its UID; the agent started when it was over and unmounted. */
function secondBoot(): NodeState {
  const now = { bootId: "boot-2", clock: "", nowMs: (STARTED - REBOOT) * SECOND };
  const state = mergeStored(initialState("boot-2"), interpretStored(firstBoot(), now).past);
  const scan = scanAt(STARTED - REBOOT, false);
  return observe(state, { scan, podsResourceVersion: String(STARTED), pods: new Map() }).state;
}

describe("a pod that a reboot interrupts and that unmounts before its agent is back", () => {
  const named = statusWith();
  it.each([
    { name: "while one leader sees all of it", stored: onN1, isSeen: true, wasOver: false },
    { name: "stored mounted, and another leader saw its end", stored: onN1, isSeen: false, wasOver: false },
    { name: "stored mounted, and a new leader finds it over", stored: onN1, isSeen: false, wasOver: true },
    { name: "stored referenced, and the leader sees its end", stored: named, isSeen: true, wasOver: false },
    { name: "stored referenced, and a new leader finds it over", stored: named, isSeen: false, wasOver: true },
  ])("used its volume until the agent's first scan, $name", ({ stored, isSeen, wasOver }) => {
    const before = isSeen ? reported(undefined, firstBoot()) : undefined;
    const view = reported(before, secondBoot(), REBOOT);
    const over = ended({ uid: "u1" }, { gone: String(OVER), seenAtMs: NOON + OVER * SECOND, wasOver });

    const status = statusAt(STARTED + 1, view, { stored, over });

    expect([...view.unmountRecords.values()]).toMatchObject([{ podUid: "u1", widthMs: undefined }]);
    expect(status).toMatchObject({ unused: true });
    expect(status?.sinceMs).toBeGreaterThanOrEqual(NOON + UNMOUNTED * SECOND);
  });
});
