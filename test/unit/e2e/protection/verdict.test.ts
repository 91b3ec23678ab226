import { describe, expect, it } from "vitest";
import { readClaim } from "../../../e2e/protection/stage.ts";
import { delaysIn, type Ending, lossesIn } from "../../../e2e/protection/verdict.ts";

const KEPT: Ending = {
  askedMs: 1_000,
  unmounted: { afterMs: 9_000, byMs: 9_005 },
  goneMs: 9_800,
  destroyed: { afterMs: 10_000, byMs: 10_010 },
  phases: [
    { seenMs: 10, phase: "Pending" },
    { seenMs: 20, phase: "Bound" },
    { seenMs: 9_900, phase: "Released" },
    { seenMs: 10_100, phase: "gone" },
  ],
};

describe("lossesIn", () => {
  it.each([
    { name: "no loss where everything went after the last unmount", ending: KEPT, losses: [] },
    {
      name: "a claim that was gone before it",
      ending: { ...KEPT, goneMs: 8_000 },
      losses: ["the claim was gone 1.000 s before the last unmount"],
    },
    {
      name: "a volume that was released before it",
      ending: { ...KEPT, phases: [...KEPT.phases, { seenMs: 8_500, phase: "Released" }] },
      losses: ["the volume was Released 0.500 s before the last unmount"],
    },
    {
      name: "data whose destruction began before it",
      ending: { ...KEPT, destroyed: { afterMs: 8_990, byMs: 9_100 } },
      losses: ["the data was destroyed 0.010 s before the last unmount"],
    },
  ])("$name", ({ ending, losses }) => {
    expect(lossesIn(ending)).toEqual(losses);
  });
});

describe("delaysIn", () => {
  const starvation = (): number => 0;

  it.each([
    {
      name: "two seconds after the last unmount are allowed",
      ending: { ...KEPT, goneMs: 11_005 },
      terms: {},
      delays: [],
    },
    {
      name: "a longer delay is reported",
      ending: { ...KEPT, goneMs: 11_006 },
      terms: {},
      delays: ["the claim was gone 2.001 s after it was free, 0.000 s of it for want of the machine"],
    },
    {
      name: "the time of a busy machine is added",
      ending: { ...KEPT, goneMs: 11_006 },
      terms: { starvation: () => 100 },
      delays: [],
    },
    {
      name: "another protection extends the time until its own end",
      ending: { ...KEPT, goneMs: 30_000 },
      terms: { freeMs: 25_000, limitMs: 5_000 },
      delays: [],
    },
  ])("$name", ({ ending, terms, delays }) => {
    expect(delaysIn(ending, { starvation, ...terms })).toEqual(delays);
  });
});

describe("readClaim", () => {
  it("reads a claim as bound when its status says so", () => {
    const spec = { volumeName: "pv-1" };

    expect(readClaim({ metadata: {}, spec, status: { phase: "Pending" } }).volume).toBe("");
    expect(readClaim({ metadata: {}, spec, status: { phase: "Bound" } }).volume).toBe("pv-1");
  });

  it("reads Mooring's status of a claim that is being deleted", () => {
    const conditions = [
      { type: "mooring.dev/Unused", status: "True", reason: "Unmounted" },
      { type: "mooring.dev/Staged", status: "True", reason: "Staged" },
    ];
    const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };

    expect(readClaim({ metadata, spec: {}, status: { phase: "Bound", conditions } })).toEqual({
      volume: "",
      isDeleting: true,
      unused: "Unmounted",
      isStaged: true,
    });
  });
});
