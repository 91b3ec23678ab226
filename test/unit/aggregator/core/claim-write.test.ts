import { describe, expect, it } from "vitest";
import {
  type ClaimWrite,
  type DesiredClaim,
  isReasonOnlyChange,
  isSameStatus,
  type UpstreamPolicy,
  writeFor,
} from "../../../../aggregator/core/claim-write.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import type { UpstreamShare } from "../../../../common/storage/upstream-unused.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";

const unused = statusWith({ unused: true, reason: "Unmounted" });
const mounted = mountedStatus(["n1"]);
const SINCE = { annotation: "mooring.dev/unused-since", managers: ["other"] };
const NODES = { annotation: "mooring.dev/mounted-on", managers: ["other"] };

function decisionWith(claim: Partial<Claim>, fields: Partial<DesiredClaim> = {}): DesiredClaim {
  return { claim: claimWith(claim), isEligible: true, desired: undefined, ...fields };
}

describe("what is written for a claim", () => {
  it.each<{
    readonly name: string;
    readonly decision: DesiredClaim;
    readonly write: Partial<Extract<ClaimWrite, { kind: "apply" }>> | ClaimWrite;
  }>([
    { name: "at rest: nothing", decision: decisionWith({ status: unused }), write: { kind: "none" } },
    {
      name: "what stands there already: nothing",
      decision: decisionWith({ status: unused }, { desired: { ...unused, sinceMs: NOON - 999 } }),
      write: { kind: "none" },
    },
    {
      name: "a claim that is not bound, or is being deleted: nothing, whatever there would be to do",
      decision: decisionWith(
        { status: unused, strays: [{ ...SINCE, fault: "unwanted" }] },
        { isEligible: false, desired: mounted },
      ),
      write: { kind: "none" },
    },
    {
      name: "a first status: at once",
      decision: decisionWith({}, { desired: unused }),
      write: { kind: "apply", status: unused, upstream: "none", isRepair: false, canWait: false },
    },
    {
      name: "another status: at once",
      decision: decisionWith({ status: unused }, { desired: mounted }),
      write: { kind: "apply", status: mounted, isRepair: false, canWait: false },
    },
    {
      name: "a volume that is staged no longer: at once, as it may keep a claim that is being deleted",
      decision: decisionWith({ status: { ...unused, staged: "on n1" } }, { desired: unused }),
      write: { kind: "apply", status: unused, isRepair: false, canWait: false },
    },
    {
      name: "another reason: it can wait",
      decision: decisionWith({ status: statusWith() }, { desired: mounted }),
      write: { kind: "apply", status: mounted, isRepair: false, canWait: true },
    },
    {
      name: "an annotation that says something else: our own again, over whoever owns it",
      decision: decisionWith({ status: unused, strays: [{ ...SINCE, fault: "wrong" }] }),
      write: { kind: "apply", status: unused, isRepair: true, canWait: false },
    },
    {
      name: "annotations that are not to be there: they are removed, and nothing else changes",
      decision: decisionWith({
        status: statusWith(),
        strays: [
          { ...SINCE, fault: "unwanted" },
          { ...NODES, fault: "unwanted" },
        ],
      }),
      write: { kind: "clean", annotations: [SINCE.annotation, NODES.annotation] },
    },
    {
      name: "annotations beside no condition, while nothing can be said yet: they are removed",
      decision: decisionWith({ strays: [{ ...SINCE, fault: "unwanted" }] }),
      write: { kind: "clean", annotations: [SINCE.annotation] },
    },
    {
      name: "a transition beside them: first the transition, which may be all that is needed",
      decision: decisionWith({ status: statusWith(), strays: [{ ...SINCE, fault: "unwanted" }] }, { desired: unused }),
      write: { kind: "apply", status: unused, isRepair: false },
    },
    {
      name: "one that is wrong beside one that is not to be there: first the wrong one",
      decision: decisionWith({
        status: unused,
        strays: [
          { ...SINCE, fault: "wrong" },
          { ...NODES, fault: "unwanted" },
        ],
      }),
      write: { kind: "apply", status: unused, isRepair: true },
    },
  ])("$name", ({ decision, write }) => {
    expect(writeFor(decision, "remove")).toMatchObject(write);
  });

  const ours = { unused: true, sinceMs: NOON, owner: "mooring" } as const;
  const theirs = { unused: true, sinceMs: NOON, owner: "other" } as const;

  it.each<{
    readonly name: string;
    readonly claim: Partial<Claim>;
    readonly policy: UpstreamPolicy;
    readonly desired?: ClaimStatus;
    readonly writes: UpstreamShare | "nothing";
  }>([
    { name: "nobody has written it", claim: {}, policy: "write", writes: "all" },
    { name: "nobody has written it, and we may not", claim: {}, policy: "remove", writes: "nothing" },
    { name: "nobody has written it, and whether we may is not known", claim: {}, policy: "leave", writes: "nothing" },
    { name: "ours says the same", claim: { upstream: ours }, policy: "write", writes: "nothing" },
    {
      name: "ours says the same to the second",
      claim: { upstream: { ...ours, sinceMs: NOON - 999 } },
      policy: "write",
      writes: "nothing",
    },
    { name: "ours says otherwise", claim: { upstream: { ...ours, unused: false } }, policy: "write", writes: "all" },
    {
      name: "ours tells another time",
      claim: { upstream: { ...ours, sinceMs: NOON + 1_000 } },
      policy: "write",
      writes: "all",
    },
    {
      name: "ours tells no time",
      claim: { upstream: { ...ours, sinceMs: undefined } },
      policy: "write",
      writes: "all",
    },
    { name: "ours is to go", claim: { upstream: ours }, policy: "remove", writes: "none" },
    {
      name: "ours stays in step while it is not known whether we may",
      claim: { upstream: ours },
      policy: "leave",
      desired: mounted,
      writes: "all",
    },
    {
      name: "another manager's is never written over",
      claim: { upstream: { ...theirs, unused: false } },
      policy: "write",
      writes: "nothing",
    },
    {
      name: "another manager's is left out of a transition",
      claim: { upstream: theirs },
      policy: "write",
      desired: mounted,
      writes: "none",
    },
    {
      name: "another manager has written into ours",
      claim: { upstream: { ...theirs, owner: "shared" } },
      policy: "write",
      writes: "nothing",
    },
    {
      name: "another manager has written into ours, and there is a transition",
      claim: { upstream: { ...theirs, owner: "shared" } },
      policy: "remove",
      desired: mounted,
      writes: "key",
    },
    { name: "another manager's stays", claim: { upstream: theirs }, policy: "remove", writes: "nothing" },
    {
      name: "a claim without a status gets none",
      claim: { status: undefined },
      policy: "write",
      writes: "nothing",
    },
  ])("Kubernetes' own condition, when $name: $writes", ({ claim, policy, desired, writes }) => {
    const write = writeFor(decisionWith({ status: unused, ...claim }, { desired }), policy);

    expect(write).toMatchObject(
      writes === "nothing" ? { kind: "none" } : { kind: "apply", status: desired ?? unused, upstream: writes },
    );
  });
});

