import { describe, expect, it } from "vitest";
import type { AgentState } from "../../../../aggregator/core/agent-state.ts";
import type { ClaimEvidence } from "../../../../aggregator/core/claim-evidence.ts";
import type { PendingNode } from "../../../../aggregator/core/claim-status.ts";
import type { EndedPod } from "../../../../aggregator/core/cluster-objects.ts";
import { pendingNodesOf } from "../../../../aggregator/core/pending-nodes.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, nodeWith, statusWith, viewWith, volumeWith } from "../world.ts";
import { ended, evidenceWith, fleetWith, useOn } from "./evidence.ts";

interface Row {
  readonly name: string;
  readonly status?: ClaimStatus;
  readonly createdAtMs?: number;
  readonly pending?: readonly EndedPod[];
  readonly evidence?: Partial<ClaimEvidence>;
  readonly agentStates?: Readonly<Record<string, AgentState["kind"]>>;
  readonly expected?: readonly string[];
  readonly awaited: readonly PendingNode[];
}

/** `n1` has reported since the start, `n2` and `n3` have not. */
function awaitedIn({ status, createdAtMs, pending = [], evidence = {}, ...fleet }: Row): readonly PendingNode[] {
  const { agentStates = {}, expected = [] } = fleet;
  const claim = claimWith({ status, createdAtMs });
  const found = evidenceWith({ claim, history: { pending, ends: [] }, ...evidence });
  const nodeOf = (name: string) => ({ ...nodeWith(name), labels: { host: name } });
  return pendingNodesOf(found, fleetWith([viewWith()], { agentStates, nodeOf, pendingNode: () => expected[0] }));
}

const UNUSED = statusWith({ unused: true, reason: "Unmounted" });
const SEEN = { isWitnessed: true };
const podEnded = { why: "pod-ended", pod: "shop/web-0" } as const;

describe("a node that is Stale", () => {
  it("comes once, the nearest reason first", () => {
    const found = evidenceWith({
      history: { pending: [ended({ node: "n2" })], ends: [] },
      shownOn: ["n1"],
      attachedTo: ["n3"],
    });
    const agentStates = { n1: "Stale", n3: "Stale" } as const;

    const awaited = pendingNodesOf(found, fleetWith([viewWith()], { agentStates }));

    expect(awaited).toEqual([
      { node: "n2", isSilent: false, why: "pod-ended", pod: "shop/web-0" },
      { node: "n1", isSilent: true, why: "was-mounted" },
      { node: "n3", isSilent: true, why: "attached" },
    ]);
  });
});

describe("a node where a pod ended", () => {
  it.each<Row>([
    { name: "nobody is awaited when nothing is open", awaited: [] },
    { name: "is awaited", pending: [ended()], awaited: [{ node: "n1", isSilent: false, ...podEnded }] },
    {
      name: "is awaited once",
      pending: [ended(), ended({ key: "shop/web-1" })],
      awaited: [{ node: "n1", isSilent: false, ...podEnded }],
    },
    {
      name: "is awaited when silent, too",
      pending: [ended()],
      agentStates: { n1: "Stale" },
      awaited: [{ node: "n1", isSilent: true, ...podEnded }],
    },
    { name: "is not there for a pod that was never bound", pending: [ended({ node: undefined })], awaited: [] },
    {
      name: "is awaited for a pod that was over before this run, which tells of no pod that was seen in use",
      pending: [ended({}, { wasOver: true })],
      awaited: [{ node: "n1", isSilent: false, why: "pod-ended" }],
    },
    {
      name: "is awaited with its pod when that was made after what is stored, though it was over before this run",
      status: statusWith({ unused: true, reason: "NoPodUsing" }),
      pending: [ended({ createdAtMs: NOON }, { wasOver: true })],
      awaited: [{ node: "n1", isSilent: false, ...podEnded }],
    },
    {
      name: "is told with the first of two pods that this run saw in use, though the other was the last to end",
      pending: [ended(), ended({ key: "shop/web-1" })],
      awaited: [{ node: "n1", isSilent: false, ...podEnded }],
    },
    {
      name: "is told with that pod though the volume is attached there as well",
      pending: [ended({ node: "n2" })],
      evidence: { attachedTo: ["n2"], shownOn: ["n2"] },
      agentStates: { n2: "Stale" },
      awaited: [{ node: "n2", isSilent: true, ...podEnded }],
    },
    {
      name: "is told with that pod though a later one was over before this run",
      pending: [ended({ key: "shop/web-1" }), ended({}, { wasOver: true })],
      awaited: [{ node: "n1", isSilent: false, why: "pod-ended", pod: "shop/web-1" }],
    },
    {
      name: "is told with no pod where two were over before this run, and once",
      pending: [ended({}, { wasOver: true }), ended({ uid: "pod-2" }, { wasOver: true })],
      awaited: [{ node: "n1", isSilent: false, why: "pod-ended" }],
    },
    {
      name: "is told with the pod that this run saw in use",
      pending: [ended({}, { wasOver: true }), ended({ key: "shop/web-1" })],
      awaited: [{ node: "n1", isSilent: false, why: "pod-ended", pod: "shop/web-1" }],
    },
  ])("$name", (row) => {
    expect(awaitedIn(row)).toEqual(row.awaited);
  });
});

