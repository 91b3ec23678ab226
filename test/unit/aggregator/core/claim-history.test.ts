import { describe, expect, it } from "vitest";
import type { AgentState } from "../../../../aggregator/core/agent-state.ts";
import {
  type ClaimHistory,
  EMPTY_HISTORY,
  type HistoryContext,
  pruneHistory,
  settleHistory,
  versionToReach,
  withEnds,
} from "../../../../aggregator/core/claim-history.ts";
import type { EndedPod, Pod } from "../../../../aggregator/core/cluster-objects.ts";
import type { UseEnd } from "../../../../aggregator/core/use-end.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { NOON, statusWith, viewWith } from "../world.ts";
import { ended } from "./evidence.ts";

const SEEN = NOON - 2_000;
const GONE = NOON + 300_000;

const lastUse = {
  releaseId: "release-1",
  node: "n1",
  pod: "shop/web-0",
  podUid: "pod-1",
  releasedAtMs: NOON - 9_000,
  uncertaintyMs: 20,
  evidence: "mount-table",
} as const;

interface Row {
  readonly name: string;
  readonly pod?: Partial<Pod>;
  readonly end?: Partial<EndedPod>;
  readonly reached?: string | undefined;
  readonly mountedBy?: readonly string[];
  readonly records?: readonly HistoryContext["unmountRecords"][number][];
  readonly isHostPath?: boolean;
  readonly stored?: ClaimStatus;
  readonly agentState?: AgentState["kind"];
  /** When its node was found to be gone: after `GONE` where it was up in another boot in between. */
  readonly goneMs?: number;
  readonly outcome: "pending" | "explained" | Partial<UseEnd>;
}

/** Its unmount record: told by the agent, and dated by a scan before the pod's end was seen. */
const own = { node: "n1", podUid: "pod-1", byMs: SEEN - 500, widthMs: 100, isTold: true };
/** Another pod's, of a scan after the pod's end. */
const later = { node: "n1", podUid: "pod-2", byMs: SEEN + 500, widthMs: 500, isTold: true };

/** Node `n1` scanned at noon; its agent had then seen what pods did up to version 200, at which the pod of a row is over. */
function contextWith(fields: Partial<HistoryContext> = {}): HistoryContext {
  return {
    viewOf: (node) => (node === "n1" ? viewWith({ podsResourceVersion: "200" }) : undefined),
    agentStateOf: () => "Reporting",
    assumedEnd: () => undefined,
    unmountRecords: [],
    mountedBy: new Set(),
    isHostPath: false,
    stored: undefined,
    ...fields,
  };
}

function outcomeOf({ pending, ends }: ClaimHistory): string | UseEnd | undefined {
  return pending.length > 0 ? "pending" : (ends[0] ?? "explained");
}

