import { describe, expect, it } from "vitest";
import {
  type ClaimWrite,
  isSameStatus,
  type UpstreamPolicy,
  upstreamPolicy,
  writeFor,
} from "../../../../aggregator/core/claims/write.ts";
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
  const status = (to: ClaimStatus, how: object = {}) =>
    ({ kind: "apply", status: to, upstream: "none", isNews: true, canWait: false, ...how }) as const;
  const clean = (...annotations: readonly string[]) => ({ kind: "clean", annotations }) as const;
  const [repair, wait] = [{ isNews: false }, { canWait: true }];
  const [SINCE, NODES] = [since("wrong").annotation, nodes("wrong").annotation];

  it.each<readonly [name: string, claim: Partial<Claim>, desired: ClaimStatus | undefined, write: ClaimWrite]>(
    // biome-ignore format: a row is a line
    [
      ["a first status: at once", {}, unused, status(unused)],
      ["another reason: it can wait", { status: named }, mounted, status(mounted, wait)],
      ["unwanted annotations: they are removed", { status: named, strays: [since("unwanted"), nodes("unwanted")] }, undefined, clean(SINCE, NODES)],
      ["one beside no condition, while nothing can be said yet: it is removed", { strays: [since("unwanted")] }, undefined, clean(SINCE)],
      ["a transition beside one: first that, which may be all", { status: named, strays: [since("unwanted")] }, unused, status(unused)],
      ["a wrong one beside one: first that", { status: unused, strays: [since("wrong"), nodes("unwanted")] }, undefined, status(unused, repair)],
    ],
  )("is for %s", (...[, claim, desired, write]) => {
    expect(writeTo(claim, desired, "remove")).toEqual(write);
  });

  it("is nothing while the claim is not Bound", () => {
    const claim = claimWith({ status: unused, strays: [since("unwanted")] });

    expect(writeFor({ claim, isEligible: false, desired: mounted }, "remove")).toEqual({ kind: "none" });
  });
});

describe("Kubernetes' own condition", () => {
  const ours = { unused: true, sinceMs: NOON, owner: "mooring" } as const;
  const theirs = { ...ours, owner: "other" } as const;
  const shared = { ...ours, owner: "shared" } as const;
  type Upstream = Claim["upstream"];
  type Row = readonly [name: string, writes: string, known: Upstream, policy: UpstreamPolicy, desired: ClaimStatus];

  it.each<Row>([
    ["that no client has written", "all", undefined, "write", unused],
    ["of ours that says the same to the second", "nothing", { ...ours, sinceMs: NOON - 999 }, "write", unused],
    ["of ours with another time", "all", { ...ours, sinceMs: NOON + 1_000 }, "write", unused],
    ["of ours without a time", "all", { ...ours, sinceMs: undefined }, "write", unused],
    ["of ours that is to go", "none", ours, "remove", unused],
    ["of another manager, never over that", "nothing", { ...theirs, unused: false }, "write", unused],
    ["of another manager, at a transition", "none", theirs, "write", mounted],
    ["of ours that another has written into, at a transition", "key", shared, "remove", mounted],
  ])("%s: what is written is %s", (...[, writes, upstream, policy, desired]) => {
    const write = writeTo({ status: unused, upstream }, desired, policy);

    const isNews = desired !== unused;
    const applied = { kind: "apply", status: desired, upstream: writes, isNews, canWait: false };
    expect(write).toEqual(writes === "nothing" ? { kind: "none" } : applied);
  });
});

describe("isSameStatus", () => {
  const gap = { fromMs: NOON, toMs: NOON + 1 };
  it.each<readonly [name: string, same: boolean, change: Partial<ClaimStatus>]>([
    ["milliseconds that rounding up to the second hides", true, { sinceMs: NOON - 999 }],
    ["that there are more nodes", false, { mountedOn: { nodes: ["n1"], more: true } }],
    ["the begin of a gap by a millisecond", false, { gap: { ...gap, fromMs: NOON - 1 } }],
    ["the end of a gap by a millisecond", false, { gap: { ...gap, toMs: NOON + 2 } }],
  ])("a change of %s leaves the status the same: %s", (_, same, change) => {
    const stored = mountedStatus(["n1"], { lastUse: lastUseWith(), gap });

    expect(isSameStatus(stored, { ...stored, ...change })).toBe(same);
  });
});

describe("upstreamPolicy", () => {
  it.each([
    { setting: "auto", version: { major: 1, minor: 35 }, policy: "write" },
    { setting: "auto", version: { major: 1, minor: 36 }, policy: "remove" },
    { setting: "auto", version: { major: 2, minor: 0 }, policy: "remove" },
    { setting: "auto", version: { major: 0, minor: 99 }, policy: "write" },
    { setting: "auto", version: undefined, policy: "leave" },
    { setting: "never", version: undefined, policy: "remove" },
    { setting: "always", version: undefined, policy: "write" },
  ] as const)("$setting on $version: $policy", ({ setting, version, policy }) => {
    expect(upstreamPolicy(setting, version)).toBe(policy);
  });
});
