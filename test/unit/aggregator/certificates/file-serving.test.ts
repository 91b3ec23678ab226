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
  it.each<{
    readonly name: string;
    /** What lies there at first, and then from second to second. */
    readonly files: readonly Name[];
    /** What is served after each of them. */
    readonly served: readonly (Name | undefined)[];
    readonly log: readonly string[];
  }>([
    { name: "are served as they are found", files: ["a"], served: ["a"], log: [NEW] },
    { name: "are served anew after a change", files: ["a", "b"], served: ["a", "b"], log: [NEW, NEW] },
    { name: "are told once when they stay the same", files: ["a", "a", "a"], served: ["a", "a", "a"], log: [NEW] },
    {
      name: "are waited for, which is said once",
      files: ["none", "none", "a"],
      served: [undefined, undefined, "a"],
      log: [UNREADABLE, NEW],
    },
    {
      name: "are waited for as long as one of them is missing",
      files: ["keyless", "a"],
      served: [undefined, "a"],
      log: [UNREADABLE, NEW],
    },
    {
      name: "in the middle of a change leave the ones before",
      files: ["a", "mixed", "b"],
      served: ["a", "a", "b"],
      log: [NEW, BAD, NEW],
    },
    {
      name: "that are none leave the ones before, which is said once however they change",
      files: ["a", "garbage", "mixed", "garbage"],
      served: ["a", "a", "a", "a"],
      log: [NEW, BAD],
    },
    {
      name: "that are none from the begin are not served",
      files: ["garbage", "b"],
      served: [undefined, "b"],
      log: [BAD, NEW],
    },
    {
      name: "that cannot be used are told again after they could",
      files: ["a", "mixed", "b", "mixed"],
      served: ["a", "a", "b", "b"],
      log: [NEW, BAD, NEW, BAD],
    },
    {
      name: "that cannot be used are told again after the ones before were put back",
      files: ["a", "mixed", "a", "mixed"],
      served: ["a", "a", "a", "a"],
      log: [NEW, BAD, BAD],
    },
    {
      name: "that are gone leave what they said",
      files: ["a", "none", "b"],
      served: ["a", "a", "b"],
      log: [NEW, GONE, GONE, NEW],
    },
  ])("$name", async ({ files, served, log }) => {
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

  it.each<{
    readonly name: string;
    readonly files: Name;
    readonly hours: number;
    readonly ok: boolean;
    readonly says: string;
  }>([
    {
      name: "fail before there are any",
      files: "none",
      hours: 0,
      ok: false,
      says: "there is no certificate yet: agents cannot connect",
    },
    {
      name: "fail as long as they cannot be used",
      files: "mixed",
      hours: 0,
      ok: false,
      says: "there is no certificate yet: agents cannot connect",
    },
    { name: "tell how long they last, in whole hours", files: "a", hours: 0.5, ok: true, says: "it lasts for 5 h" },
    {
      name: "fail from the moment of their end",
      files: "a",
      hours: 6,
      ok: false,
      says: "the certificate has ended: agents refuse it",
    },
  ])("$name", async ({ files, hours, ok, says }) => {
    const { serving, write, start } = setUp();
    write(files);
    await start();

    const result = serving.check({ nowMs: NOW + hours * HOUR, leads: false });

    expect(result).toEqual(ok ? { ok, detail: says } : { ok, why: says });
    expect(serving.endsAtMs()).toBe(files === "a" ? NOW + 6 * HOUR : undefined);
  });
});