describe("the use of a pod that is over", () => {
  it.each<Row>([
    {
      name: "a scan that its agent began before it had seen the pod's end tells nothing",
      reached: "199",
      outcome: "pending",
    },
    {
      name: "a scan that its agent began after the pod's end ended the mount that no scan ever showed",
      reached: "200",
      outcome: { id: "pod-1/200", reason: "Unmounted", evidence: "mount-table", byMs: NOON, widthMs: undefined },
    },
    {
      name: "resource versions are compared as numbers, not as texts",
      end: { gone: "99999999999999999999" },
      reached: "100000000000000000000",
      outcome: { reason: "Unmounted" },
    },
    { name: "an agent that has not listed its pods tells nothing", reached: undefined, outcome: "pending" },
    { name: "a node that never reported is awaited", pod: { node: "n9" }, outcome: "pending" },
    {
      name: "a pod that was never bound ended when its end was seen, on no node",
      pod: { node: undefined, hasStarted: false },
      outcome: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN, node: undefined, wasUse: false },
    },
    {
      name: "a pod that never started may have mounted until the read after its end, but did not use the volume",
      pod: { hasStarted: false },
      outcome: { reason: "NoPodUsing", evidence: "pod-status", byMs: NOON, wasUse: false },
    },
    {
      name: "the end of a pod that never started is not before it was seen",
      pod: { hasStarted: false },
      end: { seenAtMs: NOON + 700 },
      outcome: { reason: "NoPodUsing", byMs: NOON + 700 },
    },
    {
      name: "a hostPath volume shows no mount: the pod's end is all that is known",
      isHostPath: true,
      outcome: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN, wasUse: true },
    },
    {
      name: "a pod whose mount its node still shows is explained by the record that will come",
      mountedBy: ["pod-1"],
      outcome: "explained",
    },
    { name: "another pod's mount explains nothing", mountedBy: ["pod-2"], outcome: { byMs: NOON } },
    { name: "its own unmount record explains it, whenever that was", records: [own], outcome: "explained" },
    {
      name: "a record that no agent tells may be of an earlier mount of the pod",
      records: [{ ...own, isTold: false }],
      outcome: { byMs: NOON },
    },
    {
      name: "a record that no agent tells explains it by a scan after the pod's end",
      records: [{ ...own, isTold: false, byMs: SEEN }],
      outcome: "explained",
    },
    { name: "a later unmount on its node explains it", records: [later], outcome: "explained" },
    {
      name: "one that may have been before its end does not",
      records: [{ ...later, widthMs: 501 }],
      outcome: { byMs: NOON },
    },
    {
      name: "nor one of which nobody knows since when",
      records: [{ ...later, widthMs: undefined }],
      outcome: { byMs: NOON },
    },
    { name: "nor one on another node", records: [{ ...later, node: "n2" }], outcome: { byMs: NOON } },
    {
      name: "its own unmount record explains it when it is stored as the last use",
      stored: statusWith({ lastUse }),
      outcome: "explained",
    },
    {
      name: "what is stored of the same pod from pod status alone does not count",
      stored: statusWith({ lastUse: { ...lastUse, evidence: "pod-status" } }),
      outcome: { id: "pod-1/200", byMs: NOON },
    },
    {
      name: "what is stored of another pod does not count",
      stored: statusWith({ lastUse: { ...lastUse, podUid: "pod-0" } }),
      outcome: { id: "pod-1/200", byMs: NOON },
    },
    {
      name: "on a node without an agent a pod's end counts when it was seen",
      pod: { node: "n9" },
      agentState: "NoAgent",
      outcome: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN, node: "n9", wasUse: true },
    },
    {
      name: "an agent that has left told nothing of a pod that ended later",
      reached: "199",
      agentState: "NoAgent",
      outcome: { reason: "NoPodUsing", byMs: SEEN },
    },
    {
      name: "an agent that has left has the last word on a pod that had ended before",
      agentState: "NoAgent",
      outcome: { reason: "Unmounted", byMs: NOON },
    },
    {
      name: "a pod that an earlier boot showed, on a node that no agent came back to, counts when its end was seen",
      reached: "199",
      agentState: "NoAgent",
      mountedBy: ["pod-1"],
      outcome: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN },
    },
    {
      name: "a pod whose unmount record the agent had told before it left is told by that",
      reached: "199",
      agentState: "NoAgent",
      records: [own],
      outcome: "explained",
    },
    { name: "a Stale node is awaited", reached: "199", agentState: "Stale", outcome: "pending" },
    {
      name: "a use on a node that is gone is assumed to have ended when that was established",
      pod: { node: "n9" },
      agentState: "Gone",
      outcome: { reason: "NodeGone", evidence: "node-gone", byMs: GONE, widthMs: undefined, wasUse: true },
    },
    {
      name: "a pod whose end was seen after its node was gone ended then",
      pod: { node: "n9" },
      end: { seenAtMs: GONE + 1 },
      agentState: "Gone",
      outcome: { reason: "NodeGone", byMs: GONE + 1 },
    },
    {
      name: "a pod that is not known to have started on a node that is gone may have used the volume, as is to be asked when it is back",
      pod: { node: "n9", hasStarted: false },
      agentState: "Gone",
      outcome: { reason: "NodeGone", evidence: "node-gone", byMs: GONE, node: "n9", wasUse: true },
    },
    {
      name: "a use on a node that was up in another boot before it was gone once more ended when that was established",
      pod: { node: "n9" },
      end: { seenAtMs: GONE + 1 },
      agentState: "Gone",
      goneMs: GONE + 60_000,
      outcome: { reason: "NodeGone", evidence: "node-gone", byMs: GONE + 60_000 },
    },
    {
      name: "a pod that an earlier boot showed may have been started again in one that no report told of before the node was gone",
      end: { seenAtMs: GONE + 1 },
      reached: "199",
      agentState: "Gone",
      goneMs: GONE + 60_000,
      mountedBy: ["pod-1"],
      outcome: { reason: "NodeGone", evidence: "node-gone", byMs: GONE + 60_000 },
    },
    {
      name: "a pod that was over before this run began is awaited like any other",
      end: { wasOver: true },
      reached: "199",
      outcome: "pending",
    },
    {
      name: "a pod that was over before this run began is part of what is stored",
      pod: { createdAtMs: NOON - 60_000 },
      end: { wasOver: true },
      stored: statusWith({ unused: true, reason: "NoPodUsing" }),
      outcome: "explained",
    },
    {
      name: "a pod that was made after the stored time came and went while nobody watched",
      pod: { createdAtMs: NOON - 1_000 },
      end: { wasOver: true },
      stored: statusWith({ unused: true, reason: "NoPodUsing" }),
      outcome: { reason: "Unmounted", byMs: NOON },
    },
    {
      name: "a pod that was made within the second before the stored time was over by then",
      pod: { createdAtMs: NOON - 1_001 },
      end: { wasOver: true },
      stored: statusWith({ unused: true, reason: "NoPodUsing" }),
      outcome: "explained",
    },
    {
      name: "a pod that was over before this run began ended the use of a claim that is stored in use",
      pod: { createdAtMs: NOON - 60_000 },
      end: { wasOver: true },
      stored: statusWith(),
      outcome: { reason: "Unmounted", byMs: NOON },
    },
    {
      name: "a pod that is stored as the last user, by its status, tells nothing anew: that would hide a later pod's end",
      isHostPath: true,
      end: { wasOver: true },
      stored: statusWith({ lastUse: { ...lastUse, releaseId: "pod-1/200", evidence: "pod-status" } }),
      outcome: "explained",
    },
    {
      name: "but where nothing is stored it tells nothing",
      pod: { createdAtMs: NOON - 60_000 },
      end: { wasOver: true },
      outcome: "explained",
    },
  ])("$name", ({ pod, end, mountedBy, records = [], isHostPath = false, stored, outcome, ...row }) => {
    const reached = "reached" in row ? row.reached : "200";
    const { agentState = "Reporting", goneMs = GONE } = row;
    const view = viewWith({ podsResourceVersion: reached });
    const gone = { bootId: undefined, atMs: GONE, goneMs, evidence: "node-gone" } as const;
    const context = contextWith({
      viewOf: (node) => (node === "n1" ? view : undefined),
      agentStateOf: () => agentState,
      // Where its node is not gone now it was for a while, and an agent is expected there again.
      assumedEnd: () => gone,
      mountedBy: new Set(mountedBy),
      unmountRecords: records,
      isHostPath,
      stored,
    });
    const pending = [ended(pod, { seenAtMs: SEEN, ...end })];

    const found = outcomeOf(settleHistory({ pending, ends: [] }, context));

    if (typeof outcome === "string") expect(found).toBe(outcome);
    else expect(found).toMatchObject(outcome);
  });
});

