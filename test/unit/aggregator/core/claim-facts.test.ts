import { describe, expect, it } from "vitest";
import { UNWATCHED } from "../../../../aggregator/core/claims/decide.ts";
import { factsOf, shownEnds, unobservedEnds } from "../../../../aggregator/core/claims/facts.ts";
import type { Volume } from "../../../../aggregator/core/cluster-objects.ts";
import type { NodeUnmountRecord, NodeView } from "../../../../aggregator/core/nodes/node-view.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus, LastUse } from "../../../../common/storage/claim-status.ts";
import {
  claimWith,
  mountedStatus,
  NOON,
  nodeUnmountRecord,
  stampAt,
  statusWith,
  unobservedUntil,
  viewWith,
  volumeWith,
} from "../world.ts";
import { lastUseWith } from "./decisions.ts";
import { evidenceWith, fleetWith, useOn } from "./evidence.ts";

const UNUSED = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON });

describe("factsOf", () => {
  const boundTo = (claim: Volume["claim"]) => volumeWith({ claim });
  const [own, other] = [volumeWith(), { key: "shop/data", uid: "claim-0" }];
  it.each<readonly [name: string, isEligible: boolean, claim: Claim, volume: Volume | undefined]>([
    ["that names no volume", true, claimWith({ volume: undefined, uid: "claim-9" }), own],
    ["that is lost", false, claimWith({ phase: "Lost" }), own],
    ["that is being deleted", true, claimWith({ isDeleting: true }), own],
    ["whose volume has not been seen bound", false, claimWith(), boundTo(undefined)],
    ["whose volume was last seen bound to another claim", false, claimWith(), boundTo(other)],
  ])("a claim %s is eligible: %s", (...[, isEligible, claim, volume]) => {
    expect(factsOf(evidenceWith({ claim, volume }), fleetWith([])).isEligible).toBe(isEligible);
  });

  it("a use on a node that is gone has ended, and goes on on the other nodes", () => {
    const assumed = { n1: NOON + 5_000 };

    const facts = factsOf(evidenceWith({ uses: [useOn("n1"), useOn("n2")] }), fleetWith([], { assumed }));

    expect(facts.usedOn).toEqual(["n2"]);
    expect(facts.ends).toEqual([
      {
        ...{ id: "boot-1/node-gone/pod-1/name/pv-1", evidence: "node-gone" },
        ...{ byMs: NOON + 5_000, widthMs: undefined, node: "n1", pod: "shop/pod-1", podUid: "pod-1", wasUse: true },
      },
    ]);
  });

  it("a volume is staged on the nodes that show it and are not gone", () => {
    const assumed = { n1: NOON };

    expect(factsOf(evidenceWith({ shownOn: ["n1", "n2"] }), fleetWith([], { assumed })).stagedOn).toEqual(["n2"]);
  });

  it.each([
    {
      name: "waits for the watch of pods where it has no status",
      status: undefined,
      arePodsCurrent: false,
      waits: true,
    },
    { name: "does not wait for a watch that is current", status: undefined, arePodsCurrent: true, waits: false },
    { name: "does not wait where it is stored as unused", status: UNUSED, arePodsCurrent: false, waits: false },
  ])("a claim $name", ({ status, arePodsCurrent, waits }) => {
    const evidence = evidenceWith({ claim: claimWith({ status }) });

    const { pendingNodes } = factsOf(evidence, fleetWith([], { arePodsCurrent: () => arePodsCurrent }));

    expect(pendingNodes).toEqual(waits ? [{ node: UNWATCHED, isSilent: false }] : []);
  });

  it("an unmount record is an end of use by the pod that the agent named, else by the one that is known", () => {
    const unnamed = nodeUnmountRecord({ id: "record-2", podUid: "pod-2", pod: undefined });

    const { ends } = factsOf(evidenceWith({ unmountRecords: [nodeUnmountRecord(), unnamed] }), fleetWith([]));

    expect(ends.map(({ pod, wasUse }) => [pod, wasUse])).toEqual([
      ["shop/web-0", true],
      ["shop/pod-2", true],
    ]);
  });
});

describe("isNodeBack", () => {
  const gone = lastUseWith({ evidence: "node-gone", byMs: NOON });
  const ofN2 = { ...gone, node: "n2" };
  const read = { ...gone, evidence: "mount-table" } as const;

  it.each<readonly [name: string, lastUse: LastUse, scanBeganMs: number, isBack: boolean]>([
    ["a node that has read its mount table since is back", gone, NOON + 1, true],
    ["a late report of what was read before is not enough", gone, NOON, false],
    ["another node's report is not enough", ofN2, NOON + 1, false],
    ["an end that was read is not assumed", read, NOON + 1, false],
  ])("%s", (...[, lastUse, scanBeganMs, isBack]) => {
    const claim = claimWith({ status: statusWith({ unused: true, reason: "NodeGone", lastUse }) });

    expect(factsOf(evidenceWith({ claim }), fleetWith([viewWith({ scanBeganMs })])).isNodeBack).toBe(isBack);
  });

  it("a node whose last report shows a use is back as soon as it is no longer gone", () => {
    const claim = claimWith({ status: statusWith({ unused: true, reason: "NodeGone", lastUse: gone }) });
    const evidence = evidenceWith({ claim, uses: [useOn("n1")] });
    const isBackOf = (assumed: Readonly<Record<string, number>>) =>
      factsOf(evidence, fleetWith([viewWith({ scanBeganMs: NOON })], { assumed })).isNodeBack;

    expect([isBackOf({}), isBackOf({ n1: NOON })]).toEqual([true, false]);
  });
});

