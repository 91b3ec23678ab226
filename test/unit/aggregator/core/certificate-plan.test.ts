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
/** Its life ends in this moment. */
const GONE = authority("gone", 360 * DAY);
const LONG_AGO = NOW - 10 * DAY;

/** The authorities whose keys are there, which agents trust, and what is known beside them. */
function stored(authorities: readonly Authority[], more: Partial<StoredCertificates> = {}): StoredCertificates {
  return { authorities, trusted: authorities, completeSinceMs: undefined, serving: undefined, ...more };
}

const STEADY = stored([A], { completeSinceMs: LONG_AGO, serving: certificate("a", 5 * DAY) });
const OVERLAP = stored([OLD, B], { completeSinceMs: NOW - 2 * HOUR, serving: certificate("old", 5 * DAY) });
const NOTHING = stored([]);

function sign(by: string, previous?: { readonly id: string; readonly untilMs: number }): CertificatePlan {
  return { kind: "issue-certificate", authority: by, previous };
}

function publish(trusted: readonly string[], completeSinceMs = NOW): CertificatePlan {
  return { kind: "publish", trusted, completeSinceMs };
}

const KEEP: CertificatePlan = { kind: "keep" };
const MAKE: CertificatePlan = { kind: "issue-authority" };
const drop = (...kept: readonly string[]): CertificatePlan => ({ kind: "drop-authorities", kept });
const until = (id: string, untilMs = NOW + HOUR) => ({ id, untilMs });

/** Agents trust `a`, which serves, and the certificate is something else; or `a`'s key is lost, and `b` is to follow it. */
const steady = (fields: Partial<StoredCertificates>) => ({ ...STEADY, ...fields });
const serving = (signedBy: string, ageMs: number, more?: Partial<ServingCertificate>) =>
  steady({ serving: certificate(signedBy, ageMs, more) });
const lost = (completeSinceMs: number, ageMs = 5 * DAY) =>
  steady({ authorities: [B], trusted: [A, B], completeSinceMs, serving: certificate("a", ageMs) });
/** `b` follows `old`, whose key is there or not. */
const overlap = (fields: Partial<StoredCertificates>) => ({ ...OVERLAP, ...fields });
const followed = (by: ReturnType<typeof until>, more: Partial<ServingCertificate> = {}) =>
  overlap({ authorities: [B], serving: certificate("b", 1, { previous: by, ...more }) });
const first = (fields: Partial<StoredCertificates>) => ({ ...NOTHING, authorities: [B], ...fields });

describe("certificatePlan", () => {
  const due = certificate("old", 25 * DAY);
  const aged = steady({ authorities: [OLD], trusted: [OLD], serving: certificate("old", DAY) });
  const signing = overlap({ serving: certificate("b", 1, { previous: until("old") }) });
  const renewed = followed(until("old"), { names: ["other"] });
  it.each<readonly [name: string, known: StoredCertificates, plan: CertificatePlan]>(
    // biome-ignore format: a row is a line
    [
      ["the first certificate is issued at once: no agent could trust anything before", first({ trusted: [B], completeSinceMs: NOW }), sign("b")],
      ["a certificate is renewed after two thirds of its life", serving("a", 20 * DAY), sign("a")],
      ["and not a moment before", serving("a", 20 * DAY - 1), KEEP],
      ["one from the future is replaced: a clock was wrong", serving("a", -2 * HOUR), sign("a")],
      ["an authority gets a successor after two thirds of its life", aged, MAKE],
      ["it does not sign before the overlap is over", overlap({ completeSinceMs: NOW - HOUR + 1 }), KEEP],
      ["then it signs, and the old one stays trusted for a while", OVERLAP, sign("b", until("old"))],
      ["a certificate that is due within it is signed by the old one", overlap({ completeSinceMs: NOW - 1, serving: due }), sign("old")],
      ["one that is lost within it is signed by the old one", overlap({ completeSinceMs: NOW - 1, serving: undefined }), sign("old")],
      ["the old key is forgotten as soon as it will not sign any more", signing, drop("b")],
      ["until the second overlap is over", followed(until("old", NOW)), publish(["b"], NOW - 2 * HOUR)],
      ["a renewal by the same authority does not end that", renewed, sign("b", until("old"))],
      ["where the authority's key is lost, a new authority is made", steady({ authorities: [] }), MAKE],
      ["and published beside the lost one, whose certificate is served on", steady({ authorities: [B] }), publish(["a", "b"])],
      ["even beyond two thirds of its life", lost(NOW - 1, 25 * DAY), KEEP],
      ["then the new one signs", lost(NOW - HOUR), sign("b", until("a"))],
      ["an authority that is none of ours is not trusted on", steady({ trusted: [A, authority("foreign", DAY)] }), publish(["a"], LONG_AGO)],
      ["the successor is published in place of one that is none of ours", overlap({ trusted: [OLD, authority("foreign", DAY)] }), publish(["old", "b"])],
      ["a publication in the future counts as now", steady({ completeSinceMs: NOW + 60_001 }), publish(["a"])],
      ["unless it is so near that the clock has only become more exact", steady({ completeSinceMs: NOW + 60_000 }), KEEP],
      ["and is forgotten", steady({ authorities: [GONE, A] }), drop("a")],
    ],
  )("%s", (_, known, plan) => {
    expect(certificatePlan(NOW, known, { times: TIMES, names: NAMES })).toEqual(plan);
  });
});

describe("trustProblem", () => {
  const refused = { isRefused: true, why: "agents are not told to trust the authority that signed the certificate" };
  const stranger = { isRefused: false, why: "agents are told to trust an authority that is not Mooring's" };
  const evil = authority("evil", HOUR);
  const before = steady({ trusted: [GONE, A], serving: certificate("a", HOUR, { previous: until("gone", NOW) }) });

  it.each([
    { name: "one authority replaces the other", stored: OVERLAP, problem: undefined },
    { name: "nothing is served yet", stored: NOTHING, problem: undefined },
    { name: "agents trust no authority", stored: steady({ trusted: [] }), problem: refused },
    { name: "agents trust another authority", stored: steady({ trusted: [evil] }), problem: refused },
    { name: "agents trust another authority, too", stored: steady({ trusted: [A, evil] }), problem: stranger },
    { name: "agents trust the earlier signer", stored: before, problem: undefined },
    { name: "the key of the signer was lost", stored: steady({ authorities: [] }), problem: undefined },
  ])("compares what is served with what agents trust: $name", ({ stored, problem }) => {
    expect(trustProblem(stored)).toEqual(problem);
  });
});
