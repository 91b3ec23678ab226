import { describe, expect, it } from "vitest";
import { type ClaimEvidence, type FleetFacts, factsOf, isSettledFor } from "../../../../aggregator/core/claim-facts.ts";
import type { ClaimFacts } from "../../../../aggregator/core/claim-status.ts";
import type { NodeRelease, NodeView } from "../../../../aggregator/core/fleet.ts";
import { EMPTY_HISTORY, type EndedReference } from "../../../../aggregator/core/references.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, nodeRelease, statusWith, viewWith } from "../world.ts";

function evidenceWith(fields: Partial<ClaimEvidence> = {}): ClaimEvidence {
  return {
    claim: claimWith(),
    holders: [],
    references: [],
    releases: [],
    history: EMPTY_HISTORY,
    witnessedNodes: new Set(),
    isWitnessed: false,
    ...fields,
  };
}

function fleetWith(
  views: readonly NodeView[],
  { silent = [], ...fields }: Partial<FleetFacts> & { readonly silent?: readonly string[] } = {},
): FleetFacts {
  return {
    viewOf: (name) => views.find(({ node }) => node === name),
    isSilent: (node) => silent.includes(node),
    nodes: () => ["n1", "n2", "n3"],
    expected: [],
    podName: (uid) => `shop/${uid}`,
    nowMs: NOON,
    ...fields,
  };
}

function pendingOn(node: string | undefined): EndedReference {
  return { pod: "shop/web-0", podUid: "pod-1", node, hasStarted: true, gone: "200", seenAtMs: NOON };
}

describe("factsOf", () => {
  it.each([
    { name: "a bound claim is eligible", claim: claimWith(), isEligible: true },
    { name: "a pending claim is not", claim: claimWith({ phase: "Pending" }), isEligible: false },
    { name: "a lost claim is not", claim: claimWith({ phase: "Lost" }), isEligible: false },
    { name: "a claim that is being deleted is not", claim: claimWith({ isDeleting: true }), isEligible: false },
  ])("$name", ({ claim, isEligible }) => {
    expect(factsOf(evidenceWith({ claim }), fleetWith([])).isEligible).toBe(isEligible);
  });

  it.each<{
    readonly name: string;
    readonly pending?: readonly EndedReference[];
    readonly status?: ClaimStatus;
    readonly silent?: readonly string[];
    readonly expected?: readonly string[];
    readonly awaited: ClaimFacts["awaited"];
  }>([
    { name: "nobody is awaited when nothing is open", awaited: [] },
    {
      name: "the node of an ended pod is awaited, once",
      pending: [pendingOn("n1"), pendingOn("n1")],
      awaited: [{ node: "n1", isSilent: false, why: "pod-ended", pod: "shop/web-0" }],
    },
    { name: "a pod that was never bound awaits nobody", pending: [pendingOn(undefined)], awaited: [] },
    {
      name: "a node that had it mounted is awaited until it has reported",
      status: mountedStatus(["n1", "n2"]),
      silent: ["n2"],
      awaited: [{ node: "n2", isSilent: true, why: "was-mounted" }],
    },
    {
      name: "a node that had it mounted, and where a pod ended, is awaited for the pod",
      pending: [pendingOn("n2")],
      status: mountedStatus(["n2"]),
      awaited: [{ node: "n2", isSilent: false, why: "pod-ended", pod: "shop/web-0" }],
    },
    {
      name: "all nodes are awaited when it was mounted on too many to keep",
      status: statusWith({ reason: "Mounted", mountedOn: { nodes: ["n2"], more: true } }),
      awaited: [
        { node: "n2", isSilent: false, why: "was-mounted" },
        { node: "n3", isSilent: false, why: "was-mounted" },
      ],
    },
    {
      name: "after a start all expected nodes are awaited, and none of them is silent yet",
      expected: ["n2"],
      silent: ["n2"],
      awaited: [{ node: "n2", isSilent: false }],
    },
  ])("$name", ({ pending = [], status, silent = [], expected = [], awaited }) => {
    const evidence = evidenceWith({ claim: claimWith({ status }), history: { pending, latest: undefined } });

    const facts = factsOf(evidence, fleetWith([viewWith()], { silent, expected }));

    expect(facts.awaited).toEqual(awaited);
  });

  it("a release is an end of use by the pod that the agent named, else by the one that is known", () => {
    const releases = [nodeRelease(), nodeRelease({ id: "release-2", podUid: "pod-2", pod: undefined })];

    const facts = factsOf(evidenceWith({ releases }), fleetWith([]));

    expect(facts.ends.map(({ id, pod, wasUse }) => ({ id, pod, wasUse }))).toEqual([
      { id: "release-1", pod: "shop/web-0", wasUse: true },
      { id: "release-2", pod: "shop/pod-2", wasUse: true },
    ]);
  });
});