describe("a node that had it mounted by the stored status", () => {
  it.each<Row>([
    {
      name: "is awaited until it has reported",
      status: mountedStatus(["n1", "n2"]),
      agentStates: { n2: "Stale" },
      awaited: [{ node: "n2", isSilent: true, why: "was-mounted" }],
    },
    {
      name: "may be any node where there were too many to keep",
      status: statusWith({ reason: "Mounted", mountedOn: { nodes: ["n2"], more: true } }),
      awaited: [
        { node: "n2", isSilent: false, why: "was-mounted" },
        { node: "n3", isSilent: false, why: "was-mounted" },
      ],
    },
    {
      name: "is not awaited when it is Gone; without an agent it is, as nothing else can tell",
      status: mountedStatus(["n2", "n3"]),
      agentStates: { n2: "Gone", n3: "NoAgent" },
      awaited: [{ node: "n3", isSilent: true, why: "was-mounted" }],
    },
    {
      name: "without an agent is not awaited where the status only says that there were more nodes",
      status: { ...mountedStatus(["n1"]), mountedOn: { nodes: ["n1"], more: true } },
      agentStates: { n2: "NoAgent", n3: "NoAgent" },
      awaited: [],
    },
  ])("$name", (row) => {
    expect(awaitedIn(row)).toEqual(row.awaited);
  });
});

describe("a node whose last report shows it", () => {
  it.each<Row>([
    { name: "has said all as long as it reports", evidence: { shownOn: ["n1"] }, awaited: [] },
    {
      name: "is awaited when it is silent, also where it only had it staged",
      evidence: { shownOn: ["n1"] },
      agentStates: { n1: "Stale" },
      awaited: [{ node: "n1", isSilent: true, why: "was-mounted" }],
    },
    { name: "has no word when it is gone", evidence: { shownOn: ["n1"] }, agentStates: { n1: "Gone" }, awaited: [] },
  ])("$name", (row) => {
    expect(awaitedIn(row)).toEqual(row.awaited);
  });
});

describe("a node that the volume is attached to", () => {
  it.each<Row>([
    {
      name: "is awaited when it has not reported since the start",
      evidence: { attachedTo: ["n1", "n2"] },
      awaited: [{ node: "n2", isSilent: false, why: "attached" }],
    },
    {
      name: "is awaited when it is silent",
      evidence: { attachedTo: ["n1", "n2"] },
      agentStates: { n1: "Stale", n2: "Stale" },
      awaited: [
        { node: "n1", isSilent: true, why: "attached" },
        { node: "n2", isSilent: true, why: "attached" },
      ],
    },
    {
      name: "has no word when it is gone, and none when no agent belongs there",
      evidence: { attachedTo: ["n2", "n3"] },
      agentStates: { n2: "NoAgent", n3: "Gone" },
      awaited: [],
    },
    {
      name: "is awaited for the pod that ended there, if there is one",
      pending: [ended({ node: "n2" })],
      evidence: { attachedTo: ["n2"] },
      awaited: [{ node: "n2", isSilent: false, ...podEnded }],
    },
  ])("$name", (row) => {
    expect(awaitedIn(row)).toEqual(row.awaited);
  });
});