const GONE = NOON + 300_000;
/** When the agent of a row began its first scan. */
const BEGAN = NOON + 60_000;

/** What is stored of the claim since noon, that it is mounted on `n1` unless a row says something else, and what is known now. */
interface Scene {
  readonly status?: ClaimStatus | undefined;
  readonly views?: readonly NodeView[];
  readonly records?: readonly NodeUnmountRecord[];
  /** Nodes that are gone, each a millisecond after the one before. */
  readonly gone?: readonly string[];
  readonly shows?: true;
  readonly hasInvalidCondition?: true;
}

function endIn({ views = [], records: unmountRecords = [], gone = [], ...scene }: Scene): string {
  const assumed = Object.fromEntries(gone.map((node, index) => [node, GONE + index]));
  const status = "status" in scene ? scene.status : mountedStatus(["n1"]);
  const uses = scene.shows ? [useOn("n1")] : [];
  const { hasInvalidCondition } = scene;
  const evidence = evidenceWith({ claim: claimWith({ status, hasInvalidCondition }), unmountRecords, uses });
  const fleet = fleetWith(views, { assumed });
  const found = unobservedEnds(evidence, shownEnds(evidence, fleet), fleet);
  return found?.map(({ id, byMs }) => `${id} at ${byMs - GONE}`).join(", ") ?? "unknown";
}

const sees = (agentGaps: NodeView["agentGaps"], fields: Partial<NodeView> = {}) => viewWith({ agentGaps, ...fields });
/** An agent that lost its journal after the mount, and one that watched all the time. */
const lost = sees(unobservedUntil(BEGAN));
const watched = sees(unobservedUntil(NOON - 1_000));
const LOST = { views: [lost] } as const;
const lostOnN2 = sees(unobservedUntil(BEGAN), { node: "n2" });
const onNextClock = sees(unobservedUntil(BEGAN), { timeline: 1 });
const withRecord = (fields: Partial<NodeUnmountRecord>) => ({ records: [nodeUnmountRecord(fields)] });
const gapFrom = (fromMs: number, toMs: number) => [{ fromMs, toMs, to: stampAt(toMs) }];
const idle = (fields: Partial<ClaimStatus>) => ({ status: statusWith({ unused: true, ...fields }) });
const both = { status: mountedStatus(["n1", "n2"]) };
const named = { status: statusWith() };

describe("unobservedEnds: the end of a stored use that neither records nor pods show", () => {
  it.each<readonly [name: string, scene: Scene, end: string]>(
    // biome-ignore format: a row is a line
    [
      ["a claim without a status has none", { status: undefined }, ""],
      ["a condition that cannot be read may have included a later one", { status: undefined, hasInvalidCondition: true }, "unknown"],
      ["a claim that counts as unused has none", idle({ reason: "Unmounted" }), ""],
      ["an agent whose journal had the mount reports its end by its first scan", { views: [lost], ...withRecord({ byMs: BEGAN, by: stampAt(BEGAN) }) }, ""],
      ["an end from before that scan says nothing of the mount", { ...LOST, ...withRecord({ by: stampAt(BEGAN) - 1 }) }, "unknown"],
      ["an end of another time of its clock says nothing", { ...LOST, views: [onNextClock], ...withRecord({ by: stampAt(BEGAN) }) }, "unknown"],
      ["an end that another node reports says nothing", { ...LOST, ...withRecord({ node: "n2", by: stampAt(BEGAN) }) }, "unknown"],
      ["an agent that began within that second may have begun later", { ...LOST, views: [sees(unobservedUntil(NOON - 999))] }, "unknown"],
      ["an agent that watched would have reported it: without a record the end is unknown", { views: [watched] }, "unknown"],
      ["a gap from that time may have hidden nothing before it", { views: [sees(gapFrom(NOON, BEGAN))], ...withRecord({ byMs: BEGAN }) }, ""],
      ["a lost journal is covered by the end of a node that showed the mount since", { ...LOST, gone: ["n1"], shows: true }, ""],
      ["the end of a node that had not shown it covers nothing", { ...LOST, gone: ["n1"] }, "unknown"],
      ["of two nodes that are gone both ends count", { ...both, gone: ["n1", "n2"] }, "n1/node-gone at 0, n2/node-gone at 1"],
      ["the end of one node says nothing of a mount that another node forgot", { ...both, ...LOST, gone: ["n1"], views: [lostOnN2] }, "unknown"],
      ["named, with an older record: unknown all the same", { ...named, ...withRecord({ byMs: NOON - 1_001 }) }, "unknown"],
      ["named, with a record of the second that the stored time is rounded up from", { ...named, ...withRecord({ byMs: NOON - 1_000 }) }, ""],
      ["mounted, with an older record: unknown all the same", { views: [watched], ...withRecord({ byMs: NOON - 1_001 }) }, "unknown"],
    ],
  )("%s", (_, scene, end) => {
    expect(endIn(scene)).toBe(end);
  });

  it("is assumed, of a use by an unknown pod", () => {
    const assumed = { n1: GONE };
    const evidence = evidenceWith({ claim: claimWith({ status: mountedStatus(["n1"]) }) });

    const user = { node: "n1", pod: undefined, podUid: undefined, wasUse: true };
    const end = { id: "n1/node-gone", evidence: "node-gone", byMs: GONE, widthMs: undefined };
    expect(unobservedEnds(evidence, [], fleetWith([], { assumed }))).toEqual([{ ...end, ...user }]);
  });
});
