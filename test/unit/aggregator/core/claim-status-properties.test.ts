import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ClaimFacts } from "../../../../aggregator/core/claim-status.ts";
import { isSameStatus } from "../../../../aggregator/core/claim-write.ts";
import type { UseEnd } from "../../../../aggregator/core/use-end.ts";
import {
  type ClaimStatus,
  earliestSinceMs,
  type LastUse,
  readClaimStatus,
  writeClaimStatus,
} from "../../../../common/storage/claim-status.ts";
import { findStrays } from "../../../../common/storage/claim-strays.ts";
import { desiredClaimStatus, factsWith, NOW } from "./decisions.ts";

const UID = "claim-1";
const node = fc.constantFrom("n1", "n2", "n3");
const pod = fc.constantFrom("shop/a", "shop/b", undefined);
/** Near now as well as long ago, a little in the future, too. */
const past = fc.oneof(
  fc.integer({ min: NOW - 8_000, max: NOW + 3_000 }),
  fc.integer({ min: NOW - 9e9, max: NOW }),
  fc.double({ min: NOW - 8_000, max: NOW, noNaN: true }),
);
const forged = fc.oneof({ weight: 9, arbitrary: past }, fc.integer({ min: NOW + 5_001, max: NOW + 9e9 }));
const kinds = fc.constantFrom(
  { reason: "Unmounted", evidence: "mount-table" } as const,
  { reason: "NoPodUsing", evidence: "pod-status" } as const,
  { reason: "NodeGone", evidence: "node-gone" } as const,
);
const width = fc.option(fc.integer({ min: 0, max: 9_000_000 }), { nil: undefined });

const end: fc.Arbitrary<UseEnd> = fc
  .record({ kind: kinds, byMs: past, widthMs: width, node, pod, id: fc.nat(20), wasUse: fc.boolean() })
  .map(({ kind, id, ...rest }) => ({ ...rest, ...kind, id: `end-${id}`, podUid: "uid", wasUse: rest.wasUse }));

const lastUse: fc.Arbitrary<LastUse> = fc
  .record({ kind: kinds, releasedAtMs: forged, uncertaintyMs: width, node, pod, id: fc.nat(20) })
  .map(({ kind, id, ...rest }) => ({
    ...rest,
    releasedAtMs: Math.ceil(rest.releasedAtMs),
    releaseId: `end-${id}`,
    podUid: "uid",
    evidence: kind.evidence,
  }));

const stored: fc.Arbitrary<ClaimStatus> = fc
  .record({
    reason: fc.constantFrom("Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"),
    sinceMs: forged.map((ms) => Math.ceil(ms / 1000) * 1000),
    lastUse: fc.option(lastUse, { nil: undefined }),
    nodes: fc.uniqueArray(node, { minLength: 1 }),
    more: fc.boolean(),
  })
  .map(({ nodes, more, ...rest }) => ({
    ...rest,
    message: "",
    unused: rest.reason !== "Mounted" && rest.reason !== "Referenced",
    mountedOn: rest.reason === "Mounted" ? { nodes, more } : undefined,
  }));

const pendingNodes = fc.record({
  node,
  isSilent: fc.boolean(),
  why: fc.constantFrom("pod-ended" as const, "was-mounted" as const, "attached" as const, undefined),
  pod: fc.constantFrom("shop/a", undefined),
});

/** When the claim was made, by a clock that may be ahead. */
const created = fc.oneof(past, fc.constant(NOW + 60_000)).map((ms) => Math.floor(ms / 1000) * 1000);

/** What is known, and a node that has come back if it was gone. */
type Known = ClaimFacts & { readonly back: string; readonly redatedMs: number };

/** Facts that can be: an end has one date, and no end is assumed of a node that is back. */
const facts: fc.Arbitrary<Known> = fc
  .record({
    stored: fc.option(stored, { nil: undefined }),
    holders: fc.uniqueArray(node, { maxLength: 2 }),
    references: fc.uniqueArray(fc.constantFrom("shop/a", "shop/b"), { maxLength: 2 }),
    pendingNodes: fc.array(pendingNodes, { maxLength: 3 }),
    ends: fc.uniqueArray(end, { maxLength: 5, selector: ({ id }) => id }),
    unobservedEnd: fc.oneof(fc.constant(undefined), fc.constant("unknown" as const), end),
    rest: fc.boolean(),
    back: node,
    redatedMs: fc.constantFrom(0, 0, 0, 1, 700, 9_000),
    createdAtMs: fc.option(created, { nil: undefined }),
  })
  .map(({ back, rest, redatedMs, createdAtMs, ...known }) => {
    const earliestMs = earliestSinceMs({ createdAtMs });
    const read = asRead(known.stored, earliestMs);
    const isDisbelieved = known.stored !== undefined && read === undefined;
    const fields = { ...known, earliestMs, stored: read, isDisbelieved };
    const ends = fields.ends.map((one) => asStored(one, fields.stored?.lastUse, redatedMs));
    const present = rest ? { holders: [], references: [] } : {};
    return { ...factsWith(withBack(back, { ...fields, ends, ...present })), back, redatedMs };
  });

/** What is from before the claim was made is none. */
function asRead(status: ClaimStatus | undefined, earliestMs: number): ClaimStatus | undefined {
  return status !== undefined && status.sinceMs < earliestMs ? undefined : status;
}

/** The end that is stored as the last use is that use, perhaps dated anew by a later receipt. */
function asStored(one: UseEnd, use: LastUse | undefined, redatedMs: number): UseEnd {
  if (use?.releaseId !== one.id) return one;
  return { ...one, byMs: use.releasedAtMs + redatedMs, wasUse: true };
}

