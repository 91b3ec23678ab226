import { describe, expect, it } from "vitest";
import {
  type ClaimWrite,
  isSameStatus,
  type UpstreamPolicy,
  upstreamPolicy,
  writeFor,
} from "../../../../aggregator/core/claim-write.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";

const unused = statusWith({ unused: true, reason: "Unmounted" });
const named = statusWith();
const mounted = mountedStatus(["n1"]);

/** Other managers' `unused-since` and `mounted-on`. */
const since = (fault: "wrong" | "unwanted") => ({ annotation: "mooring.dev/unused-since", managers: ["other"], fault });
const nodes = (fault: "wrong" | "unwanted") => ({ ...since(fault), annotation: "mooring.dev/mounted-on" });

function writeTo(claim: Partial<Claim>, desired: ClaimStatus | undefined, policy: UpstreamPolicy): ClaimWrite {
  return writeFor({ claim: claimWith(claim), isEligible: true, desired }, policy);
}

describe("what is written for a claim", () => {
  const nothing: ClaimWrite = { kind: "none" };
  const status = (to: ClaimStatus, how: object = {}) =>
    ({ kind: "apply", status: to, upstream: "none", isRepair: false, canWait: false, ...how }) as const;
  const clean = (...annotations: readonly string[]) => ({ kind: "clean", annotations }) as const;
  const [repair, wait] = [{ isRepair: true }, { canWait: true }];
  const [SINCE, NODES] = [since("wrong").annotation, nodes("wrong").annotation];

  it.each<readonly [name: string, claim: Partial<Claim>, desired: ClaimStatus | undefined, write: ClaimWrite]>(
    // biome-ignore format: a row is a line
    [
      ["at rest: nothing", { status: unused }, undefined, nothing],
      ["what stands there already: nothing", { status: unused }, { ...unused, sinceMs: NOON - 999 }, nothing],
      ["a first status: at once", {}, unused, status(unused)],
      ["another status: at once", { status: unused }, mounted, status(mounted)],
      ["a volume that is staged no longer: at once, as that may keep the claim", { status: { ...unused, staged: "on n1" } }, unused, status(unused)],
      ["another reason: it can wait", { status: named }, mounted, status(mounted, wait)],
      ["an annotation that is wrong: our own, whoever owns it", { status: unused, strays: [since("wrong")] }, undefined, status(unused, repair)],
      ["unwanted annotations: they are removed", { status: named, strays: [since("unwanted"), nodes("unwanted")] }, undefined, clean(SINCE, NODES)],
      ["one beside no condition, while nothing can be said yet: it is removed", { strays: [since("unwanted")] }, undefined, clean(SINCE)],
      ["a transition beside one: first that, which may be all", { status: named, strays: [since("unwanted")] }, unused, status(unused)],
      ["a wrong one beside one: first that", { status: unused, strays: [since("wrong"), nodes("unwanted")] }, undefined, status(unused, repair)],
    ],
  )("is for %s", (...[, claim, desired, write]) => {
    expect(writeTo(claim, desired, "remove")).toEqual(write);
  });

  it("is nothing while it is not bound or goes, whatever there would be to do", () => {
    const claim = claimWith({ status: unused, strays: [since("unwanted")] });

    expect(writeFor({ claim, isEligible: false, desired: mounted }, "remove")).toEqual(nothing);
  });
});

