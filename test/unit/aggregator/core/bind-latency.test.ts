import { describe, expect, it } from "vitest";
import {
  type Binding,
  type BindingMode,
  bindLatency,
  waitedForSince,
} from "../../../../aggregator/core/bind-latency.ts";
import { oldestPending } from "../../../../aggregator/core/pending-claims.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, podWith } from "../world.ts";

const MINUTE_MS = 60_000;
const CREATED = NOON - 10 * MINUTE_MS;
const claim = claimWith({ phase: "Pending", createdAtMs: CREATED });
const early = podWith({ createdAtMs: NOON - 3 * MINUTE_MS });
const late = podWith({ createdAtMs: NOON - MINUTE_MS });

const WAITS: readonly (Binding & { readonly name: string; readonly sinceMs: number | undefined })[] = [
  { name: "bound at once: since its creation", claim, mode: "Immediate", pods: [late], sinceMs: CREATED },
  {
    name: "of a class that waits: since the first pod that names it",
    claim,
    mode: "WaitForFirstConsumer",
    pods: [late, early],
    sinceMs: NOON - 3 * MINUTE_MS,
  },
  {
    name: "of a class that waits, made after its pod: since its creation",
    claim: claimWith({ createdAtMs: NOON - 2 * MINUTE_MS }),
    mode: "WaitForFirstConsumer",
    pods: [early],
    sinceMs: NOON - 2 * MINUTE_MS,
  },
  {
    name: "of a class that waits, without a pod: nobody does",
    claim,
    mode: "WaitForFirstConsumer",
    pods: [],
    sinceMs: undefined,
  },
  {
    name: "of a class that waits, with a pod that is over: nobody does",
    claim,
    mode: "WaitForFirstConsumer",
    pods: [podWith({ createdAtMs: CREATED, isTerminal: true })],
    sinceMs: undefined,
  },
  {
    name: "of a class that nobody knows: with a pod alone",
    claim,
    mode: undefined,
    pods: [late],
    sinceMs: NOON - MINUTE_MS,
  },
  {
    name: "without a creation: not known",
    claim: claimWith({ createdAtMs: undefined }),
    mode: "Immediate",
    pods: [],
    sinceMs: undefined,
  },
];

describe("a claim is waited for", () => {
  it.each(WAITS)("$name", ({ sinceMs, ...binding }) => {
    expect(waitedForSince(binding)).toBe(sinceMs);
  });
});

describe("bindLatency", () => {
  it("is from when the claim was waited for until it was seen bound", () => {
    const binding = { claim, mode: "WaitForFirstConsumer", pods: [early] } as const;

    expect(bindLatency(binding, NOON)).toEqual({
      ...{ storageClass: "fast", mode: "WaitForFirstConsumer", ms: 3 * MINUTE_MS },
    });
  });

  it("of a claim without a class has none", () => {
    const binding = { claim: { ...claim, storageClass: undefined }, mode: "Immediate", pods: [] } as const;

    expect(bindLatency(binding, NOON)).toMatchObject({ storageClass: "" });
  });

  it.each([
    { name: "whose class is not known", mode: undefined },
    { name: "that no pod names", mode: "WaitForFirstConsumer" as const },
  ])("is not told of a claim $name", ({ mode }) => {
    expect(bindLatency({ claim, mode, pods: [] }, NOON)).toBeUndefined();
  });
});

const MODES: Readonly<Record<string, BindingMode>> = { slow: "WaitForFirstConsumer", none: "Immediate" };

describe("oldestPending", () => {
  const sourcesOf = (claims: readonly Claim[]): Parameters<typeof oldestPending>[0] => ({
    pending: claims.map(({ key }) => key),
    claim: (key) => claims.find((one) => one.key === key),
    podsOf: (key) => (key === "shop/waited" ? [late] : []),
    bindingOf: (name = "none") => MODES[name],
  });
  const pending = (name: string, fields: Partial<Claim> = {}): Claim =>
    claimWith({ name, phase: "Pending", createdAtMs: CREATED, storageClass: undefined, ...fields });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "nothing without any", claims: [], oldest: {} },
      {
        name: "the oldest of those bound at once",
        claims: [pending("a"), pending("b", { createdAtMs: CREATED - 1_000 })],
        oldest: { Immediate: CREATED - 1_000 },
      },
      { name: "no claim that waits for a consumer that nobody made", claims: [pending("a", { storageClass: "slow" })], oldest: {} },
      {
        name: "one that a pod waits for, since the pod",
        claims: [pending("waited", { storageClass: "slow" })],
        oldest: { WaitForFirstConsumer: NOON - MINUTE_MS },
      },
      {
        name: "one of a class that is not known, where a pod waits",
        claims: [pending("waited", { storageClass: "odd" }), pending("a", { storageClass: "odd" })],
        oldest: { unknown: NOON - MINUTE_MS },
      },
      { name: "none that is being deleted", claims: [pending("a", { isDeleting: true })], oldest: {} },
      { name: "none that is gone by now", claims: [], gone: ["shop/a"], oldest: {} },
    ],
  )("tells $name", ({ claims, gone = [], oldest }) => {
    const sources = sourcesOf(claims);

    expect(Object.fromEntries(oldestPending({ ...sources, pending: [...sources.pending, ...gone] }))).toEqual(oldest);
  });
});