describe("isSameStatus", () => {
  it.each<{ readonly name: string; readonly change: Partial<ClaimStatus>; readonly same: boolean }>([
    { name: "nothing", change: {}, same: true },
    { name: "milliseconds that rounding up to the second hides", change: { sinceMs: NOON - 999 }, same: true },
    { name: "the next second", change: { sinceMs: NOON + 1 }, same: false },
    { name: "the status", change: { unused: true }, same: false },
    { name: "the reason", change: { reason: "Referenced" }, same: false },
    { name: "the message", change: { message: "other" }, same: false },
    {
      name: "the unmount record of the last use",
      change: { lastUse: lastUseWith({ releaseId: "other" }) },
      same: false,
    },
    {
      name: "the same unmount record dated anew",
      change: { lastUse: lastUseWith({ releasedAtMs: NOON }) },
      same: true,
    },
    { name: "a further node", change: { mountedOn: { nodes: ["n1", "n2"], more: false } }, same: false },
    { name: "that there are more nodes", change: { mountedOn: { nodes: ["n1"], more: true } }, same: false },
  ])("a change of $name: same is $same", ({ change, same }) => {
    const stored = mountedStatus(["n1"], { lastUse: lastUseWith() });

    expect(isSameStatus(stored, { ...stored, ...change })).toBe(same);
  });

  it("nothing stored is never the same", () => {
    expect(isSameStatus(undefined, statusWith())).toBe(false);
  });
});

describe("isReasonOnlyChange", () => {
  it.each([
    { name: "the first status", stored: undefined, desired: statusWith(), only: false },
    { name: "used to used", stored: statusWith(), desired: mountedStatus(["n1"]), only: true },
    { name: "used to unused", stored: statusWith(), desired: unused, only: false },
    { name: "unused to used", stored: unused, desired: statusWith(), only: false },
    { name: "unused to unused", stored: unused, desired: unused, only: false },
  ])("$name: $only", ({ stored, desired, only }) => {
    expect(isReasonOnlyChange(stored, desired)).toBe(only);
  });
});