describe("Kubernetes' own condition", () => {
  const ours = { unused: true, sinceMs: NOON, owner: "mooring" } as const;
  const theirs = { ...ours, owner: "other" } as const;
  const shared = { ...ours, owner: "shared" } as const;
  type Upstream = Claim["upstream"];
  type Row = readonly [name: string, writes: string, known: Upstream, policy: UpstreamPolicy, desired: ClaimStatus];

  it.each<Row>([
    ["that nobody has written", "all", undefined, "write", unused],
    ["that nobody has written, and we may not", "nothing", undefined, "remove", unused],
    ["that nobody has written, and it is not known whether we may", "nothing", undefined, "leave", unused],
    ["of ours that says the same", "nothing", ours, "write", unused],
    ["of ours that says the same to the second", "nothing", { ...ours, sinceMs: NOON - 999 }, "write", unused],
    ["of ours that says otherwise", "all", { ...ours, unused: false }, "write", unused],
    ["of ours that tells another time", "all", { ...ours, sinceMs: NOON + 1_000 }, "write", unused],
    ["of ours that tells no time", "all", { ...ours, sinceMs: undefined }, "write", unused],
    ["of ours that is to go", "none", ours, "remove", unused],
    ["of ours that stays in step while it is not known whether we may", "all", ours, "leave", mounted],
    ["of another manager, never over that", "nothing", { ...theirs, unused: false }, "write", unused],
    ["of another manager, at a transition", "none", theirs, "write", mounted],
    ["of another manager, which stays", "nothing", theirs, "remove", unused],
    ["of ours that another manager has written into", "nothing", shared, "write", unused],
    ["of ours that another has written into, at a transition", "key", shared, "remove", mounted],
  ])("%s: what is written is %s", (...[, writes, upstream, policy, desired]) => {
    const write = writeTo({ status: unused, upstream }, desired, policy);

    const applied = { kind: "apply", status: desired, upstream: writes, isRepair: false, canWait: false };
    expect(write).toEqual(writes === "nothing" ? { kind: "none" } : applied);
  });

  it("of a claim without a status is not written", () => {
    expect(writeTo({}, undefined, "write")).toEqual({ kind: "none" });
  });
});

describe("isSameStatus", () => {
  const [one, gap] = [["n1"], { fromMs: NOON, toMs: NOON + 1 }];
  it.each<readonly [name: string, same: boolean, change: Partial<ClaimStatus>]>([
    ["nothing", true, {}],
    ["milliseconds that rounding up to the second hides", true, { sinceMs: NOON - 999 }],
    ["the next second", false, { sinceMs: NOON + 1 }],
    ["the status", false, { unused: true }],
    ["the reason", false, { reason: "Referenced" }],
    ["the message", false, { message: "other" }],
    ["the unmount record of the last use", false, { lastUse: lastUseWith({ releaseId: "other" }) }],
    ["the same unmount record dated anew", true, { lastUse: lastUseWith({ releasedAtMs: NOON }) }],
    ["that there is no last use", false, { lastUse: undefined }],
    ["a further node", false, { mountedOn: { nodes: ["n1", "n2"], more: false } }],
    ["that there are more nodes", false, { mountedOn: { nodes: one, more: true } }],
    ["that no node is known", false, { mountedOn: undefined }],
    ["an unobserved time", false, { blindGap: gap }],
    ["where it is staged", false, { staged: "on n1" }],
  ])("a change of %s is none: %s", (_, same, change) => {
    const stored = mountedStatus(one, { lastUse: lastUseWith() });

    expect(isSameStatus(stored, { ...stored, ...change })).toBe(same);
  });

  it.each([
    { name: "the begin of a gap within a millisecond", change: { fromMs: NOON + 0.5 }, same: true },
    { name: "the end of a gap within a millisecond", change: { toMs: NOON + 0.5 }, same: true },
    { name: "the begin of a gap by a millisecond", change: { fromMs: NOON - 1 }, same: false },
    { name: "the end of a gap by a millisecond", change: { toMs: NOON + 2 }, same: false },
  ])("a change of $name is none: $same", ({ change, same }) => {
    expect(isSameStatus({ ...unused, blindGap: gap }, { ...unused, blindGap: { ...gap, ...change } })).toBe(same);
  });

  it("says of an unused claim nothing for its message: that follows from the rest", () => {
    expect([isSameStatus(unused, { ...unused, message: "other" }), isSameStatus(undefined, unused)]).toEqual([
      true,
      false,
    ]);
  });
});

describe("upstreamPolicy", () => {
  it.each([
    { setting: "auto", version: { major: 1, minor: 35 }, policy: "write" },
    { setting: "auto", version: { major: 1, minor: 36 }, policy: "remove" },
    { setting: "auto", version: { major: 1, minor: 37 }, policy: "remove" },
    { setting: "auto", version: { major: 2, minor: 0 }, policy: "remove" },
    { setting: "auto", version: { major: 0, minor: 99 }, policy: "write" },
    { setting: "auto", version: undefined, policy: "leave" },
    { setting: "never", version: { major: 1, minor: 35 }, policy: "remove" },
    { setting: "never", version: undefined, policy: "remove" },
    { setting: "always", version: { major: 1, minor: 37 }, policy: "write" },
    { setting: "always", version: undefined, policy: "write" },
  ] as const)("$setting on $version: $policy", ({ setting, version, policy }) => {
    expect(upstreamPolicy(setting, version)).toBe(policy);
  });
});
