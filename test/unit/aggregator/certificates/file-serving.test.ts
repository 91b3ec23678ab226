import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { issueAuthority, issueCertificate } from "../../../../aggregator/certificates/issuing.ts";
import { createFileServing, type Serving } from "../../../../aggregator/certificates/serving.ts";
import type { FolderWatch } from "../../../../common/kube/rotating-file.ts";
import { type CheckResult, failed } from "../../../../common/runtime/health.ts";
import type { ServingPair } from "../../../../common/runtime/http-server.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const HOUR = 3_600_000;
const NOW = createFakeClock().wallMs();

/** What lies in the two files; nothing where there is no such file. */
type Files = Partial<ServingPair>;
type Name = "a" | "b" | "mixed" | "garbage" | "none" | "keyless";

/** `a` and `b` are whole; of `mixed` the key is another one's, as in the middle of a change. */
const garbage: Files = { certificate: "no certificate", key: "no key" };
const pairs: Record<Name, Files> = { a: {}, b: {}, mixed: {}, garbage, none: {}, keyless: {} };

beforeAll(async () => {
  const authority = await issueAuthority({ nowMs: NOW, lifetimeMs: 48 * HOUR });
  const lasting = (hours: number): Promise<ServingPair> =>
    issueCertificate({ nowMs: NOW, lifetimeMs: hours * HOUR }, ["127.0.0.1"], authority);
  const [a, b] = await Promise.all([lasting(6), lasting(12)]);
  Object.assign(pairs, { a, b, mixed: { ...a, key: b.key }, keyless: { certificate: a.certificate } });
});

/** A watch that tells of changes when a test says so, or cannot be had. */
function createFakeWatch(works: boolean) {
  const told: (() => void)[] = [];
  const counts = { opened: 0, closed: 0 };
  const watch: FolderWatch = async (_, { change }) => {
    if (!works) throw new Error("no inotify here");
    counts.opened += 1;
    told.push(change);
    return {
      close: async () => {
        counts.closed += 1;
      },
    };
  };
  return { watch, counts, tell: () => told.forEach((change) => void change()) };
}

async function started(first: Name, { works = true, apart = false, listen = (_: Serving): void => {} } = {}) {
  const scratch = mkdtempSync(join(tmpdir(), "serving-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  const keyFolder = apart ? join(scratch, "private") : scratch;
  mkdirSync(keyFolder, { recursive: true });
  const places = { certificate: join(scratch, "tls.crt"), key: join(keyFolder, "tls.key") };
  const [clock, logger, stop, watching] = [
    createFakeClock(),
    createFakeLogger(),
    new AbortController(),
    createFakeWatch(works),
  ];
  const files = { certificateFile: places.certificate, keyFile: places.key };
  const serving = createFileServing({ clock, logger, watch: watching.watch }, files);
  listen(serving);
  const write = (name: Name): void => {
    for (const part of ["certificate", "key"] as const) {
      const text = pairs[name][part];
      if (text === undefined) rmSync(places[part], { force: true });
      else writeFileSync(places[part], text);
    }
    watching.tell();
  };
  write(first);
  const running = serving.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  // It has looked when it sleeps until the next look.
  const looked = (): Promise<void> => eventually(() => clock.sleeps().length === 1);
  /** Writes the files, and looks at what is served some seconds later. */
  const servedAfter = async (name: Name, seconds = 1): Promise<string | undefined> => {
    write(name);
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1_000);
      await looked();
    }
    return nameOf(serving.pair());
  };
  await looked();
  return { logger, serving, counts: watching.counts, servedAfter, end };
}

/** Nothing for what is not served. */
function nameOf(pair: ServingPair | undefined): string | undefined {
  const isServed = ([, { certificate, key }]: readonly [string, Files]): boolean =>
    certificate === pair?.certificate && key === pair?.key;
  return pair && Object.entries(pairs).find(isServed)?.[0];
}

