import { describe, expect, it } from "vitest";
import type { AgentState } from "../../../../aggregator/core/agent-state.ts";
import type { Pod } from "../../../../aggregator/core/cluster-objects.ts";
import {
  type ClaimHistory,
  claimKeysOf,
  type EndedReference,
  pruneHistory,
  type ReferenceContext,
  refersTo,
  settleReferences,
  withEnds,
} from "../../../../aggregator/core/references.ts";
import type { UseEnd } from "../../../../aggregator/core/use-end.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { NOON, podWith, statusWith, viewWith } from "../world.ts";

const SEEN = NOON - 2_000;
const GONE = NOON + 300_000;

function referenceWith(fields: Partial<EndedReference> = {}): EndedReference {
  return {
    pod: "shop/web-0",
    podUid: "pod-1",
    node: "n1",
    hasStarted: true,
    gone: "200",
    seenAtMs: SEEN,
    ...fields,
  };
}

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
  readonly reference?: Partial<EndedReference>;
  readonly reached?: string | undefined;
  readonly mountedBy?: readonly string[];
  readonly records?: readonly ReferenceContext["unmountRecords"][number][];
  readonly isHostPath?: boolean;
  readonly stored?: ClaimStatus;
  readonly agentState?: AgentState["kind"];
  /** When its node was found to be gone: after `GONE` where it was up in another boot in between. */
  readonly goneMs?: number;
  readonly pending: number;
  readonly latest: Partial<UseEnd> | undefined;
}

/** Its unmount record: told by the agent, and dated by a scan before the pod's end was seen. */
const own = { node: "n1", podUid: "pod-1", byMs: SEEN - 500, widthMs: 100, isTold: true };
/** Another pod's, of a scan after the pod's end. */
const later = { node: "n1", podUid: "pod-2", byMs: SEEN + 500, widthMs: 500, isTold: true };

