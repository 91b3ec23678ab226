import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeSelfSigned } from "../../../../aggregator/certificates/self-signed.ts";
import { createFileServing } from "../../../../aggregator/certificates/serving.ts";
import { type CheckResult, degraded, failed } from "../../../../common/runtime/health.ts";
import type { ServingPair } from "../../../../common/runtime/http-server.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

const HOUR = 3_600_000;
const NOW = createFakeClock().wallMs();

/** What lies in the two files; nothing where there is no such file. */
type Files = Partial<ServingPair>;
type Name = "a" | "b" | "mixed" | "garbage" | "none" | "keyless" | "cut";

/** `a` and `b` are whole; of `mixed` the key is another one's, as in the middle of a change. */
const garbage: Files = { certificate: "no certificate", key: "no key" };
const pairs: Record<Name, Files> = { a: {}, b: {}, mixed: {}, garbage, none: {}, keyless: {}, cut: {} };

const [a, b] = [6, 12].map((hours) => makeSelfSigned({ nowMs: NOW, lifetimeMs: hours * HOUR }, ["127.0.0.1"]));
Object.assign(pairs, { a, b, mixed: { ...a, key: b?.key }, keyless: { certificate: a?.certificate } });
// A chain of which the second certificate is not complete yet.
Object.assign(pairs, { cut: { ...b, certificate: `${b?.certificate}${a?.certificate.slice(0, 200)}` } });

/** Serves files in two folders. */
async function started(first: Name) {
  const [scratch, clock, logger, stop] = [
    mkdtempSync(join(tmpdir(), "serving-")),
    createFakeClock(),
    createFakeLogger(),
    new AbortController(),
  ];
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  mkdirSync(join(scratch, "private"));
  const places = { certificate: join(scratch, "tls.crt"), key: join(scratch, "private", "tls.key") };
  const files = { certificateFile: places.certificate, keyFile: places.key };
  const serving = createFileServing({ clock, logger, random: createFixedRandom(0.5) }, files);
  const write = (name: Name): void => {
    for (const part of ["certificate", "key"] as const) {
      const text = pairs[name][part];
      if (text === undefined) rmSync(places[part], { force: true });
      else writeFileSync(places[part], text);
    }
  };
  write(first);
  const running = serving.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  // A check is over when it sleeps until the next one.
  const checked = (): Promise<void> => eventually(() => clock.sleeps().length === 1);
  /** Writes the files, and answers what is served a second later. */
  const servedAfter = async (name: Name): Promise<string | undefined> => {
    write(name);
    await clock.advance(1_000);
    await checked();
    return nameOf(serving.pair());
  };
  await checked();
  return { logger, serving, servedAfter };
}

/** Nothing for what is not served. */
function nameOf(pair: ServingPair | undefined): string | undefined {
  const isServed = ([, { certificate, key }]: readonly [string, Files]): boolean =>
    certificate === pair?.certificate && key === pair?.key;
  return pair && Object.entries(pairs).find(isServed)?.[0];
}

const none = "there is no certificate yet: agents cannot connect";
const over = "the certificate has ended: agents refuse it";
const NO = undefined;
const A2 = ["a", "a"];
const NEW = "new certificate served";
const BAD = "certificate cannot be used";

describe("files that another program keeps", () => {
  type Served = readonly (string | undefined)[];
  it.each<readonly [name: string, files: readonly Name[], served: Served, log: readonly string[]]>([
    ["are served at the start, and again after a change", ["a", "b"], ["a", "b"], [NEW, NEW]],
    ["are logged once when they stay the same", ["a", "a", "a"], ["a", "a", "a"], [NEW]],
    ["are waited for, which is logged once", ["none", "none", "a"], [NO, NO, "a"], [BAD, NEW]],
    ["are waited for as long as one of them is missing", ["keyless", "a"], [NO, "a"], [BAD, NEW]],
    ["in the middle of a change leave the ones before", ["a", "mixed", "b"], ["a", "a", "b"], [NEW, BAD, NEW]],
    [
      "that are invalid leave the ones before, which is logged once",
      ["a", "garbage", "mixed"],
      ["a", "a", "a"],
      [NEW, BAD],
    ],
    ["that are invalid from the start are not served", ["garbage", "b"], [NO, "b"], [BAD, NEW]],
    [
      "that do not match are logged again after another pair",
      ["a", "mixed", "b", "mixed"],
      [...A2, "b", "b"],
      [NEW, BAD, NEW, BAD],
    ],
    [
      "that do not match are logged again after the same pair",
      ["a", "mixed", "a", "mixed"],
      [...A2, ...A2],
      [NEW, BAD, BAD],
    ],
    ["that are not complete yet leave the ones before", ["a", "cut", "b"], ["a", "a", "b"], [NEW, BAD, NEW]],
    ["that are gone leave the ones before", ["a", "none", "b"], ["a", "a", "b"], [NEW, BAD, NEW]],
  ])("%s", async (...[, [first = "none", ...next], served, log]) => {
    const { logger, serving, servedAfter } = await started(first);
    const seen = [nameOf(serving.pair())];
    for (const name of next) seen.push(await servedAfter(name));

    expect([seen, logger.messages()]).toEqual([served, log]);
  });

  it.each<readonly [name: string, files: Name, hours: number, result: CheckResult]>([
    ["fail before there are any", "none", 0, failed(none)],
    ["fail while they cannot be used", "mixed", 0, failed(none)],
    ["say how long they last, in whole hours", "a", 0.5, { ok: true, detail: "it lasts for 5 h" }],
    ["fail from the moment they expire", "a", 6, failed(over)],
  ])("%s", async (...[, files, hours, result]) => {
    const { serving } = await started(files);

    expect(serving.check(NOW + hours * HOUR)).toEqual(result);
    expect(serving.endsAtMs()).toBe(files === "a" ? NOW + 6 * HOUR : undefined);
  });

  it("that are invalid are shown until they can be used, while the ones before are served", async () => {
    const { serving, servedAfter } = await started("a");
    const checks: (CheckResult | undefined)[] = [];
    for (const name of ["mixed", "b"] as const) {
      await servedAfter(name);
      checks.push(serving.check(NOW));
    }

    const detail = "agents may not know the certificate: certificate and key do not match, or cannot be read";
    expect(checks).toEqual([degraded(detail), { ok: true, detail: "it lasts for 12 h" }]);
  });
});
