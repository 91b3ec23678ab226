import { describe, expect, it } from "vitest";
import type { MountScan } from "../../../../agent/core/mounted-volumes.ts";
import { initialState, type PodFacts } from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { reportOf } from "../../../../agent/core/report.ts";
import { factsOf } from "../../../../aggregator/core/claim-facts.ts";
import { EMPTY_HISTORY, settleHistory } from "../../../../aggregator/core/claim-history.ts";
import { acceptReport } from "../../../../aggregator/core/fleet.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import { knownMountedVolume } from "../../../fakes/node-states.ts";
import { claimWith, mountedStatus, NOON, volumeWith } from "../world.ts";
import { desiredClaimStatus } from "./decisions.ts";
import { ended, evidenceWith, fleetWith } from "./evidence.ts";

/** What both sides decide together. The node's boot clock began at noon; times are seconds. */

const SECOND = 1_000;
const IDENTITY = { node: "n1", podUid: "agent-1", instance: "run-1", driftPpm: 0, session: "" };

/** A read, and what the watch had said of the pod before it. */
interface Look {
  readonly at: number;
  readonly isMounted: boolean;
  readonly pod: "pending" | "gone";
}

function scanAt({ at, isMounted }: Look): MountScan {
  const { mountedVolume, mountPoint, device } = knownMountedVolume(1);
  const mount = { mountId: 1, parentId: 1, device, root: "/", mountPoint, fsType: "ext4" };
  const times = { beganAt: at * SECOND, endedAt: at * SECOND + 1 };
  return {
    ...times,
    mountedVolumes: isMounted ? [{ ...mountedVolume, mount }] : [],
    incomplete: undefined,
    kubeletRoot: "/k",
  };
}

function podsAt({ at, pod }: Look): ReadonlyMap<string, PodFacts> {
  const facts = { name: "shop/web-0", resourceVersion: String(at), isRunning: false, isOver: false };
  return pod === "gone" ? new Map() : new Map([["u1", facts]]);
}

/** What the aggregator knows of the node after these looks, each of which is reported at once. */
function viewAfter(looks: readonly Look[]): NodeView | undefined {
  let state = initialState("boot-1");
  let view: NodeView | undefined;
  for (const look of looks) {
    state = observe(state, { scan: scanAt(look), pods: podsAt(look), podsResourceVersion: String(look.at) }).state;
    const report = reportOf(IDENTITY, state, look.at * SECOND + 1) ?? expect.fail("there is nothing to report");
    const accepted = acceptReport(view, report, { atMs: NOON + report.sentAt, widthMs: 0, nodeBootId: "boot-1" });
    view = accepted.kind === "accepted" ? accepted.view : view;
  }
  return view;
}

describe("a pod that has not started and whose volume is mounted twice", () => {
  it("ends its use when it is unmounted for the last time, also where the agent had not watched that", () => {
    const looks: readonly Look[] = [
      ...[87, 90, 94, 98].map((at) => ({ at, isMounted: at >= 90, pod: "pending" as const })),
      ...[100, 104].map((at) => ({ at, isMounted: false, pod: "pending" as const })),
      // It was mounted again at 110, the pod was over at 117, it was unmounted at 118.
      { at: 125, isMounted: false, pod: "gone" },
    ];
    const view = viewAfter(looks) ?? expect.fail("nothing was reported");
    const unmountRecords = [...view.unmountRecords.values()];
    const claim = claimWith({ status: mountedStatus(["n1"]) });
    const fleet = fleetWith([view], { nowMs: NOON + 126 * SECOND });
    const over = ended({ uid: "u1", hasStarted: false }, { gone: "117", seenAtMs: NOON + 117 * SECOND });
    const found = { unmountRecords, mountedBy: new Set<string>(), isHostPath: false, stored: claim.status };
    const history = settleHistory({ ...EMPTY_HISTORY, pending: [over] }, { ...fleet, ...found });

    const status = desiredClaimStatus(
      factsOf(evidenceWith({ claim, volume: volumeWith(), unmountRecords, history }), fleet),
    );

    expect(status).toMatchObject({ unused: true, reason: "Unmounted" });
    expect(status?.sinceMs).toBeGreaterThanOrEqual(NOON + 118 * SECOND);
  });
});
