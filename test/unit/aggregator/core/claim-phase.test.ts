import { describe, expect, it } from "vitest";
import {
  type BindingMode,
  bindLatency,
  claimPhaseSince,
  oldestPending,
  waitedForSince,
} from "../../../../aggregator/core/claims/binding.ts";
import type { Pod } from "../../../../aggregator/core/cluster-objects.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, podWith, volumeWith } from "../world.ts";

const DAY_MS = 86_400_000;
const CREATED = NOON - 10 * DAY_MS;

type Parts = Parameters<typeof claimPhaseSince>[1];
type Since = ReturnType<typeof claimPhaseSince>;
const created: Since = { ms: CREATED, from: "created" };
const ofApi: Since = { ms: NOON, from: "api" };
const seen: Since = { ms: NOON, from: "first-seen" };

describe("claimPhaseSince", () => {
  const volume = volumeWith();

  it.each<readonly [name: string, claim: Partial<Claim>, parts: Partial<Parts>, since: Since]>([
    ["a Pending claim is so since its creation", { phase: "Pending" }, {}, created],
    ["a Bound claim is so since its volume is", {}, { volume, volumeSince: ofApi }, ofApi],
    ["a Bound claim has the time at which its volume was first seen", {}, { volume, volumeSince: seen }, seen],
    [
      "a Bound claim takes no time from an earlier claim's volume",
      { uid: "claim-2" },
      { volume, volumeSince: ofApi },
      undefined,
    ],
    ["a Bound claim has no time where its volume is not known", {}, {}, undefined],
    ["a Lost claim is so at least since that was seen", { phase: "Lost" }, { firstSeenMs: NOON }, seen],
  ])("%s", (...[, claim, parts, since]) => {
    const none = { volume: undefined, volumeSince: undefined, firstSeenMs: undefined };

    expect(claimPhaseSince(claimWith({ createdAtMs: CREATED, ...claim }), { ...none, ...parts })).toEqual(since);
  });
});

/** So many minutes before noon. */
const ago = (minutes: number): number => NOON - minutes * 60_000;
const madeAgo = (minutes: number) => claimWith({ phase: "Pending", createdAtMs: ago(minutes) });
const claim = madeAgo(10);
const early = podWith({ createdAtMs: ago(3) });
const late = podWith({ createdAtMs: ago(1) });
const over = podWith({ createdAtMs: ago(10), isTerminal: true });
const WAITS = "WaitForFirstConsumer";

describe("a claim whose class waits for a consumer is waited for", () => {
  it.each<readonly [name: string, pods: readonly Pod[], sinceMs: number | undefined]>([
    ["since the first pod that names it", [late, early], ago(3)],
    ["by no pod where its pod is over", [over], undefined],
  ])("%s", (_, pods, sinceMs) => {
    expect(waitedForSince(claim, { bindingOf: () => WAITS, podsOf: () => pods })).toBe(sinceMs);
  });
});

describe("bindLatency", () => {
  const classless = { ...claim, storageClass: undefined };
  const fast = { storageClass: "fast", mode: WAITS, ms: 180_000 };
  const none = { storageClass: "", mode: "Immediate", ms: 600_000 };

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "from when the claim was waited for until it was seen bound", binding: { claim, mode: WAITS, pods: [early] }, latency: fast },
      { name: "of no class where the claim has none", binding: { claim: classless, mode: "Immediate", pods: [] }, latency: none },
      { name: "none of a claim that no pod names", binding: { claim, mode: WAITS, pods: [] }, latency: undefined },
    ] as const,
  )("is $name", ({ binding: { claim, mode, pods }, latency }) => {
    expect(bindLatency(claim, { bindingOf: () => mode, podsOf: () => pods }, NOON)).toEqual(latency);
  });
});

const MODES: Readonly<Record<string, BindingMode>> = { slow: WAITS, none: "Immediate" };

describe("oldestPending", () => {
  const lookup: Parameters<typeof oldestPending>[1] = {
    podsOf: (key) => (key === "shop/waited" ? [late] : []),
    bindingOf: (name = "none") => MODES[name],
  };
  const pending = (name: string, fields: Partial<Claim> = {}): Claim =>
    claimWith({ name, phase: "Pending", createdAtMs: ago(10), storageClass: undefined, ...fields });
  const [slow, odd] = [{ storageClass: "slow" }, { storageClass: "odd" }];
  const older = pending("b", { createdAtMs: ago(11) });

  it.each<readonly [name: string, claims: readonly Claim[], oldest: Readonly<Record<string, number>>]>([
    ["the oldest of those bound at once", [pending("a"), older], { Immediate: ago(11) }],
    ["no claim that waits for a consumer without a pod", [pending("a", slow)], {}],
    ["one of an unknown class, where a pod waits", [pending("waited", odd), pending("a", odd)], { unknown: ago(1) }],
  ])("gives %s", (_, claims, oldest) => {
    expect(Object.fromEntries(oldestPending(claims, lookup))).toEqual(oldest);
  });
});