describe("the end of a use that this run has not witnessed", () => {
  const since = NOON;
  const began = NOON + 60_000;
  const assumed = {
    releaseId: "n1/gone",
    node: "n1",
    pod: undefined,
    podUid: undefined,
    evidence: "node-gone",
  } as const;
  const goneSince = statusWith({
    unused: true,
    reason: "NodeGone",
    lastUse: { ...assumed, releasedAtMs: since, uncertaintyMs: undefined },
  });

  it.each<{
    readonly name: string;
    readonly status?: ClaimStatus | undefined;
    readonly views?: readonly NodeView[];
    readonly releases?: readonly NodeRelease[];
    readonly witnessedNodes?: readonly string[];
    readonly isWitnessed?: boolean;
    readonly blindEnd: unknown;
  }>([
    { name: "a claim without a status has none", status: undefined, blindEnd: undefined },
    {
      name: "a claim that counts as unused has none",
      status: statusWith({ unused: true, reason: "Unmounted" }),
      blindEnd: undefined,
    },
    {
      name: "an end that was assumed with its node's stands as long as the node is away",
      status: goneSince,
      views: [viewWith({ readBeganMs: since })],
      blindEnd: undefined,
    },
    {
      name: "an end that was assumed with its node's is by the node's first read when it is back",
      status: goneSince,
      views: [viewWith({ readBeganMs: began, observedSinceMs: began })],
      blindEnd: { id: "boot-1/first-read/run-1", byMs: began, widthMs: 60_000, node: "n1" },
    },
    {
      name: "a node that is back and was watched all the time tells the end itself",
      status: goneSince,
      views: [viewWith({ readBeganMs: began })],
      releases: [nodeRelease()],
      blindEnd: undefined,
    },
    {
      name: "an agent that began after the mount knows that it had ended by its first read",
      views: [viewWith({ observedSinceMs: began })],
      blindEnd: { id: "boot-1/first-read/run-1", byMs: began, widthMs: 60_000, node: "n1", pod: undefined },
    },
    {
      name: "an agent that began within the second of the stored time may have begun after the mount",
      views: [viewWith({ observedSinceMs: since - 999 })],
      blindEnd: { byMs: since - 999, widthMs: 0 },
    },
    {
      name: "an agent that watched all the time would have told: without its word the end is unknown",
      views: [viewWith({ observedSinceMs: since - 1_000 })],
      blindEnd: "unknown",
    },
    {
      name: "an agent that watched all the time has told",
      views: [viewWith({ observedSinceMs: since - 1_000 })],
      releases: [nodeRelease()],
      blindEnd: undefined,
    },
    {
      name: "of several nodes the latest first read counts",
      status: mountedStatus(["n1", "n2"]),
      views: [viewWith({ observedSinceMs: began }), viewWith({ node: "n2", observedSinceMs: began + 1 })],
      blindEnd: { node: "n2", byMs: began + 1 },
    },
    {
      name: "where it was mounted on too many nodes to keep, any node's first read counts",
      status: statusWith({ reason: "Mounted", mountedOn: { nodes: ["n2"], more: true } }),
      views: [viewWith({ node: "n2", observedSinceMs: 0 }), viewWith({ node: "n3", observedSinceMs: began })],
      blindEnd: { node: "n3", byMs: began },
    },
    {
      name: "a node on which this run has seen the mount is not blind",
      views: [viewWith({ observedSinceMs: began })],
      witnessedNodes: ["n1"],
      isWitnessed: true,
      blindEnd: undefined,
    },
    {
      name: "referenced, and nobody here saw by whom: unknown",
      status: statusWith(),
      blindEnd: "unknown",
    },
    {
      name: "referenced, with a release that may be an older one: unknown all the same",
      status: statusWith(),
      releases: [nodeRelease()],
      blindEnd: "unknown",
    },
    {
      name: "referenced, and this run has seen the pod: not blind",
      status: statusWith(),
      isWitnessed: true,
      blindEnd: undefined,
    },
  ])("$name", ({ views = [], releases = [], witnessedNodes = [], isWitnessed = false, blindEnd, ...row }) => {
    const status = "status" in row ? row.status : mountedStatus(["n1"]);
    const claim = claimWith({ status });
    const evidence = evidenceWith({ claim, releases, witnessedNodes: new Set(witnessedNodes), isWitnessed });

    const facts = factsOf(evidence, fleetWith(views));

    if (typeof blindEnd === "object") expect(facts.blindEnd).toMatchObject(blindEnd ?? {});
    else expect(facts.blindEnd).toBe(blindEnd);
  });
});

