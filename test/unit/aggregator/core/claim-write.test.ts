import { describe, expect, it } from "vitest";
import {
  type ClaimWrite,
  isSameStatus,
  type UpstreamPolicy,
  upstreamPolicy,
  writeFor,
} from "../../../../aggregator/core/claim-write.ts";
import { type Attempts, nextAttempts, restBefore } from "../../../../aggregator/core/write-back-off.ts";
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
      ["a first status: at once", {}, unused, status(unused)],
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
    ["of ours that says the same", "nothing", ours, "write", unused],
    ["of ours that says the same to the second", "nothing", { ...ours, sinceMs: NOON - 999 }, "write", unused],
    ["of ours that says otherwise", "all", { ...ours, unused: false }, "write", unused],
    ["of ours that tells another time", "all", { ...ours, sinceMs: NOON + 1_000 }, "write", unused],
    ["of ours that tells no time", "all", { ...ours, sinceMs: undefined }, "write", unused],
    ["of ours that is to go", "none", ours, "remove", unused],
    ["of another manager, never over that", "nothing", { ...theirs, unused: false }, "write", unused],
    ["of another manager, at a transition", "none", theirs, "write", mounted],
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
    ["milliseconds that rounding up to the second hides", true, { sinceMs: NOON - 999 }],
    ["that there are more nodes", false, { mountedOn: { nodes: one, more: true } }],
  ])("a change of %s is none: %s", (_, same, change) => {
    const stored = mountedStatus(one, { lastUse: lastUseWith() });

    expect(isSameStatus(stored, { ...stored, ...change })).toBe(same);
  });

  it.each([
    { name: "the begin of a gap by a millisecond", change: { fromMs: NOON - 1 }, same: false },
    { name: "the end of a gap by a millisecond", change: { toMs: NOON + 2 }, same: false },
  ])("a change of $name is none: $same", ({ change, same }) => {
    expect(isSameStatus({ ...unused, blindGap: gap }, { ...unused, blindGap: { ...gap, ...change } })).toBe(same);
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

const MINUTE = 60_000;

function attemptsWith(fields: Partial<Attempts> = {}): Attempts {
  return { outcome: "refused", times: 1, changes: 1, atMs: 0, retryAfterMs: 0, jitter: 0.5, ...fields };
}

describe("the wait before the same is written again", () => {
  it.each<{
    readonly name: string;
    readonly attempts?: Partial<Attempts>;
    readonly nowMs?: number;
    readonly hasChanged?: boolean;
    readonly restMs: number;
  }>([
    { name: "what was refused is tried again after a minute", restMs: MINUTE },
    { name: "later and later", attempts: { times: 3 }, restMs: 4 * MINUTE },
    { name: "but every ten minutes", attempts: { times: 99 }, restMs: 10 * MINUTE },
    { name: "at once when something has changed", hasChanged: true, restMs: 500 },
    { name: "not so quickly when it changes all the time", attempts: { changes: 5 }, hasChanged: true, restMs: 8_000 },
    { name: "but every ten minutes, too", attempts: { changes: 99 }, hasChanged: true, restMs: 10 * MINUTE },
    { name: "a write on an old state waits for the watch", attempts: { outcome: "stale" }, restMs: 10_000 },
    { name: "a moment when that shows a newer one", attempts: { outcome: "stale" }, hasChanged: true, restMs: 50 },
    { name: "at once after a day of repeats, too", attempts: { times: 150 }, hasChanged: true, restMs: 500 },
    { name: "ten seconds at last", attempts: { outcome: "stale", changes: 99 }, hasChanged: true, restMs: 10_000 },
    { name: "a failure of the server is tried again soon", attempts: { outcome: "failed" }, restMs: 500 },
    { name: "also where something has changed", attempts: { outcome: "failed" }, hasChanged: true, restMs: 500 },
    { name: "a lasting one once a minute", attempts: { outcome: "failed", times: 20 }, restMs: MINUTE },
    { name: "what others changed is put right at first", attempts: { outcome: "written" }, restMs: 1_000 },
    { name: "and once in ten minutes at last", attempts: { outcome: "written", times: 99 }, restMs: 10 * MINUTE },
    { name: "never sooner than asked", attempts: { outcome: "failed", retryAfterMs: 7_000 }, restMs: 7_000 },
    { name: "time that has passed counts", nowMs: MINUTE / 2, restMs: MINUTE / 2 },
    { name: "a wait that is over is over", nowMs: 3 * MINUTE, restMs: -2 * MINUTE },
    { name: "waits are spread: shorter", attempts: { jitter: 0 }, restMs: 0.75 * MINUTE },
    { name: "waits are spread: longer", attempts: { jitter: 1 }, restMs: 1.25 * MINUTE },
  ])("$name", ({ attempts = {}, nowMs = 0, hasChanged = false, restMs }) => {
    expect(restBefore(attemptsWith(attempts), nowMs, hasChanged)).toBe(restMs);
  });

  it.each([
    { name: "grows with the same outcome", next: {}, times: 5 },
    { name: "begins anew with another outcome", next: { outcome: "stale" as const }, times: 1 },
    { name: "goes on within twenty minutes", next: { atMs: 20 * MINUTE }, times: 5 },
    { name: "begins anew after them", next: { atMs: 20 * MINUTE + 1 }, times: 1 },
  ])("$name", ({ next, times }) => {
    expect(nextAttempts(attemptsWith({ times: 4 }), attemptsWith(next)).times).toBe(times);
  });

  it.each([
    { name: "a repeat", hasChanged: false, next: {}, changes: 2 },
    { name: "a change", hasChanged: true, next: {}, changes: 3 },
    { name: "another outcome", hasChanged: false, next: { outcome: "stale" as const }, changes: 1 },
  ])("counts the changes of the object: $name", ({ hasChanged, next, changes }) => {
    const known = attemptsWith({ times: 4, changes: 2 });

    expect(nextAttempts(known, attemptsWith(next), hasChanged).changes).toBe(changes);
  });
});