function contextWith(fields: Partial<ReferenceContext> = {}): ReferenceContext {
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

describe("settleReferences", () => {
  it.each<Row>([
    {
      name: "a read that its agent began before it had seen the pod's end tells nothing",
      reached: "199",
      pending: 1,
      latest: undefined,
    },
    {
      name: "a read that its agent began after the pod's end ended the mount that no read ever showed",
      reached: "200",
      pending: 0,
      latest: { id: "pod-1/200", reason: "Unmounted", evidence: "mount-table", byMs: NOON, widthMs: undefined },
    },
    {
      name: "resource versions are compared as numbers, not as texts",
      reference: { gone: "99999999999999999999" },
      reached: "100000000000000000000",
      pending: 0,
      latest: { reason: "Unmounted" },
    },
    { name: "an agent that has not listed its pods tells nothing", reached: undefined, pending: 1, latest: undefined },
    { name: "a node that never reported is awaited", reference: { node: "n9" }, pending: 1, latest: undefined },
    {
      name: "a pod that was never bound ended when its end was seen, on no node",
      reference: { node: undefined, hasStarted: false },
      pending: 0,
      latest: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN, node: undefined, wasUse: false },
    },
    {
      name: "a pod that never started may have mounted until the read after its end, but did not use the volume",
      reference: { hasStarted: false },
      pending: 0,
      latest: { reason: "NoPodUsing", evidence: "pod-status", byMs: NOON, wasUse: false },
    },
    {
      name: "the end of a pod that never started is not before it was seen",
      reference: { hasStarted: false, seenAtMs: NOON + 700 },
      pending: 0,
      latest: { reason: "NoPodUsing", byMs: NOON + 700 },
    },
    {
      name: "a hostPath volume shows no mount: the pod's end is all that is known",
      isHostPath: true,
      pending: 0,
      latest: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN, wasUse: true },
    },
    {
      name: "a pod whose mount its node still shows is explained by the record that will come",
      mountedBy: ["pod-1"],
      pending: 0,
      latest: undefined,
    },
    { name: "another pod's mount explains nothing", mountedBy: ["pod-2"], pending: 0, latest: { byMs: NOON } },
    { name: "its own unmount record explains it, whenever that was", records: [own], pending: 0, latest: undefined },
    {
      name: "a record that no agent tells may be of an earlier mount of the pod",
      records: [{ ...own, isTold: false }],
      pending: 0,
      latest: { byMs: NOON },
    },
    {
      name: "a record that no agent tells explains it by a scan after the pod's end",
      records: [{ ...own, isTold: false, byMs: SEEN }],
      pending: 0,
      latest: undefined,
    },
    { name: "a later unmount on its node explains it", records: [later], pending: 0, latest: undefined },
    {
      name: "one that may have been before its end does not",
      records: [{ ...later, widthMs: 501 }],
      pending: 0,
      latest: { byMs: NOON },
    },
    {
      name: "nor one of which nobody knows since when",
      records: [{ ...later, widthMs: undefined }],
      pending: 0,
      latest: { byMs: NOON },
    },
    { name: "nor one on another node", records: [{ ...later, node: "n2" }], pending: 0, latest: { byMs: NOON } },
    {
      name: "its own unmount record explains it when it is stored as the last use",
      stored: statusWith({ lastUse }),
      pending: 0,
      latest: undefined,
    },
    {
      name: "what is stored of the same pod from pod status alone does not count",
      stored: statusWith({ lastUse: { ...lastUse, evidence: "pod-status" } }),
      pending: 0,
      latest: { id: "pod-1/200", byMs: NOON },
    },
    {
      name: "what is stored of another pod does not count",
      stored: statusWith({ lastUse: { ...lastUse, podUid: "pod-0" } }),
      pending: 0,
      latest: { id: "pod-1/200", byMs: NOON },
    },
    {
      name: "on a node without an agent a pod's end counts when it was seen",
      reference: { node: "n9" },
      agentState: "NoAgent",
      pending: 0,
      latest: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN, node: "n9", wasUse: true },
    },
    {
      name: "an agent that has left told nothing of a pod that ended later",
      reached: "199",
      agentState: "NoAgent",
      pending: 0,
      latest: { reason: "NoPodUsing", byMs: SEEN },
    },
    {
      name: "an agent that has left has the last word on a pod that had ended before",
      agentState: "NoAgent",
      pending: 0,
      latest: { reason: "Unmounted", byMs: NOON },
    },
    {
      name: "a pod that an earlier boot showed, on a node that no agent came back to, counts when its end was seen",
      reached: "199",
      agentState: "NoAgent",
      mountedBy: ["pod-1"],
      pending: 0,
      latest: { reason: "NoPodUsing", evidence: "pod-status", byMs: SEEN },
    },
    {
      name: "a pod whose unmount record the agent had told before it left is told by that",
      reached: "199",
      agentState: "NoAgent",
      records: [own],
      pending: 0,
      latest: undefined,
    },
    { name: "a Stale node is awaited", reached: "199", agentState: "Stale", pending: 1, latest: undefined },
    {
      name: "a use on a node that is gone is assumed to have ended when that was established",
      reference: { node: "n9" },
      agentState: "Gone",
      pending: 0,
      latest: { reason: "NodeGone", evidence: "node-gone", byMs: GONE, widthMs: undefined, wasUse: true },
    },
    {
      name: "a pod whose end was seen after its node was gone ended then",
      reference: { node: "n9", seenAtMs: GONE + 1 },
      agentState: "Gone",
      pending: 0,
      latest: { reason: "NodeGone", byMs: GONE + 1 },
    },
    {
      name: "a pod that is not known to have started on a node that is gone may have used the volume, as is to be asked when it is back",
      reference: { node: "n9", hasStarted: false },
      agentState: "Gone",
      pending: 0,
      latest: { reason: "NodeGone", evidence: "node-gone", byMs: GONE, node: "n9", wasUse: true },
    },
    {
      name: "a use on a node that was up in another boot before it was gone once more ended when that was established",
      reference: { node: "n9", seenAtMs: GONE + 1 },
      agentState: "Gone",
      goneMs: GONE + 60_000,
      pending: 0,
      latest: { reason: "NodeGone", evidence: "node-gone", byMs: GONE + 60_000 },
    },
    {
      name: "a pod that an earlier boot showed may have been started again in one that no report told of before the node was gone",
      reference: { seenAtMs: GONE + 1 },
      reached: "199",
      agentState: "Gone",
      goneMs: GONE + 60_000,
      mountedBy: ["pod-1"],
      pending: 0,
      latest: { reason: "NodeGone", evidence: "node-gone", byMs: GONE + 60_000 },
    },
    {
      name: "a pod that was over before this run began is awaited like any other",
      reference: { wasOver: true },
      reached: "199",
      pending: 1,
      latest: undefined,
    },
    {
      name: "a pod that was over before this run began is part of what is stored",
      reference: { wasOver: true, createdAtMs: NOON - 60_000 },
      stored: statusWith({ unused: true, reason: "NoPodUsing" }),
      pending: 0,
      latest: undefined,
    },
    {
      name: "a pod that was made after the stored time came and went while nobody watched",
      reference: { wasOver: true, createdAtMs: NOON - 1_000 },
      stored: statusWith({ unused: true, reason: "NoPodUsing" }),
      pending: 0,
      latest: { reason: "Unmounted", byMs: NOON },
    },
    {
      name: "a pod that was made within the second before the stored time was over by then",
      reference: { wasOver: true, createdAtMs: NOON - 1_001 },
      stored: statusWith({ unused: true, reason: "NoPodUsing" }),
      pending: 0,
      latest: undefined,
    },
    {
      name: "a pod that was over before this run began ended the use of a claim that is stored in use",
      reference: { wasOver: true, createdAtMs: NOON - 60_000 },
      stored: statusWith(),
      pending: 0,
      latest: { reason: "Unmounted", byMs: NOON },
    },
    {
      name: "but where nothing is stored it tells nothing",
      reference: { wasOver: true, createdAtMs: NOON - 60_000 },
      pending: 0,
      latest: undefined,
    },
  ])("$name", ({ reference, mountedBy, records = [], isHostPath = false, stored, pending, latest, ...row }) => {
    const reached = "reached" in row ? row.reached : "200";
    const { agentState = "Reporting", goneMs = GONE } = row;
    const view = viewWith({ podsResourceVersion: reached });
    const gone = { bootId: undefined, atMs: GONE, goneMs, evidence: "node-gone" } as const;
    const context = contextWith({
      viewOf: (node) => (node === "n1" ? view : undefined),
      agentStateOf: () => agentState,
      assumedEnd: () => (agentState === "Gone" ? gone : undefined),
      mountedBy: new Set(mountedBy),
      unmountRecords: records,
      isHostPath,
      stored,
    });

    const history = settleReferences({ pending: [referenceWith(reference)], latest: undefined }, context);

    expect(history.pending).toHaveLength(pending);
    if (latest === undefined) expect(history.latest).toBeUndefined();
    else expect(history.latest).toMatchObject(latest);
  });

  describe("of two references, one on a node that has not reported", () => {
    const away = referenceWith({ podUid: "pod-9", node: "n9" });
    // It was gone for a while: what was assumed then does not count now that an agent is expected there.
    const context = contextWith({ assumedEnd: () => ({ bootId: undefined, atMs: NOON, evidence: "node-gone" }) });

    it("that one stays pending", () => {
      const here = referenceWith({ node: undefined });

      expect(settleReferences({ pending: [away, here], latest: undefined }, context).pending).toEqual([away]);
    });

    it("nothing at all changes while neither can be settled", () => {
      const history = { pending: [away, referenceWith({ node: "n8" })], latest: undefined };

      expect(settleReferences(history, context)).toBe(history);
    });
  });

  it("of several ends the latest is kept", () => {
    const references = [1, 3, 2].map((second) =>
      referenceWith({ podUid: `pod-${second}`, node: undefined, seenAtMs: NOON + second * 1_000 }),
    );
    const history = settleReferences({ pending: references, latest: undefined }, contextWith());

    expect(history.latest?.byMs).toBe(NOON + 3_000);
  });
});