const NO = undefined;
const BAD = "certificate and key cannot be used, the one before is served on";
const NEW = "new certificate served";
const UNREADABLE = "certificate cannot be read";
const GONE = "rotated file cannot be read now";

describe("files that somebody else keeps", () => {
  it.each<
    readonly [name: string, files: readonly Name[], served: readonly (string | undefined)[], log: readonly string[]]
  >([
    ["are served as they are found, and anew after a change", ["a", "b"], ["a", "b"], [NEW, NEW]],
    ["are told once when they stay the same", ["a", "a", "a"], ["a", "a", "a"], [NEW]],
    ["are waited for, which is said once", ["none", "none", "a"], [NO, NO, "a"], [UNREADABLE, NEW]],
    ["are waited for as long as one of them is missing", ["keyless", "a"], [NO, "a"], [UNREADABLE, NEW]],
    ["in the middle of a change leave the ones before", ["a", "mixed", "b"], ["a", "a", "b"], [NEW, BAD, NEW]],
    ["that are none leave the ones before, which is said once", ["a", "garbage", "mixed"], ["a", "a", "a"], [NEW, BAD]],
    ["that are none from the begin are not served", ["garbage", "b"], [NO, "b"], [BAD, NEW]],
    [
      "that are bad are told again after others",
      ["a", "mixed", "b", "mixed"],
      ["a", "a", "b", "b"],
      [NEW, BAD, NEW, BAD],
    ],
    ["that are bad are told again after the same", ["a", "mixed", "a", "mixed"], ["a", "a", "a", "a"], [NEW, BAD, BAD]],
    ["that are gone leave what they said", ["a", "none", "b"], ["a", "a", "b"], [NEW, GONE, GONE, NEW]],
  ])("%s", async (...[, [first = "none", ...next], served, log]) => {
    const { logger, serving, servedAfter } = await started(first);
    const seen = [nameOf(serving.pair())];
    for (const name of next) seen.push(await servedAfter(name));

    expect([seen, logger.messages()]).toEqual([served, log]);
  });

  it("may lie in two folders, of which both are watched, and neither any more at the end", async () => {
    const { counts, servedAfter, end } = await started("a", { apart: true });
    const seen = await servedAfter("b");

    await end();

    expect([seen, counts]).toEqual(["b", { opened: 2, closed: 2 }]);
  });

  it("are read once a minute where changes cannot be noticed", async () => {
    const { servedAfter } = await started("a", { works: false });

    expect([await servedAfter("b", 59), await servedAfter("b", 2)]).toEqual(["a", "b"]);
  });

  it("are told to whoever listens, until they do not any more", async () => {
    const [all, first]: [unknown[], unknown[]] = [[], []];
    let unlisten = (): unknown => undefined;
    const listen = ({ onChange }: Serving): void => {
      onChange((pair) => void all.push(nameOf(pair)));
      unlisten = onChange((pair) => void first.push(nameOf(pair)));
    };
    const { servedAfter } = await started("a", { listen });

    unlisten();
    await servedAfter("mixed");
    await servedAfter("b");

    expect([all, first]).toEqual([["a", "b"], ["a"]]);
  });

  it.each<readonly [name: string, files: Name, hours: number, result: CheckResult]>([
    ["fail before there are any", "none", 0, failed("there is no certificate yet: agents cannot connect")],
    ["fail while they cannot be used", "mixed", 0, failed("there is no certificate yet: agents cannot connect")],
    ["tell how long they last, in whole hours", "a", 0.5, { ok: true, detail: "it lasts for 5 h" }],
    ["fail from the moment of their end", "a", 6, failed("the certificate has ended: agents refuse it")],
  ])("%s", async (...[, files, hours, result]) => {
    const { serving } = await started(files);

    expect(serving.check({ nowMs: NOW + hours * HOUR, leads: false })).toEqual(result);
    expect(serving.endsAtMs()).toBe(files === "a" ? NOW + 6 * HOUR : undefined);
  });
});