describe("a node behind the barrier", () => {
  const expected = ["n2", "n3"];
  const behind = [{ node: "n2", isSilent: false }];
  it.each<Row>([
    { name: "delays a claim that is seen for the first time", expected, awaited: behind },
    { name: "delays no claim that counts as unused", status: UNUSED, expected, awaited: [] },
    {
      name: "delays what takes the place of a time in the future",
      status: { ...UNUSED, sinceMs: NOON + 5_001 },
      expected,
      awaited: behind,
    },
    {
      name: "delays what would say that a claim is staged no longer",
      status: { ...UNUSED, staged: "Staged on node n2" },
      expected,
      awaited: behind,
    },
    { name: "delays a claim that is stored in use", status: statusWith(), evidence: SEEN, expected, awaited: behind },
    {
      name: "delays it though its stored status names nodes: a pod may have come to another one since",
      status: mountedStatus(["n1"]),
      expected,
      awaited: behind,
    },
    { name: "delays nothing once the barrier is open", status: statusWith(), evidence: SEEN, awaited: [] },
  ])("$name", (row) => {
    expect(awaitedIn(row)).toEqual(row.awaited);
  });
});

describe("a node where an earlier run saw a claim staged", () => {
  it.each<Row>([
    {
      name: "delays what would say that it is staged no longer, though it should have reported long ago; not where no report can be expected",
      status: { ...UNUSED, staged: "Staged on node n2" },
      agentStates: { n2: "Stale", n3: "Gone" },
      awaited: [{ node: "n2", isSilent: true, why: "was-mounted" }],
    },
  ])("$name", (row) => {
    expect(awaitedIn(row)).toEqual(row.awaited);
  });
});

const on = (node: string, isSilent = false): PendingNode => ({ node, isSilent, why: "unwatched" });
const selecting = (term: object) => JSON.stringify({ nodeSelectorTerms: [term] });
const onN3 = selecting({ matchExpressions: [{ key: "host", operator: "In", values: ["n3"] }] });
const namedN3 = selecting({ matchFields: [{ key: "metadata.name", operator: "In", values: ["n3"] }] });

describe("a node on which a claim's last pod may have ended while nobody watched", () => {
  it.each<Row>([
    { name: "is any that has not been heard of since", status: statusWith(), awaited: [on("n2"), on("n3")] },
    {
      name: "may be silent for as long as it likes",
      status: statusWith(),
      agentStates: { n2: "Stale" },
      awaited: [on("n2", true), on("n3")],
    },
    {
      name: "has a word to give: it is not agentless, and not gone",
      status: statusWith(),
      agentStates: { n2: "NoAgent", n3: "Gone" },
      awaited: [],
    },
    {
      name: "can have the volume",
      status: statusWith(),
      evidence: { volume: volumeWith({ nodeAffinity: onN3 }) },
      awaited: [on("n3")],
    },
    {
      name: "can have the volume whatever names its affinity gives: the kubelet looks at labels alone",
      status: statusWith(),
      evidence: { volume: volumeWith({ nodeAffinity: namedN3 }) },
      awaited: [on("n2"), on("n3")],
    },
    {
      name: "is none where the volume shows no mount",
      status: statusWith(),
      evidence: { volume: volumeWith({ isHostPath: true }) },
      awaited: [],
    },
    {
      name: "is any, too, where somebody has removed what was written of the nodes",
      status: statusWith({ reason: "Mounted" }),
      awaited: [on("n2"), on("n3")],
    },
    { name: "is known where what is stored names it", status: mountedStatus(["n1"]), awaited: [] },
    { name: "is known where a pod was seen", status: statusWith(), evidence: { isWitnessed: true }, awaited: [] },
    {
      name: "does not matter while a node has it mounted",
      status: statusWith(),
      evidence: { uses: [useOn("n1")] },
      awaited: [],
    },
    {
      name: "does not matter while a pod names the claim",
      status: statusWith(),
      evidence: { references: ["shop/web-1"] },
      awaited: [],
    },
    {
      name: "does not matter to a claim that is idle",
      status: statusWith({ unused: true, reason: "NodeGone" }),
      awaited: [],
    },
  ])("$name", (row) => {
    expect(awaitedIn(row)).toEqual(row.awaited);
  });
});
