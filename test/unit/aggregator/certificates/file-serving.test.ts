import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { issueAuthority, issueCertificate } from "../../../../aggregator/certificates/issuing.ts";
import { createFileServing } from "../../../../aggregator/certificates/serving.ts";
import type { FolderWatch } from "../../../../common/kube/rotating-file.ts";
import type { ServingPair } from "../../../../common/runtime/http-server.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const HOUR = 3_600_000;
const NOW = createFakeClock().wallMs();

/** What lies in the two files; nothing where there is no such file. */
type Files = Partial<ServingPair>;

/** `a` and `b` are whole; of `mixed` the key is another one's, as in the middle of a change. */
const pairs: Record<"a" | "b" | "mixed" | "garbage" | "none" | "keyless", Files> = {
  ...{ a: {}, b: {}, mixed: {}, garbage: { certificate: "no certificate", key: "no key" }, none: {}, keyless: {} },
};
type Name = keyof typeof pairs;

beforeAll(async () => {
  const authority = await issueAuthority({ nowMs: NOW, lifetimeMs: 48 * HOUR });
  const [a, b] = await Promise.all(
    [6, 12].map((hours) => issueCertificate({ nowMs: NOW, lifetimeMs: hours * HOUR }, ["127.0.0.1"], authority)),
  );
  if (a === undefined || b === undefined) throw new Error("no certificates were issued");
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

function setUp({ works = true, apart = false } = {}) {
  const scratch = mkdtempSync(join(tmpdir(), "serving-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  const keyFolder = apart ? join(scratch, "private") : scratch;
  mkdirSync(keyFolder, { recursive: true });
  const places = { certificateFile: join(scratch, "tls.crt"), keyFile: join(keyFolder, "tls.key") };
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const watching = createFakeWatch(works);
  const serving = createFileServing({ clock, logger, watch: watching.watch }, places);
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  const write = (name: Name): void => {
    const { certificate, key } = pairs[name];
    for (const [path, text] of [[places.certificateFile, certificate] as const, [places.keyFile, key] as const]) {
      if (text === undefined) rmSync(path, { force: true });
      else writeFileSync(path, text);
    }
    watching.tell();
  };
  // It has looked when it sleeps until the next look.
  const looked = (): Promise<void> => eventually(() => clock.sleeps().length === 1);
  return {
    ...{ clock, logger, serving, watching, write },
    start: async () => {
      running = serving.run(stop.signal);
      await looked();
    },
    pass: async (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        await clock.advance(1_000);
        await looked();
      }
    },
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

/** Nothing for what is not served. */
function nameOf(pair: ServingPair | undefined): string | undefined {
  if (pair === undefined) return undefined;
  return Object.entries(pairs).find(
    ([, { certificate, key }]) => certificate === pair.certificate && key === pair.key,
  )?.[0];
}

const BAD = "certificate and key cannot be used, the one before is served on";
const NEW = "new certificate served";
const UNREADABLE = "certificate cannot be read";
const GONE = "rotated file cannot be read now";

describe("files that somebody else keeps", () => {
  it.each<
    readonly [name: string, files: readonly Name[], served: readonly (string | undefined)[], log: readonly string[]]
  >([
    ["are served as they are found", ["a"], ["a"], [NEW]],
    ["are served anew after a change", ["a", "b"], ["a", "b"], [NEW, NEW]],
    ["are told once when they stay the same", ["a", "a", "a"], ["a", "a", "a"], [NEW]],
    ["are waited for, which is said once", ["none", "none", "a"], [undefined, undefined, "a"], [UNREADABLE, NEW]],
    ["are waited for as long as one of them is missing", ["keyless", "a"], [undefined, "a"], [UNREADABLE, NEW]],
    ["in the middle of a change leave the ones before", ["a", "mixed", "b"], ["a", "a", "b"], [NEW, BAD, NEW]],
    ["that are none leave the ones before, which is said once", ["a", "garbage", "mixed"], ["a", "a", "a"], [NEW, BAD]],
    ["that are none from the begin are not served", ["garbage", "b"], [undefined, "b"], [BAD, NEW]],
    [
      "that are bad are told again after they could be used",
      ["a", "mixed", "b", "mixed"],
      ["a", "a", "b", "b"],
      [NEW, BAD, NEW, BAD],
    ],
    [
      "that are bad are told again after the ones before came back",
      ["a", "mixed", "a", "mixed"],
      ["a", "a", "a", "a"],
      [NEW, BAD, BAD],
    ],
    ["that are gone leave what they said", ["a", "none", "b"], ["a", "a", "b"], [NEW, GONE, GONE, NEW]],
  ])("%s", async (...[, files, served, log]) => {
    const { logger, serving, write, start, pass } = setUp();
    const [first = "none", ...next] = files;
    write(first);
    await start();
    const seen = [nameOf(serving.pair())];

    for (const name of next) {
      write(name);
      await pass(1);
      seen.push(nameOf(serving.pair()));
    }

    expect(seen).toEqual(served);
    expect(logger.messages()).toEqual(log);
  });

  it("may lie in two folders, of which both are watched, and neither any more at the end", async () => {
    const { serving, watching, write, start, pass, stop } = setUp({ apart: true });
    write("a");
    await start();
    write("b");
    await pass(1);

    await stop();

    expect(nameOf(serving.pair())).toBe("b");
    expect(watching.counts).toEqual({ opened: 2, closed: 2 });
  });

  it("are read once a minute where changes cannot be noticed", async () => {
    const { serving, write, start, pass } = setUp({ works: false });
    write("a");
    await start();
    write("b");

    const seen: (string | undefined)[] = [];
    for (const seconds of [59, 2]) {
      await pass(seconds);
      seen.push(nameOf(serving.pair()));
    }

    expect(seen).toEqual(["a", "b"]);
  });

  it("are told to whoever listens, until they do not any more", async () => {
    const { serving, write, start, pass } = setUp();
    const told: { readonly all: unknown[]; readonly first: unknown[] } = { all: [], first: [] };
    serving.onChange((pair) => void told.all.push(nameOf(pair)));
    const unlisten = serving.onChange((pair) => void told.first.push(nameOf(pair)));

    write("a");
    await start();
    unlisten();
    for (const name of ["mixed", "b"] as const) {
      write(name);
      await pass(1);
    }

    expect(told).toEqual({ all: ["a", "b"], first: ["a"] });
  });

  const none = { ok: false, why: "there is no certificate yet: agents cannot connect" };
  const ended = { ok: false, why: "the certificate has ended: agents refuse it" };
  it.each<readonly [name: string, files: Name, hours: number, result: object]>([
    ["fail before there are any", "none", 0, none],
    ["fail as long as they cannot be used", "mixed", 0, none],
    ["tell how long they last, in whole hours", "a", 0.5, { ok: true, detail: "it lasts for 5 h" }],
    ["fail from the moment of their end", "a", 6, ended],
  ])("%s", async (...[, files, hours, result]) => {
    const { serving, write, start } = setUp();
    write(files);
    await start();

    expect(serving.check({ nowMs: NOW + hours * HOUR, leads: false })).toEqual(result);
    expect(serving.endsAtMs()).toBe(files === "a" ? NOW + 6 * HOUR : undefined);
  });
});
