import { describe, expect, it } from "vitest";
import type { ClaimHistory } from "../../../../aggregator/core/claims/evidence.ts";
import {
  EMPTY_HISTORY,
  type HistoryContext,
  isOpen,
  settleHistory,
  versionToReach,
  withEnds,
} from "../../../../aggregator/core/claims/history.ts";
import type { UseEnd } from "../../../../aggregator/core/claims/use-end.ts";
import type { EndedPod, Pod } from "../../../../aggregator/core/cluster-objects.ts";
import type { AgentState } from "../../../../aggregator/core/nodes/agent-state.ts";
import type { NodeUnmountRecord } from "../../../../aggregator/core/nodes/node-view.ts";
import type { ClaimStatus, LastUse } from "../../../../common/storage/claim-status.ts";
import { claimWith, NOON, nodeUnmountRecord, statusWith, viewWith, volumeWith } from "../world.ts";
import { lastUseWith, podEndWith } from "./decisions.ts";
import { ended, evidenceWith, useOn } from "./evidence.ts";

const SEEN = NOON - 2_000;
const GONE = NOON + 300_000;

/** What is known of a pod whose end was seen two seconds before noon, at version 200. */
interface Scene {
  readonly pod?: Partial<Pod>;
  readonly end?: Partial<EndedPod>;
  /** What the agent had seen of pods when it scanned at noon; 200 unless a row says something else. */
  readonly reached?: string;
  readonly state?: AgentState["kind"];
  readonly records?: readonly Partial<NodeUnmountRecord>[];
  readonly mountedBy?: readonly string[];
  readonly isHostPath?: boolean;
  readonly stored?: ClaimStatus;
}

/** Only `n1` has reported. */
function contextOf({ reached = "200", state = "Reporting", ...scene }: Scene): HistoryContext {
  const { records = [], mountedBy = [], isHostPath = false, stored } = scene;
  const view = viewWith({ podsResourceVersion: reached });
  return {
    fleet: { view: (node) => (node === "n1" ? view : undefined) },
    agentStates: {
      of: () => ({ kind: state }),
      assumedEnd: () => (state === "Gone" ? GONE : undefined),
    },
    ...evidenceWith({
      claim: claimWith({ status: stored }),
      volume: volumeWith({ isHostPath }),
      uses: mountedBy.map((podUid) => useOn("n1", podUid)),
      unmountRecords: records.map((one) => nodeUnmountRecord(one)),
    }),
  };
}

function outcomeOf(scene: Scene): string {
  const over = ended(scene.pod, { seenAtMs: SEEN, ...scene.end });
  const { pending, ends } = settleHistory({ pending: [over], ends: [] }, contextOf(scene));
  return pending.length > 0 ? "pending" : endText(ends[0]);
}

const KINDS = { "mount-table": "Unmounted", "pod-status": "NoPodUsing", "node-gone": "NodeGone" } as const;
const TIMES = new Map([
  [SEEN, "when seen"],
  [NOON, "by the scan"],
  [GONE, "with its node"],
]);

function endText(end: UseEnd | undefined): string {
  if (end === undefined) return "explained";
  const { id, evidence, byMs, node = "no node", wasUse } = end;
  const known = { widthMs: undefined, pod: "shop/web-0", podUid: "pod-1" };
  expect(end).toMatchObject({ ...known, id: `pod-1/${id.split("/")[1]}` });
  const when = TIMES.get(byMs) ?? byMs;
  return `${KINDS[evidence]} ${when}${node === "n1" ? "" : ` on ${node}`}${wasUse ? "" : ", no use"}`;
}

/** Its agent left before it saw the end. */
const LEFT = { reached: "199", state: "NoAgent" } as const;
const unstarted = { hasStarted: false };
/** Its unmount record: reported by the agent, and dated by a scan before the pod's end was seen. */
const own = { node: "n1", podUid: "pod-1", byMs: SEEN - 500, widthMs: 100, isReported: true };
/** Another pod's, of a scan after the pod's end. */
const later = { node: "n1", podUid: "pod-2", byMs: SEEN + 500, widthMs: 500, isReported: true };
const usedBy = (fields: Partial<LastUse>) => statusWith({ lastUse: lastUseWith({ podUid: "pod-1", ...fields }) });
const idle = statusWith({ unused: true, reason: "NoPodUsing" });
const over = { wasOver: true };
const huge = "100000000000000000000";
const byItself = { podUid: "pod-1", id: "pod-1/200", evidence: "pod-status" } as const;
const assumedOfIt = { ...byItself, evidence: "node-gone" } as const;

type Row = readonly [name: string, scene: Scene, outcome: string];

