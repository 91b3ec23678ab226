import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UseEnd } from "../../../../aggregator/core/claims/use-end.ts";
import { isSameStatus } from "../../../../aggregator/core/claims/write.ts";
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
  .map(({ kind, id, wasUse, ...rest }) => {
    const isVisit = kind.evidence === "pod-status" && !wasUse;
    return { ...rest, ...kind, id: `end-${id}`, podUid: "uid", wasUse: !isVisit };
  });

const lastUse: fc.Arbitrary<LastUse> = fc
  .record({ kind: kinds, byMs: forged.map(Math.ceil), widthMs: width, node, pod, id: fc.nat(20) })
  .map(({ kind, id, ...rest }) => ({ ...rest, id: `end-${id}`, podUid: "uid", evidence: kind.evidence }));

const stored: fc.Arbitrary<ClaimStatus> = fc
  .record({
    reason: fc.constantFrom("Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"),
    sinceMs: forged.map((ms) => Math.ceil(ms / 1000) * 1000),
    lastUse: fc.option(lastUse, { nil: undefined }),
    nodes: fc.uniqueArray(node, { minLength: 1 }),
    more: fc.boolean(),
    gapMs: fc.option(fc.integer({ min: 1_000, max: 9_000_000 }), { nil: undefined }),
  })
  .map(({ nodes, more, gapMs, ...rest }) => {
    const unused = rest.reason !== "Mounted" && rest.reason !== "Referenced";
    const [fromMs, toMs] = [rest.sinceMs - (gapMs ?? 0), rest.sinceMs - ((gapMs ?? 0) % 1_000)];
    const gap = unused && fromMs < toMs && toMs <= NOW ? { fromMs, toMs } : undefined;
    const mountedOn = rest.reason === "Mounted" ? { nodes, more } : undefined;
    const use = rest.reason === "NeverObservedInUse" ? undefined : rest.lastUse;
    return { ...rest, message: "", unused, mountedOn, gap, lastUse: use };
  });

/** A time that went unobserved; it is over. */
const unseenTime = fc
  .record({ byMs: past, lastsMs: fc.nat(9_000), isBefore: fc.boolean(), since: fc.option(past, { nil: undefined }) })
  .map(({ byMs, lastsMs, isBefore, since }) => {
    const toMs = Math.min(byMs, NOW);
    return { fromMs: toMs - lastsMs, toMs, isBefore, datedBeforeMs: since };
  });

const pendingNodes = fc.record({
  node,
  isSilent: fc.boolean(),
  why: fc.constantFrom("pod-ended" as const, "was-mounted" as const, "attached" as const, undefined),
  pod: fc.constantFrom("shop/a", undefined),
});

/** When the claim was made, by a clock that may be ahead. */
const created = fc.oneof(past, fc.constant(NOW + 60_000)).map((ms) => Math.floor(ms / 1000) * 1000);

/** What is known, and a node that has come back if it was gone. */
type Known = ReturnType<typeof factsWith> & { readonly back: string; readonly redatedMs: number };

/** Facts that can be: an end has one date, and no end is assumed of a node that is back. */
const facts: fc.Arbitrary<Known> = fc
  .record({
    stored: fc.option(stored, { nil: undefined }),
    usedOn: fc.uniqueArray(node, { maxLength: 2 }),
    references: fc.uniqueArray(fc.constantFrom("shop/a", "shop/b"), { maxLength: 2 }),
    pendingNodes: fc.array(pendingNodes, { maxLength: 3 }),
    ends: fc.uniqueArray(end, { maxLength: 5, selector: ({ id }) => id }),
    isEndUnknown: fc.boolean(),
    unobserved: fc.record({ times: fc.array(unseenTime, { maxLength: 3 }) }),
    rest: fc.boolean(),
    back: node,
    redatedMs: fc.constantFrom(0, 0, 0, 1, 700, 9_000),
    createdAtMs: fc.option(created, { nil: undefined }),
  })
  .map(({ back, rest, redatedMs, createdAtMs, ...known }) => {
    const earliestMs = earliestSinceMs({ createdAtMs });
    const read = asRead(known.stored, earliestMs);
    const hasInvalidCondition = known.stored !== undefined && read === undefined;
    const fields = { ...known, earliestMs, stored: read, hasInvalidCondition };
    const ends = fields.ends.map((one) => asStored(one, fields.stored?.lastUse, redatedMs));
    const present = rest ? { usedOn: [], references: [] } : {};
    return { ...factsWith(withBack(back, { ...fields, ends, ...present })), back, redatedMs };
  });

/** What is from before the claim was made is none. */
function asRead(status: ClaimStatus | undefined, earliestMs: number): ClaimStatus | undefined {
  return status !== undefined && status.sinceMs < earliestMs ? undefined : status;
}

/** The end that is stored as the last use is that use, perhaps dated anew by a later receipt. */
function asStored(one: UseEnd, use: LastUse | undefined, redatedMs: number): UseEnd {
  if (use?.id !== one.id) return one;
  return { ...one, byMs: Math.min(use.byMs, NOW) + redatedMs, wasUse: true };
}

function withBack(back: string, fields: Partial<Known>): Partial<Known> {
  const { stored: known, ends = [], isEndUnknown = false } = fields;
  const isPossible = (one: UseEnd): boolean => one.evidence !== "node-gone" || one.node !== back;
  const isNodeBack = known?.lastUse?.evidence === "node-gone" && known.lastUse.node === back;
  const mayEndUnobserved = known?.unused === false || isNodeBack;
  return { ...fields, isNodeBack, ends: ends.filter(isPossible), isEndUnknown: isEndUnknown && mayEndUnobserved };
}

