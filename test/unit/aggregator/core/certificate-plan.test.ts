import { describe, expect, it } from "vitest";
import {
  type Authority,
  BACKDATED_MS,
  type CertificatePlan,
  certificatePlan,
  type ServingCertificate,
  type StoredCertificates,
  trustProblem,
} from "../../../../aggregator/core/certificate-plan.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = 1_790_000_000_000;
const TIMES = { authorityMs: 360 * DAY, certificateMs: 30 * DAY, overlapMs: HOUR };
const NAMES = ["mooring-aggregator.mooring.svc"];

function authority(id: string, ageMs: number): Authority {
  return { id, notBeforeMs: NOW - ageMs - BACKDATED_MS, notAfterMs: NOW - ageMs + TIMES.authorityMs };
}

function certificate(signedBy: string, ageMs: number, more: Partial<ServingCertificate> = {}): ServingCertificate {
  return {
    notBeforeMs: NOW - ageMs - BACKDATED_MS,
    notAfterMs: NOW - ageMs + TIMES.certificateMs,
    signedBy,
    names: NAMES,
    previous: undefined,
    ...more,
  };
}

const A = authority("a", 10 * DAY);
/** A's successor, made when two thirds of A's life were over. */
const OLD = authority("old", 240 * DAY);
const B = authority("b", 2 * HOUR);
const GONE = authority("gone", 361 * DAY);
const LONG_AGO = NOW - 10 * DAY;

const STEADY: StoredCertificates = {
  authorities: [A],
  trusted: [A],
  completeSinceMs: LONG_AGO,
  serving: certificate("a", 5 * DAY),
};
const OVERLAP: StoredCertificates = {
  authorities: [OLD, B],
  trusted: [OLD, B],
  completeSinceMs: NOW - 2 * HOUR,
  serving: certificate("old", 5 * DAY),
};
const NOTHING: StoredCertificates = {
  authorities: [],
  trusted: [],
  completeSinceMs: undefined,
  serving: undefined,
};

function sign(by: string, previous?: { readonly id: string; readonly untilMs: number }): CertificatePlan {
  return { kind: "issue-certificate", authority: by, previous };
}

function publish(trusted: readonly string[], completeSinceMs = NOW): CertificatePlan {
  return { kind: "publish", trusted, completeSinceMs };
}

const KEEP: CertificatePlan = { kind: "keep" };
const OLD_UNTIL = { id: "old", untilMs: NOW + HOUR };