describe("of several pods", () => {
  const seenAt = (uid: string, seenAtMs: number, node?: string): EndedPod => ended({ uid, node }, { seenAtMs });

  it.each([
    {
      name: "the last end of those on no node counts",
      pods: [seenAt("a", 1), seenAt("c", 3), seenAt("b", 2)],
      user: "c",
    },
    {
      name: "whose mounts one scan lacked, the one that was over last is the last user",
      pods: [seenAt("a", SEEN, "n1"), seenAt("b", SEEN + 1, "n1")],
      user: "b",
    },
    {
      name: "also where it was noted first",
      pods: [seenAt("b", SEEN + 1, "n1"), seenAt("a", SEEN, "n1")],
      user: "b",
    },
  ])("$name", ({ pods, user }) => {
    const { ends } = settleHistory({ pending: pods, ends: [] }, contextWith());

    expect(ends.map(({ podUid }) => podUid)).toEqual([user]);
  });

  it("those stay pending whose nodes have not answered", () => {
    const [here, away] = [seenAt("a", 1), seenAt("b", 2, "n9")];

    const history = settleHistory({ pending: [away, here], ends: [] }, contextWith());

    expect(history).toMatchObject({ pending: [away], ends: [{ podUid: "a" }] });
  });
});

describe("the ends that are kept", () => {
  const endAt = (byMs: number, wasUse: boolean): UseEnd => ({
    id: `${byMs}`,
    reason: "NoPodUsing",
    evidence: "pod-status",
    widthMs: undefined,
    node: "n1",
    pod: "shop/web-0",
    podUid: "pod-1",
    byMs,
    wasUse,
  });
  const [use, laterUse, noUse, laterNoUse] = [endAt(1, true), endAt(2, true), endAt(3, false), endAt(4, false)];

  it.each([
    { name: "a pod that never used the claim does not hide who did", ends: [[use], [noUse]], kept: [noUse, use] },
    { name: "nor does it where both are known at once", ends: [[noUse, use]], kept: [noUse, use] },
    { name: "nor do several", ends: [[use], [noUse], [laterNoUse]], kept: [laterNoUse, use] },
    { name: "the later use counts", ends: [[use, noUse], [laterUse]], kept: [noUse, laterUse] },
    { name: "a latest end that was a use says it all", ends: [[use], [laterUse]], kept: [laterUse] },
    { name: "where nobody used it nobody did", ends: [[noUse]], kept: [noUse] },
  ])("$name", ({ ends, kept }) => {
    expect(ends.reduce<ClaimHistory>(withEnds, EMPTY_HISTORY).ends).toEqual(kept);
  });

  const stored = { unused: true, sinceMs: 3, releasedAtMs: 1 };
  it.each([
    { name: "what the status tells is not", ...stored, kept: [] },
    { name: "an end later than the stored one is", ...stored, sinceMs: 2, kept: [noUse] },
    { name: "a use later than the stored one is", ...stored, releasedAtMs: 0, kept: [use] },
    { name: "all are as long as the claim counts as used", ...stored, unused: false, kept: [noUse, use] },
  ])("$name", ({ unused, sinceMs, releasedAtMs, kept }) => {
    const status = statusWith({ unused, sinceMs, lastUse: { ...lastUse, releasedAtMs } });

    expect(pruneHistory({ pending: [ended()], ends: [noUse, use] }, status)).toEqual({
      pending: [ended()],
      ends: kept,
    });
  });
});

describe("a node is asked to reach", () => {
  const [first, second] = [ended({}, { gone: "99" }), ended({}, { gone: "100" })];

  it.each([
    { name: "the version of the last end on it", pending: [second, first], reached: "98", asked: "100" },
    { name: "the same where it has not listed its pods", pending: [first, second], reached: undefined, asked: "100" },
    { name: "nothing where it has reached that", pending: [first, second], reached: "100", asked: undefined },
    { name: "nothing for ends on other nodes", pending: [ended({ node: "n2" })], reached: "98", asked: undefined },
  ])("$name", ({ pending, reached, asked }) => {
    expect(versionToReach(pending, viewWith({ podsResourceVersion: reached }))).toBe(asked);
  });
});