describe("isSettledFor", () => {
  const stored = {
    releaseId: "other",
    node: "n1",
    pod: "shop/web-0",
    podUid: "pod-1",
    releasedAtMs: NOON - 1,
    uncertaintyMs: 20,
    evidence: "mount-table",
  } as const;
  const earlier = nodeRelease({ id: "release-0", node: "n2", byMs: NOON - 1 });
  const later = nodeRelease({ id: "release-2", node: "n2", byMs: NOON + 1 });
  const same = nodeRelease({ id: "release-2", node: "n2" });

  it.each<{
    readonly name: string;
    readonly status: ClaimStatus | undefined;
    readonly holders?: readonly string[];
    readonly others?: readonly NodeRelease[];
    readonly settled: boolean;
  }>([
    { name: "a claim without a status may get one from it", status: undefined, settled: false },
    {
      name: "it is stored as the last use",
      status: statusWith({ lastUse: { ...stored, releaseId: "release-1" } }),
      settled: true,
    },
    {
      name: "a later use is stored",
      status: statusWith({ lastUse: { ...stored, releasedAtMs: NOON } }),
      settled: true,
    },
    { name: "an earlier use is stored", status: statusWith({ lastUse: stored }), settled: false },
    {
      name: "unused since it or later, but who used it last is not stored",
      status: statusWith({ unused: true, reason: "NoPodUsing" }),
      settled: false,
    },
    {
      name: "a later end is stored that was only assumed with its own node's",
      status: statusWith({ lastUse: { ...stored, releasedAtMs: NOON + 1, evidence: "node-gone", node: "n1" } }),
      settled: false,
    },
    {
      name: "a later end is stored that was assumed with another node's",
      status: statusWith({ lastUse: { ...stored, releasedAtMs: NOON + 1, evidence: "node-gone", node: "n2" } }),
      settled: true,
    },
    {
      name: "mounted on its own node still, and that is stored",
      status: mountedStatus(["n1"]),
      holders: ["n1"],
      settled: true,
    },
    {
      name: "mounted on its own node still, but that is not stored",
      status: statusWith(),
      holders: ["n1"],
      settled: false,
    },
    {
      name: "mounted on another node, whose last report may be older",
      status: mountedStatus(["n1", "n2"]),
      holders: ["n2"],
      settled: false,
    },
    { name: "mounted by what is stored, but no longer", status: mountedStatus(["n1"]), settled: false },
    { name: "a later release is known", status: mountedStatus(["n1"]), others: [later], settled: true },
    { name: "an earlier release is known", status: mountedStatus(["n1"]), others: [earlier], settled: false },
    { name: "of two at one time the second counts", status: mountedStatus(["n1"]), others: [same], settled: true },
  ])("$name: $settled", ({ status, holders = [], others = [], settled }) => {
    const release = nodeRelease();

    const result = isSettledFor(claimWith({ status }), release, { holders, releases: [release, ...others] });

    expect(result).toBe(settled);
  });

  it("a claim that is being deleted keeps its status", () => {
    const release = nodeRelease();

    expect(isSettledFor(claimWith({ isDeleting: true }), release, { holders: [], releases: [release] })).toBe(true);
  });

  it("of two releases at one time just one is settled", () => {
    const claim = claimWith({ status: mountedStatus(["n1"]) });
    const releases = [nodeRelease(), same];

    const settled = releases.filter((release) => isSettledFor(claim, release, { holders: [], releases }));

    expect(settled).toHaveLength(1);
  });
});