/** The status as the API server keeps it. */
function kept(status: ClaimStatus | undefined, known: Pick<Known, "earliestMs">): ClaimStatus | undefined {
  return status && asRead(readClaimStatus({ uid: UID, ...writeClaimStatus(UID, status) }), known.earliestMs ?? 0);
}

/** The status that the claim stores after the decision. */
function decided(known: Known): ClaimStatus | undefined {
  return kept(desiredClaimStatus(known), known) ?? known.stored;
}

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { numRuns: 600, seed: 5_541 } : { numRuns: Number(hunt) };

/** A check of the facts and of the status that the claim stores after the decision. */
type Property = (known: Known, status: ClaimStatus | undefined) => void;

const neverEarlier: Property = ({ stored: before }, status) => {
  const beforeMs = before?.sinceMs ?? 0;
  const sinceMs = status?.sinceMs ?? beforeMs;

  if (beforeMs <= NOW + 5_000) expect(sinceMs).toBeGreaterThanOrEqual(beforeMs);
  else expect(sinceMs).toBeLessThanOrEqual(Math.max(beforeMs, NOW + 5_000));
};

const unusedOnlyWithoutUser: Property = ({ usedOn, references, pendingNodes: asked, stored: before }, status) => {
  const mayBeUsed = asked.length > 0 && before?.unused !== true;
  if (mayBeUsed || usedOn.length + references.length > 0) expect(status?.unused ?? false).toBe(false);
};

const believable: Property = ({ pendingNodes: asked, hasInvalidCondition }, status) => {
  const isSoon = asked.length > 0 && !asked.some(({ isSilent }) => isSilent);
  if (hasInvalidCondition && !isSoon) expect(status).toBeDefined();
};

const afterEachEnd: Property = ({ ends, unobserved, pendingNodes: asked, ...known }, status) => {
  if (status?.unused !== true) return;
  const fresh = ends.filter(({ id }) => id !== known.stored?.lastUse?.id);
  for (const { byMs } of fresh) expect(status.sinceMs).toBeGreaterThanOrEqual(Math.min(byMs, NOW));
  if (asked.length > 0) return;
  // What ended before the claim was made is dated at its creation, as is what is stored.
  const uses = fresh.filter((one) => one.wasUse && one.byMs >= (known.earliestMs ?? 0));
  for (const { byMs } of uses) expect(status.lastUse?.byMs).toBeGreaterThanOrEqual(Math.min(byMs, NOW));
  const unseen = unobserved?.times.filter(({ isBefore, datedBeforeMs }) => !isBefore && datedBeforeMs === undefined);
  for (const { toMs } of unseen ?? []) expect(status.sinceMs).toBeGreaterThanOrEqual(toMs);
};

const inAnyOrder: Property = (known) => {
  const { usedOn, references, pendingNodes: asked, ends } = known;
  const turned = {
    ...{ ...known, usedOn: usedOn.toReversed(), references: references.toReversed() },
    ...{ pendingNodes: asked.toReversed(), ends: ends.toReversed() },
  };

  expect(desiredClaimStatus(turned)).toEqual(desiredClaimStatus(known));
};

const whateverItSays: Property = (known) => {
  const before = known.stored && { ...known.stored, message: "Said in other words" };
  const decide = (one: Known) => ({ ...desiredClaimStatus(factsWith(one)), message: "" });

  expect(decide({ ...known, stored: before })).toEqual(decide(known));
};

const readBackWhole: Property = (known) => {
  const desired = desiredClaimStatus(known);
  if (desired === undefined) return;
  const { annotations } = writeClaimStatus(UID, desired);

  expect(isSameStatus(kept(desired, known), desired)).toBe(true);
  expect(findStrays(kept(desired, known), { annotations, managedFields: undefined })).toEqual([]);
  expect(desired.message).not.toMatch(/undefined|NaN|\s$|unobserved.*unobserved/);
};

describe("whatever the facts are", () => {
  it.each<readonly [promise: string, check: Property]>([
    ["the time of the condition never moves earlier, unless it was in the future", neverEarlier],
    ["a claim that a node or a pod has, or may have, does not turn unused", unusedOnlyWithoutUser],
    ["an invalid condition does not stay, unless a node may still answer in time", believable],
    ["it is unused, and was last used, not before any end or unobserved time that is known", afterEachEnd],
    ["what is decided does not depend on the order of what is known", inAnyOrder],
    ["what is decided does not depend on what the stored message says", whateverItSays],
    ["what is written is read back whole, with annotations that fit and a message that is one", readBackWhole],
  ])("%s", (_, check) => {
    fc.assert(
      fc.property(facts, (known) => check(known, decided(known))),
      RUNS,
    );
  });

  it("deciding again on what was written changes nothing, now or later", () => {
    const later = fc.constantFrom(0, 1, 999, 3_600_000);
    fc.assert(
      fc.property(facts, later, (known, ms) => {
        let status = decided(known);
        const again = (): ClaimStatus | undefined =>
          desiredClaimStatus(factsWith({ ...withBack(known.back, { ...known, stored: status }), nowMs: NOW + ms }));
        // Where another use has taken the place of one that is dated anew, that date is learnt first.
        if (known.redatedMs > 0) status = kept(again(), known) ?? status;
        const rest = again();

        expect(rest === undefined || isSameStatus(status, rest), JSON.stringify({ status, rest })).toBe(true);
      }),
      RUNS,
    );
  });
});