describe("the use of a pod that is over", () => {
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["waits for an agent that had not seen the end when it began its scan", { reached: "199" }, "pending"],
      ["ended by the scan of one that had, whatever mount no scan showed", {}, "Unmounted by the scan"],
      ["compares versions as numbers", { end: { gone: huge.slice(1) }, reached: huge }, "Unmounted by the scan"],
      ["ended when it was seen where it was never bound", { pod: { ...unstarted, node: undefined } }, "NoPodUsing when seen on no node, no use"],
      ["is no use where the pod never started; it may have mounted until the scan", { pod: unstarted }, "NoPodUsing by the scan, no use"],
      ["is explained by the record to come of a mount that a node still shows", { mountedBy: ["pod-1"] }, "explained"],
      ["is not explained by an earlier record that no agent reports", { records: [{ ...own, isReported: false }] }, "Unmounted by the scan"],
      ["is explained by a later record that no agent reports", { records: [{ ...own, isReported: false, byMs: SEEN }] }, "explained"],
      ["is explained by a later unmount on its node", { records: [later] }, "explained"],
      ["is not explained by one that may have been before it", { records: [{ ...later, widthMs: 501 }] }, "Unmounted by the scan"],
      ["is not explained by one on another node", { records: [{ ...later, node: "n2" }] }, "Unmounted by the scan"],
      ["is explained by its own record as the status stores it", { stored: usedBy({}) }, "explained"],
      ["is not explained by a stored use of another pod", { stored: usedBy({ podUid: "pod-0" }) }, "Unmounted by the scan"],
      ["is not explained by an earlier boot's mount", { ...LEFT, mountedBy: ["pod-1"] }, "NoPodUsing when seen"],
      ["ended when it was seen on a hostPath of a node that is gone", { state: "Gone", isHostPath: true }, "NoPodUsing when seen"],
      ["is explained where the pod has no creation time", { end: over, stored: idle }, "explained"],
      ["waits for no agent where the status includes it already", { reached: "199", end: over, stored: idle }, "explained"],
      ["waits for one where there is no status", { reached: "199", end: over }, "pending"],
      ["is explained then, as it changes no time", { end: over }, "explained"],
      ["is not explained where the pod was made after the stored time", { pod: { createdAtMs: NOON - 1_000 }, end: over, stored: idle }, "Unmounted by the scan"],
      ["is explained where the pod was made a second before it", { pod: { createdAtMs: NOON - 1_001 }, end: over, stored: idle }, "explained"],
      ["gives no new end where it is stored: that would hide a later one", { isHostPath: true, stored: usedBy(byItself) }, "explained"],
      ["gives one where it is stored as assumed with its node", { isHostPath: true, stored: usedBy(assumedOfIt) }, "NoPodUsing when seen"],
    ],
  )("%s", (_, scene, outcome) => {
    expect(outcomeOf(scene)).toBe(outcome);
  });
});

describe("of several pods", () => {
  const seenAt = (uid: string, seenAtMs: number, node?: string): EndedPod => ended({ uid, node }, { seenAtMs });

  it("that one scan shows as ended, the last one to end is the last user", () => {
    const pending = [seenAt("b", SEEN + 1, "n1"), seenAt("a", SEEN, "n1")];

    expect(settleHistory({ pending, ends: [] }, contextOf({})).ends).toMatchObject([{ podUid: "b" }]);
  });

  it("those stay pending whose nodes have not answered", () => {
    const away = seenAt("b", 2, "n9");

    const history = settleHistory({ pending: [away, seenAt("a", 1)], ends: [] }, contextOf({}));

    expect(history).toMatchObject({ pending: [away], ends: [{ podUid: "a" }] });
  });
});

describe("the ends that are kept", () => {
  const endAt = (byMs: number, wasUse: boolean): UseEnd => podEndWith({ id: `${byMs}`, byMs, wasUse });
  const [use, laterUse, noUse, laterNoUse] = [endAt(1, true), endAt(2, true), endAt(3, false), endAt(4, false)];

  it.each([
    { name: "a pod that never used the claim does not hide the user", ends: [[use], [noUse]], kept: [noUse, use] },
    { name: "nor does it where both ends come at once", ends: [[noUse, use]], kept: [noUse, use] },
    { name: "nor do several", ends: [[use], [noUse], [laterNoUse]], kept: [laterNoUse, use] },
    { name: "the later use counts", ends: [[use, noUse], [laterUse]], kept: [noUse, laterUse] },
    { name: "only the latest end is kept where that was a use", ends: [[use], [laterUse]], kept: [laterUse] },
    { name: "where no pod used it there is no user", ends: [[noUse]], kept: [noUse] },
  ])("$name", ({ ends, kept }) => {
    const add = (known: ClaimHistory, some: readonly UseEnd[]): ClaimHistory => withEnds(known, some, undefined);

    expect(ends.reduce(add, EMPTY_HISTORY).ends).toEqual(kept);
  });

  const stored = { unused: true, sinceMs: 3, lastUse: lastUseWith({ byMs: 1 }) };
  it.each([
    { name: "an end later than the stored one is", status: { ...stored, sinceMs: 2 }, kept: [noUse] },
    { name: "a use is where none is stored", status: { ...stored, lastUse: undefined }, kept: [use] },
    {
      name: "a use is where a later one is stored, and an earlier time: that is forged",
      status: { ...stored, sinceMs: 0 },
      kept: [noUse, use],
    },
    { name: "all are where nothing is stored", status: undefined, kept: [noUse, use] },
  ])("$name", ({ status, kept }) => {
    const pruned = withEnds({ pending: [ended()], ends: [noUse, use] }, [], status && statusWith(status));

    expect(pruned).toEqual({ pending: [ended()], ends: kept });
  });
});

describe("a history", () => {
  const ends = [podEndWith()];

  it.each([
    { name: "without anything is not open", history: { pending: [], ends: [] }, isOpenNow: false },
    { name: "with an end is open", history: { pending: [], ends }, isOpenNow: true },
    { name: "with a pod whose node has to report is open", history: { pending: [ended()], ends: [] }, isOpenNow: true },
  ])("$name", ({ history, isOpenNow }) => {
    expect(isOpen(history)).toBe(isOpenNow);
  });
});

describe("a node is asked to reach", () => {
  const [first, second] = [ended({}, { gone: "99" }), ended({}, { gone: "100" })];

  it.each([
    { name: "the version of the last end on it", pending: [second, first], reached: "98", asked: "100" },
    { name: "the same where it has not listed its pods", pending: [first, second], reached: undefined, asked: "100" },
    { name: "nothing for ends that it has seen", pending: [first, second], reached: "100", asked: undefined },
  ])("$name", ({ pending, reached, asked }) => {
    expect(versionToReach(pending, viewWith({ podsResourceVersion: reached }))).toBe(asked);
  });
});