describe("pruneHistory", () => {
  const end = { byMs: NOON } as const;
  it.each([
    { name: "an end that the status tells already is dropped", unused: true, sinceMs: NOON, kept: false },
    { name: "an end later than the stored one is kept", unused: true, sinceMs: NOON - 1, kept: true },
    { name: "an end is kept as long as the claim counts as used", unused: false, sinceMs: NOON, kept: true },
  ])("$name", ({ unused, sinceMs, kept }) => {
    const latest: UseEnd = {
      id: "pod-1/200",
      reason: "NoPodUsing",
      evidence: "pod-status",
      widthMs: undefined,
      node: undefined,
      pod: "shop/web-0",
      podUid: "pod-1",
      wasUse: true,
      ...end,
    };
    const history: ClaimHistory = { pending: [referenceWith()], latest };

    const rest = pruneHistory(history, statusWith({ unused, sinceMs }));

    expect(rest.latest).toEqual(kept ? latest : undefined);
    expect(rest.pending).toHaveLength(1);
  });
});

describe("the last of several pods whose mounts no scan showed", () => {
  it.each([{ order: [0, 1] }, { order: [1, 0] }])(
    "is the one that was over last, noted in the order $order",
    ({ order }) => {
      const pods = [
        referenceWith({ pod: "shop/first", podUid: "pod-9", gone: "190", seenAtMs: SEEN }),
        referenceWith({ pod: "shop/second", podUid: "pod-1", gone: "200", seenAtMs: SEEN + 1 }),
      ];
      const pending = order.flatMap((index) => pods[index] ?? []);

      const history = settleReferences({ pending, latest: undefined }, contextWith());

      expect(history.latest?.pod).toBe("shop/second");
    },
  );
});

