import { describe, expect, it } from "vitest";
import {
  type Authority,
  BACKDATED_MS,
  type CertificatePlan,
  certificatePlan,
  type StoredCertificates,
  trustProblem,
} from "../../../../aggregator/core/certificate-plan.ts";

const DAY = 86_400_000;
const NOW = 1_790_000_000_000;
const YEAR = 360 * DAY;
const NAMES = ["mooring-aggregator.mooring.svc"];

const issued = (ageMs: number, lifeMs: number) => ({
  notBeforeMs: NOW - ageMs - BACKDATED_MS,
  notAfterMs: NOW - ageMs + lifeMs,
});
const authority = (id: string, ageMs: number): Authority => ({ id, ...issued(ageMs, YEAR) });
const certificate = (signedBy: string, ageMs = 5 * DAY, names = NAMES) =>
  ({ serving: { ...issued(ageMs, 30 * DAY), signedBy, names } }) as const;

/** `a` signs, `b` is its successor. */
const [A, B] = [authority("a", 200 * DAY), authority("b", 80 * DAY)];
/** Due since this moment, which is the last one of `gone`. */
const OLD = authority("old", 240 * DAY);
const GONE = authority("gone", YEAR);
/** Made just now. */
const [C, D] = [authority("c", 0), authority("d", 0)];

/** The authorities whose keys are there, which agents trust, and what is known beside them. */
function stored(authorities: readonly Authority[], more: Partial<StoredCertificates> = {}): StoredCertificates {
  return { authorities, trusted: authorities, serving: undefined, ...more };
}
const steady = (more: Partial<StoredCertificates>) => stored([A, B], { ...certificate("a"), ...more });
const aged = (more: Partial<StoredCertificates>) => stored([OLD, B, C], { ...certificate("old"), ...more });
/** The keys of `a` and `b` are lost. */
const lost = (more: Partial<StoredCertificates>) =>
  stored([C, D], { trusted: [A, C, D], ...certificate("a"), ...more });

const KEEP: CertificatePlan = { kind: "keep" };
const add = (kept: readonly string[], lifetimeMs = YEAR): CertificatePlan => ({
  kind: "add-authority",
  kept,
  lifetimeMs,
});
const publish = (...trusted: readonly string[]): CertificatePlan => ({ kind: "publish", trusted });
const sign = (by: string): CertificatePlan => ({ kind: "issue-certificate", authority: by });

describe("certificatePlan", () => {
  it.each<readonly [name: string, known: StoredCertificates, plan: CertificatePlan]>(
    // biome-ignore format: a row is a line
    [
      ["the first authority lasts for half the time, so that it is not due together with the next", stored([]), add([], YEAR / 2)],
      ["its successor is made before anything is published", stored([C], { trusted: [] }), add(["c"])],
      ["agents are told of both before one signs", stored([B, A], { trusted: [] }), publish("a", "b")],
      ["the one that ends first signs", stored([B, A]), sign("a")],
      ["then nothing is left to do", steady({}), KEEP],
      ["a certificate is renewed after two thirds of its life", steady(certificate("a", 20 * DAY)), sign("a")],
      ["and not a moment before", steady(certificate("a", 20 * DAY - 1)), KEEP],
      ["one from the future is replaced: a clock was wrong", steady(certificate("a", -DAY)), sign("a")],
      ["one for other names is replaced", steady(certificate("a", 0, ["other"])), sign("a")],
      ["an authority is due after two thirds of its life, and another successor is made", stored([OLD, B], certificate("old")), add(["old", "b"])],
      ["and not a moment before", stored([authority("old", 240 * DAY - 1), B], certificate("old")), KEEP],
      ["agents are told of that beside the others", aged({ trusted: [OLD, B] }), publish("old", "b", "c")],
      ["what a due authority signed is served on", aged({}), KEEP],
      ["its successor signs the next one", aged(certificate("old", 20 * DAY)), sign("b")],
      ["even a due authority signs where agents know no other", stored([OLD, B], { trusted: [OLD] }), sign("old")],
      ["of two the one that ends last", stored([authority("older", 300 * DAY), OLD]), sign("old")],
      ["an authority whose time is over is not trusted on", steady({ authorities: [GONE, A, B], trusted: [GONE, A, B] }), publish("a", "b")],
      ["and what it signed is replaced", stored([A, B], { trusted: [GONE, A, B], ...certificate("gone") }), sign("a")],
      ["and it goes when another one is made", stored([GONE, OLD, B], certificate("old")), add(["old", "b"])],
      ["where the keys are lost, authorities are made", steady({ authorities: [] }), add([], YEAR / 2)],
      ["and published beside the lost one, whose certificate is served on", lost({ trusted: [A, B] }), publish("a", "c", "d")],
      ["until it is due", lost({}), KEEP],
      ["then a new one signs, of which agents were told long before", lost(certificate("a", 20 * DAY)), sign("c")],
      ["and the lost one is not trusted on", lost(certificate("c")), publish("c", "d")],
      ["where the agents' bundle is lost, it is written again", steady({ trusted: [] }), publish("a", "b")],
      ["where the keys are lost with it, a new one signs", lost({ trusted: [C, D] }), sign("c")],
      ["where agents are told of the successor alone, that one signs", steady({ trusted: [B] }), sign("b")],
      ["an authority that is none of ours is not trusted on", steady({ trusted: [A, authority("foreign", DAY), B] }), publish("a", "b")],
    ],
  )("%s", (_, known, plan) => {
    expect(certificatePlan(NOW, known, { names: NAMES, authorityMs: YEAR })).toEqual(plan);
  });
});

describe("trustProblem", () => {
  const refused = { isRefused: true, why: "agents are not told to trust the authority that signed the certificate" };
  const stranger = { isRefused: false, why: "agents are told to trust an authority that is not Mooring's" };
  const evil = authority("evil", DAY);

  it.each([
    { name: "agents trust both authorities", stored: steady({}), problem: undefined },
    { name: "nothing is served yet", stored: stored([]), problem: undefined },
    { name: "agents trust no authority", stored: steady({ trusted: [] }), problem: refused },
    { name: "agents trust another authority", stored: steady({ trusted: [evil] }), problem: refused },
    { name: "agents trust another authority, too", stored: steady({ trusted: [A, evil] }), problem: stranger },
    { name: "the key of the signer was lost", stored: lost({}), problem: undefined },
  ])("compares what is served with what agents trust: $name", ({ stored, problem }) => {
    expect(trustProblem(stored)).toEqual(problem);
  });
});