function withBack(back: string, fields: Partial<ClaimFacts>): Partial<ClaimFacts> {
  const { stored: known, ends = [], unobservedEnd } = fields;
  const isPossible = (one: UseEnd): boolean => one.reason !== "NodeGone" || one.node !== back;
  const isNodeBack = known?.lastUse?.evidence === "node-gone" && known.lastUse.node === back;
  const isBlind = known?.unused === false || isNodeBack;
  const isEnd = isBlind && (typeof unobservedEnd !== "object" || isPossible(unobservedEnd));
  return { ...fields, isNodeBack, ends: ends.filter(isPossible), unobservedEnd: isEnd ? unobservedEnd : undefined };
}

/** The status as the API server keeps it. */
function kept(status: ClaimStatus | undefined, known: Pick<ClaimFacts, "earliestMs">): ClaimStatus | undefined {
  return status && asRead(readClaimStatus({ uid: UID, ...writeClaimStatus(UID, status) }), known.earliestMs ?? 0);
}

/** What stands in the claim after the decision. */
function decided(known: ClaimFacts): ClaimStatus | undefined {
  return kept(desiredClaimStatus(known), known) ?? known.stored;
}

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { numRuns: 600, seed: 5_541 } : { numRuns: Number(hunt) };

function mountedVolumes(predicate: (known: Known) => void): void {
  fc.assert(fc.property(facts, predicate), RUNS);
}

describe("whatever the facts are", () => {
  it("deciding again on what was written changes nothing, now or later", () => {
    const later = fc.constantFrom(0, 1, 999, 3_600_000);
    fc.assert(
      fc.property(facts, later, (known, ms) => {
        let stored = decided(known);
        const again = (): ClaimStatus | undefined =>
          desiredClaimStatus({ ...known, ...withBack(known.back, { ...known, stored }), nowMs: NOW + ms });
        // Where another use has taken the place of one that is dated anew, that date is learnt first.
        if (known.redatedMs > 0) stored = kept(again(), known) ?? stored;
        const rest = again();

        expect(rest === undefined || isSameStatus(stored, rest), JSON.stringify({ stored, rest })).toBe(true);
      }),
      RUNS,
    );
  });

  it("the time of the condition never moves earlier, unless it was in the future", () => {
    mountedVolumes((known) => {
      const before = known.stored?.sinceMs ?? 0;
      const now = decided(known)?.sinceMs ?? before;

      if (before <= NOW + 5_000) expect(now).toBeGreaterThanOrEqual(before);
      else expect(now).toBeLessThanOrEqual(Math.max(before, NOW + 5_000));
    });
  });

  it("a claim with a holder or a pod that names it never counts as unused", () => {
    mountedVolumes((known) => {
      if (known.holders.length + known.references.length > 0) expect(decided(known)?.unused).toBe(false);
    });
  });

  it("the time since when it is unused is not before any end of use that is known", () => {
    mountedVolumes((known) => {
      const status = decided(known);
      if (status?.unused !== true) return;
      const before = known.stored?.lastUse?.releaseId;
      const { unobservedEnd } = known;
      for (const { id, byMs } of [...known.ends, ...(typeof unobservedEnd === "object" ? [unobservedEnd] : [])]) {
        if (id !== before) expect(status.sinceMs).toBeGreaterThanOrEqual(Math.min(byMs, NOW));
      }
    });
  });

  it("it never turns unused while a node has to answer", () => {
    mountedVolumes((known) => {
      if (known.pendingNodes.length > 0 && known.stored?.unused !== true)
        expect(decided(known)?.unused ?? false).toBe(false);
    });
  });

  it("what nobody may believe does not stay, unless a node may still answer in time", () => {
    mountedVolumes((known) => {
      const isSoon = known.pendingNodes.length > 0 && !known.pendingNodes.some(({ isSilent }) => isSilent);
      if (known.isDisbelieved && !isSoon) expect(decided(known)).toBeDefined();
    });
  });

  it("the last use is the latest that is known, once it is unused", () => {
    mountedVolumes((known) => {
      const status = decided(known);
      if (status?.unused !== true || known.pendingNodes.length > 0) return;
      const uses = known.ends.filter(({ wasUse, id }) => wasUse && id !== known.stored?.lastUse?.releaseId);
      for (const { byMs } of uses) expect(status.lastUse?.releasedAtMs).toBeGreaterThanOrEqual(Math.min(byMs, NOW));
    });
  });

  it("what is decided does not depend on the order of what is known", () => {
    mountedVolumes((known) => {
      const { holders, references, pendingNodes: nodes, ends } = known;
      const turned = {
        ...{ ...known, holders: holders.toReversed(), references: references.toReversed() },
        ...{ pendingNodes: nodes.toReversed(), ends: ends.toReversed() },
      };

      expect(desiredClaimStatus(turned)).toEqual(desiredClaimStatus(known));
    });
  });

  it("what is decided does not depend on what the stored message says", () => {
    mountedVolumes((known) => {
      const stored = known.stored && { ...known.stored, message: "Said in other words" };
      const [one, other] = [known, { ...known, stored }].map((each) => ({ ...desiredClaimStatus(each), message: "" }));

      expect(other).toEqual(one);
    });
  });

  it("what is written is read back whole, with annotations that fit and a message that is one", () => {
    mountedVolumes((known) => {
      const desired = desiredClaimStatus(known);
      if (desired === undefined) return;
      const { annotations } = writeClaimStatus(UID, desired);

      expect(isSameStatus(kept(desired, known), desired)).toBe(true);
      expect(findStrays(kept(desired, known), { annotations, managedFields: undefined })).toEqual([]);
      expect(desired.message).not.toMatch(/undefined|NaN|\s$/);
    });
  });
});