describe("withEnds", () => {
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
  const none = { pending: [], latest: undefined };

  it.each([
    {
      name: "a pod that never used the claim does not hide who did",
      ends: [[use], [noUse]],
      latest: noUse,
      latestUse: use,
    },
    { name: "nor does it where both are known at once", ends: [[noUse, use]], latest: noUse, latestUse: use },
    { name: "nor do several", ends: [[use], [noUse], [laterNoUse]], latest: laterNoUse, latestUse: use },
    { name: "the later use counts", ends: [[use, noUse], [laterUse]], latest: noUse, latestUse: laterUse },
    {
      name: "a latest end that was a use says it all",
      ends: [[use], [laterUse]],
      latest: laterUse,
      latestUse: undefined,
    },
    { name: "where nobody used it nobody did", ends: [[noUse]], latest: noUse, latestUse: undefined },
  ])("$name", ({ ends, latest, latestUse }) => {
    const history = ends.reduce<ClaimHistory>(withEnds, none);

    expect([history.latest, history.latestUse]).toEqual([latest, latestUse]);
  });

  it.each([
    { name: "that is stored", releasedAtMs: 1, kept: false },
    { name: "that is later than the stored one", releasedAtMs: 0, kept: true },
  ])("keeps a use $name: $kept", ({ releasedAtMs, kept }) => {
    const history = withEnds(none, [use, noUse]);
    const stored = statusWith({ unused: true, sinceMs: 3, lastUse: { ...lastUse, releasedAtMs } });

    expect(pruneHistory(history, stored)).toEqual({
      pending: [],
      latest: undefined,
      latestUse: kept ? use : undefined,
    });
  });
});

describe("refersTo", () => {
  const ephemeral = { claims: ["data"], ephemeralClaims: ["data"] };

  it.each<{
    readonly name: string;
    readonly pod?: Partial<Pod>;
    readonly key?: string;
    readonly controllerUid?: string;
    readonly refers: boolean;
  }>([
    { name: "a pod refers to the claim that it names", refers: true },
    { name: "whoever controls that", controllerUid: "pod-0", refers: true },
    { name: "a pod does not refer to another claim", key: "shop/other", refers: false },
    { name: "nor to one of that name in another namespace", key: "lab/data", refers: false },
    {
      name: "an ephemeral volume refers to the claim that its pod controls",
      pod: ephemeral,
      controllerUid: "pod-1",
      refers: true,
    },
    {
      name: "an ephemeral volume does not refer to a claim that another controls",
      pod: ephemeral,
      controllerUid: "pod-0",
      refers: false,
    },
    { name: "an ephemeral volume does not refer to a claim that nobody controls", pod: ephemeral, refers: false },
  ])("$name", ({ pod, key = "shop/data", controllerUid, refers }) => {
    expect(refersTo(podWith(pod), { key, controllerUid })).toBe(refers);
  });
});

describe("claimKeysOf", () => {
  it("claims are of the pod's own namespace", () => {
    expect(claimKeysOf(podWith({ claims: ["data", "web-0-scratch"] }))).toEqual(["shop/data", "shop/web-0-scratch"]);
  });
});