describe("certificatePlan", () => {
  it.each<{ name: string; stored: StoredCertificates; plan: CertificatePlan }>(
    // biome-ignore format: a row is a line
    [
      { name: "where there is nothing, an authority is made", stored: NOTHING, plan: { kind: "issue-authority" } },
      { name: "the first authority is told", stored: { ...NOTHING, authorities: [B] }, plan: publish(["b"]) },
      {
        name: "the first certificate is not held back: nobody could trust anything before",
        stored: { ...NOTHING, authorities: [B], trusted: [B], completeSinceMs: NOW },
        plan: sign("b"),
      },
      { name: "what is all right is kept", stored: STEADY, plan: KEEP },
      { name: "a certificate is renewed after two thirds of its life", stored: { ...STEADY, serving: certificate("a", 20 * DAY) }, plan: sign("a") },
      { name: "and not a moment before", stored: { ...STEADY, serving: certificate("a", 20 * DAY - 1) }, plan: KEEP },
      { name: "a certificate that has ended is replaced", stored: { ...STEADY, serving: certificate("a", 31 * DAY) }, plan: sign("a") },
      { name: "one from the future is replaced: a clock was wrong", stored: { ...STEADY, serving: certificate("a", -2 * HOUR) }, plan: sign("a") },
      { name: "a lost certificate is replaced", stored: { ...STEADY, serving: undefined }, plan: sign("a") },
      { name: "one for other names is replaced", stored: { ...STEADY, serving: certificate("a", DAY, { names: ["other"] }) }, plan: sign("a") },
      {
        name: "an authority gets a successor after two thirds of its life",
        stored: { ...STEADY, authorities: [OLD], trusted: [OLD], serving: certificate("old", DAY) },
        plan: { kind: "issue-authority" },
      },
      { name: "the successor is told beside the old one before it signs", stored: { ...OVERLAP, trusted: [OLD] }, plan: publish(["old", "b"]) },
      { name: "it does not sign before the overlap is over", stored: { ...OVERLAP, completeSinceMs: NOW - HOUR + 1 }, plan: KEEP },
      { name: "then it signs, and the old one stays trusted for a while", stored: OVERLAP, plan: sign("b", OLD_UNTIL) },
      {
        name: "a certificate that is due within the overlap is signed by the old one",
        stored: { ...OVERLAP, completeSinceMs: NOW - 1, serving: certificate("old", 25 * DAY) },
        plan: sign("old"),
      },
      {
        name: "a certificate that is lost within the overlap is signed by the old one",
        stored: { ...OVERLAP, completeSinceMs: NOW - 1, serving: undefined },
        plan: sign("old"),
      },
      {
        name: "the old key is forgotten as soon as it will not sign any more",
        stored: { ...OVERLAP, serving: certificate("b", 1, { previous: OLD_UNTIL }) },
        plan: { kind: "drop-authorities", kept: ["b"] },
      },
      {
        name: "its certificate is trusted without it",
        stored: { ...OVERLAP, authorities: [B], serving: certificate("b", 1, { previous: OLD_UNTIL }) },
        plan: KEEP,
      },
      {
        name: "until the second overlap is over",
        stored: { ...OVERLAP, authorities: [B], serving: certificate("b", 1, { previous: { id: "old", untilMs: NOW } }) },
        plan: publish(["b"], NOW - 2 * HOUR),
      },
      {
        name: "a renewal by the same authority does not end that",
        stored: {
          ...OVERLAP,
          authorities: [B],
          serving: certificate("b", 1, { names: ["other"], previous: OLD_UNTIL }),
        },
        plan: sign("b", OLD_UNTIL),
      },
      {
        name: "where the authority's key is lost, a new authority is made",
        stored: { ...STEADY, authorities: [] },
        plan: { kind: "issue-authority" },
      },
      { name: "and told beside the lost one, whose certificate is served on", stored: { ...STEADY, authorities: [B] }, plan: publish(["a", "b"]) },
      { name: "until agents trust the new one", stored: { ...STEADY, authorities: [B], trusted: [A, B], completeSinceMs: NOW - 1 }, plan: KEEP },
      {
        name: "even beyond two thirds of its life",
        stored: {
          ...STEADY,
          authorities: [B],
          trusted: [A, B],
          completeSinceMs: NOW - 1,
          serving: certificate("a", 25 * DAY),
        },
        plan: KEEP,
      },
      {
        name: "then the new one signs",
        stored: { ...STEADY, authorities: [B], trusted: [A, B], completeSinceMs: NOW - HOUR },
        plan: sign("b", { id: "a", untilMs: NOW + HOUR }),
      },
      {
        name: "what agents trust is told again where somebody removed it, and the overlap begins anew",
        stored: { ...OVERLAP, trusted: [], completeSinceMs: undefined },
        plan: publish(["old", "b"]),
      },
      {
        name: "an authority that is none of ours is not trusted on",
        stored: { ...STEADY, trusted: [A, authority("foreign", DAY)] },
        plan: publish(["a"], LONG_AGO),
      },
      { name: "a moment of telling that is unknown is now", stored: { ...STEADY, completeSinceMs: undefined }, plan: publish(["a"]) },
      { name: "a moment of telling in the future is now", stored: { ...STEADY, completeSinceMs: NOW + 60_001 }, plan: publish(["a"]) },
      { name: "unless it is so near that the clock has only become more exact", stored: { ...STEADY, completeSinceMs: NOW + 60_000 }, plan: KEEP },
      {
        name: "a certificate of an authority that is not trusted is replaced",
        stored: { ...STEADY, serving: certificate("foreign", DAY) },
        plan: sign("a", { id: "foreign", untilMs: NOW + HOUR }),
      },
      { name: "an authority that has ended does not count", stored: { ...STEADY, authorities: [GONE] }, plan: { kind: "issue-authority" } },
      { name: "and is forgotten", stored: { ...STEADY, authorities: [GONE, A] }, plan: { kind: "drop-authorities", kept: ["a"] } },
    ],
  )("$name", ({ stored, plan }) => {
    expect(certificatePlan(NOW, stored, { times: TIMES, names: NAMES })).toEqual(plan);
  });
});

describe("trustProblem", () => {
  const refused = { isRefused: true, why: "agents are not told to trust the authority that signed the certificate" };
  const stranger = { isRefused: false, why: "agents are told to trust an authority that is not Mooring's" };
  const EVIL = authority("evil", HOUR);

  it.each([
    { name: "agents trust who signed", stored: STEADY, problem: undefined },
    { name: "one authority replaces the other", stored: OVERLAP, problem: undefined },
    { name: "nothing is served yet", stored: NOTHING, problem: undefined },
    { name: "agents trust nobody", stored: { ...STEADY, trusted: [] }, problem: refused },
    { name: "agents trust somebody else", stored: { ...STEADY, trusted: [EVIL] }, problem: refused },
    { name: "agents trust somebody else, too", stored: { ...STEADY, trusted: [A, EVIL] }, problem: stranger },
    {
      name: "agents trust who signed before",
      stored: {
        ...STEADY,
        trusted: [GONE, A],
        serving: certificate("a", HOUR, { previous: { id: "gone", untilMs: NOW } }),
      },
      problem: undefined,
    },
    { name: "the key of who signed was lost", stored: { ...STEADY, authorities: [] }, problem: undefined },
  ])("compares what is served with what agents trust: $name", ({ stored, problem }) => {
    expect(trustProblem(stored)).toEqual(problem);
  });
});
