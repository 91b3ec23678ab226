import { describe, expect, it } from "vitest";
import type { MountScan } from "../../../../agent/core/mounted-volumes.ts";
import { initialState, type NodeState } from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { reportOf } from "../../../../agent/core/report.ts";
import { interpretStored, mergeStored } from "../../../../agent/core/restore.ts";
import { factsOf } from "../../../../aggregator/core/claim-facts.ts";
import { EMPTY_HISTORY, settleHistory } from "../../../../aggregator/core/claim-history.ts";
import { acceptReport } from "../../../../aggregator/core/fleet.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { knownMountedVolume } from "../../../fakes/node-states.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";
import { desiredClaimStatus } from "./decisions.ts";
import { ended, evidenceWith, fleetWith } from "./evidence.ts";

/** What both sides decide together; times are seconds. The first boot began at noon, the second one a hundred seconds later. */

const SECOND = 1_000;
const IDENTITY = { node: "n1", podUid: "agent-1", instance: "run-1", driftPpm: 0, session: "" };
const REBOOT = 100;
const OVER = 490;
const UNMOUNTED = 500;
const STARTED = 510;

function scanAt(at: number, { isMounted }: { readonly isMounted: boolean }): MountScan {
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

function accepted(view: NodeView | undefined, { state, bootedAt }: Known): NodeView {
  const report = reportOf(IDENTITY, state, (state.scan?.endedAt ?? 0) + 1) ?? expect.fail("there is nothing to report");
  const atMs = NOON + bootedAt * SECOND + report.sentAt;
  const result = acceptReport(view, report, { atMs, widthMs: 0, nodeBootId: state.bootId });
  return result.kind === "accepted" ? result.view : expect.fail(result.kind);
}

interface Known {
  readonly state: NodeState;
  readonly bootedAt: number;
}

function firstBoot(): NodeState {
  const facts = { name: "shop/web-0", resourceVersion: "1", isRunning: true, isOver: false };
  const seen = { scan: scanAt(90, { isMounted: true }), podsResourceVersion: "90", pods: new Map([["u1", facts]]) };
  return observe(initialState("boot-1"), seen).state;
}

/** After the reboot the pod ran again, under its UID; the agent started when it was over and unmounted. */
function secondBoot(): NodeState {
  const now = { bootId: "boot-2", clock: "", nowMs: (STARTED - REBOOT) * SECOND };
  const state = mergeStored(initialState("boot-2"), interpretStored(firstBoot(), now).past);
  const scan = scanAt(STARTED - REBOOT, { isMounted: false });
  return observe(state, { scan, podsResourceVersion: String(STARTED), pods: new Map() }).state;
}

describe("a pod that a reboot interrupts and that unmounts before its agent is back", () => {
  it.each<{
    readonly name: string;
    readonly stored: ClaimStatus;
    /** The leader is the one that the first boot reported to. */
    readonly hasWitnessed: boolean;
    readonly wasOver?: boolean;
  }>(
    // biome-ignore format: a row is a line
    [
      { name: "while one leader sees all of it", stored: mountedStatus(["n1"]), hasWitnessed: true },
      { name: "as it is stored mounted, and another leader saw its end", stored: mountedStatus(["n1"]), hasWitnessed: false },
      { name: "as it is stored mounted, and a new leader finds it over", stored: mountedStatus(["n1"]), hasWitnessed: false, wasOver: true },
      { name: "as it is stored referenced, and the leader sees its end", stored: statusWith({ reason: "Referenced" }), hasWitnessed: true },
      {
        name: "as it is stored referenced, and a new leader finds it over",
        stored: statusWith({ reason: "Referenced" }),
        hasWitnessed: false,
        wasOver: true,
      },
    ],
  )("used its volume until the agent's first scan, $name", ({ stored, hasWitnessed, wasOver = false }) => {
    const before = hasWitnessed ? accepted(undefined, { state: firstBoot(), bootedAt: 0 }) : undefined;
    const view = accepted(before, { state: secondBoot(), bootedAt: REBOOT });
    const unmountRecords = [...view.unmountRecords.values()];
    const claim = claimWith({ status: stored });
    const fleet = fleetWith([view], { nodes: () => ["n1"], nowMs: NOON + (STARTED + 1) * SECOND });
    const over = ended({ uid: "u1" }, { gone: String(OVER), seenAtMs: NOON + OVER * SECOND, wasOver });
    const context = { ...fleet, unmountRecords, mountedBy: new Set<string>(), isHostPath: false, stored };
    const history = settleHistory({ ...EMPTY_HISTORY, pending: [over] }, context);

    const evidence = evidenceWith({ claim, volume: volumeWith(), unmountRecords, history, isWitnessed: hasWitnessed });
    const status = desiredClaimStatus(factsOf(evidence, fleet));

    expect(unmountRecords).toMatchObject([{ podUid: "u1", widthMs: undefined }]);
    expect(status).toMatchObject({ unused: true });
    expect(status?.sinceMs).toBeGreaterThanOrEqual(NOON + UNMOUNTED * SECOND);
  });
});
