import { describe, expect, it } from "vitest";
import type { ClaimEvidence } from "../../../../aggregator/core/claims/evidence.ts";
import { pendingNodesOf, unwatchedUntilMs } from "../../../../aggregator/core/claims/facts.ts";
import type { EndedPod } from "../../../../aggregator/core/cluster-objects.ts";
import type { AgentState } from "../../../../aggregator/core/nodes/agent-state.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, nodeWith, statusWith, viewWith, volumeWith } from "../world.ts";
import { ended, evidenceWith, fleetWith, useOn } from "./evidence.ts";

/** The status that the claim stores, which pods are over, and what else is known. */
interface Scene extends Partial<ClaimEvidence> {
  readonly status?: ClaimStatus;
  readonly over?: readonly EndedPod[];
  readonly states?: Readonly<Record<string, AgentState["kind"]>>;
  /** The node for which the barrier waits. */
  readonly barrier?: string;
  /** The nodes whose answer for the gap is not taken into account yet. */
  readonly inGap?: readonly string[];
}

/** The nodes that are awaited, each with the reason. `n1` has reported since the start, `n2` and `n3` have not. */
function awaitedIn({ status, over = [], states: agentStates = {}, barrier, inGap = [], ...evidence }: Scene): string {
  const found = evidenceWith({ claim: claimWith({ status }), history: { pending: over, ends: [] }, ...evidence });
  const node = (name: string) => ({ ...nodeWith(name), labels: { host: name } });
  const unanswered = { toMs: NOON, nodes: () => inGap };
  const unobservedOf = () => ({ times: [], unanswered });
  const fleet = fleetWith([viewWith()], { agentStates, node, pendingNode: () => barrier, unobservedOf });
  const texts = pendingNodesOf(found, fleet).map(({ node, isSilent, why = "barrier", pod }) =>
    [...(isSilent ? ["silent"] : []), node, why, ...(pod === undefined ? [] : [pod])].join(" "),
  );
  return texts.join(", ") || "none";
}

type Row = readonly [name: string, scene: Scene, awaited: string];

const web1 = ended({ key: "shop/web-1" });
const onN2 = ended({ node: "n2" });
const unused = statusWith({ unused: true, reason: "Unmounted" });
const unusedAhead = { ...unused, sinceMs: NOON + 5_001 };
const stagedOnN2 = { ...unused, staged: "Staged on node n2" };
const manyFrom = (node: string) => ({ ...mountedStatus([node]), mountedOn: { nodes: [node], more: true } });
const storedOnN1 = { status: mountedStatus(["n1"]), shownOn: ["n1"] };
const inUse = { status: statusWith() };
const N2_STALE = { states: { n2: "Stale" } } as const;
const N3_GONE = { states: { n2: "Stale", n3: "Gone" } } as const;
const withoutAgent = { states: { n2: "NoAgent", n3: "Gone" } } as const;
const ON_N2 = "n2 pod-ended shop/web-0";
const othersStale = { shownOn: ["n1"], attachedTo: ["n3"], states: { n1: "Stale", n3: "Stale" } } as const;

describe("a node where a pod ended", () => {
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["is awaited", { over: [ended()] }, "n1 pod-ended shop/web-0"],
      ["is awaited once, with the first pod", { over: [ended(), web1] }, "n1 pod-ended shop/web-0"],
      ["is not awaited for a pod that was never bound", { over: [ended({ node: undefined })] }, "none"],
      ["comes before others", { over: [onN2], ...othersStale }, `${ON_N2}, silent n1 was-mounted, silent n3 attached`],
    ],
  )("%s", (_, scene, awaited) => {
    expect(awaitedIn(scene)).toBe(awaited);
  });
});

describe("a node that had it mounted", () => {
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["is awaited until it reports", { status: mountedStatus(["n1", "n2"]), ...N2_STALE }, "silent n2 was-mounted"],
      ["may be any one of too many to keep", { status: manyFrom("n2") }, "n2 was-mounted, n3 was-mounted"],
      ["is awaited without an agent, not Gone", { status: mountedStatus(["n3", "n2"]), ...withoutAgent }, "silent n2 was-mounted"],
      ["is awaited without an agent also after its report", { ...storedOnN1, states: { n1: "NoAgent" } }, "silent n1 was-mounted"],
      ["is not awaited while it reports", { shownOn: ["n1"] }, "none"],
      ["is awaited for a staged volume, however Stale, unless it is Gone", { status: stagedOnN2, ...N3_GONE }, "silent n2 was-mounted"],
    ],
  )("%s", (_, scene, awaited) => {
    expect(awaitedIn(scene)).toBe(awaited);
  });
});

describe("a node that the volume is attached to", () => {
  const attachedTo = ["n1", "n2"];
  it.each<Row>([
    ["is awaited when it has not reported since the start", { attachedTo }, "n2 attached"],
    ["is not awaited when it is Gone or no agent belongs there", { attachedTo: ["n2", "n3"], ...withoutAgent }, "none"],
  ])("%s", (_, scene, awaited) => {
    expect(awaitedIn(scene)).toBe(awaited);
  });
});

describe("a node behind the barrier", () => {
  const barrier = "n2";
  it.each<Row>([
    ["delays no claim that counts as unused", { barrier, status: unused }, "none"],
    ["delays what takes the place of a time in the future", { barrier, status: unusedAhead }, "n2 barrier"],
    ["delays what would say that a claim is staged no longer", { barrier, status: stagedOnN2 }, "n2 barrier"],
  ])("%s", (_, scene, awaited) => {
    expect(awaitedIn(scene)).toBe(awaited);
  });
});

describe("a node on which a claim's last pod may have ended, unobserved", () => {
  const affinity = (term: object) => JSON.stringify({ nodeSelectorTerms: [term] });
  const n3Only = affinity({ matchExpressions: [{ key: "host", operator: "In", values: ["n3"] }] });
  it.each<Row>([
    ["is awaited, however long it is Stale", { ...inUse, ...N2_STALE }, "silent n2 unwatched, n3 unwatched"],
    ["is not awaited when it is NoAgent or Gone", { ...inUse, ...withoutAgent }, "none"],
    [
      "is awaited also after its report, until its answer for the gap is taken into account, unless it has no agent",
      { status: mountedStatus(["n1"]), inGap: ["n1", "n2"], ...withoutAgent },
      "n1 unwatched",
    ],
    [
      "is awaited only where the volume's affinity allows it",
      { ...inUse, volume: volumeWith({ nodeAffinity: n3Only }) },
      "n3 unwatched",
    ],
    ["is not awaited while a node has the volume mounted", { ...inUse, uses: [useOn("n1")] }, "none"],
    ["is not awaited while a pod names the claim", { ...inUse, references: ["shop/web-1"] }, "none"],
  ])("%s", (_, scene, awaited) => {
    expect(awaitedIn(scene)).toBe(awaited);
  });
});

describe("a claim that an earlier leader left in use before this replica watched pods", () => {
  const term = { matchExpressions: [{ key: "host", operator: "In", values: ["n1"] }] };
  const volume = volumeWith({ nodeAffinity: JSON.stringify({ nodeSelectorTerms: [term] }) });
  const watchedSinceMs = NOON + 60_000;
  const n1Gone = {
    uses: [useOn("n1")],
    assumed: { n1: NOON },
  } as const;
  type Left = Scene & {
    readonly assumed?: Readonly<Record<string, number>>;
  };
  it.each<readonly [name: string, left: Left, isUntilThen: boolean]>(
    // biome-ignore format: a row is a line
    [
      ["counts as used until then where it can be used on a node that has not reported", {}, true],
      ["does not where its volume can be used only on nodes that have reported", { volume }, false],
      ["does where such a node reports no more", { volume, states: { n1: "NoAgent" } }, true],
      ["does when it came into use within that second: stored times are rounded up", { status: { ...mountedStatus(["n1"]), sinceMs: watchedSinceMs + 999 } }, true],
      ["does not when it came into use later", { status: { ...mountedStatus(["n1"]), sinceMs: watchedSinceMs + 1_000 } }, false],
      ["does not when it is stored as unused", { status: unused }, false],
      ["is in use while a node shows it mounted", { uses: [useOn("n1")] }, false],
      ["is in use while a pod names it", { references: ["shop/web-1"] }, false],
      ["counts so also where it was mounted on a node that is Gone", n1Gone, true],
    ],
  )("%s", (_, { status = mountedStatus(["n1"]), assumed = {}, states = {}, ...evidence }, isUntilThen) => {
    const node = (name: string) => ({ ...nodeWith(name), labels: { host: name } });
    const fleet = fleetWith([viewWith()], { node, watchedSinceMs, assumed, agentStates: states });
    const until = unwatchedUntilMs(evidenceWith({ claim: claimWith({ status }), ...evidence }), fleet);
    expect(until).toBe(isUntilThen ? watchedSinceMs : undefined);
  });
});
