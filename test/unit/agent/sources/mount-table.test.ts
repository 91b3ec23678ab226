import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RootRule, scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import { initialState } from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { scanConfirmed } from "../../../../agent/sources/mount-table.ts";
import { createMountInfoFile } from "../../../../common/mounts/mount-info-file.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeMountTable, csiMountPoint, formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const HOLD = csiMountPoint("u1", "pv-1");
const TOKEN = tokenMountPoint("agent-1");

describe("the mount table's file", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "scratch-"));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it("is read byte by byte: each byte is one character", async () => {
    const path = join(folder, "mountinfo");
    await writeFile(path, Buffer.from([0x2f, 0xe0, 0xff, 0x00, 0x0a]));

    const { text, beganAt, endedAt } = await createMountInfoFile(path, { clock: createFakeClock() }).read();

    expect(text).toBe("/\u00e0\u00ff\u0000\n");
    expect(beganAt).toBeLessThanOrEqual(endedAt);
  });

  it.each([
    { name: "does not exist", path: "nothing" },
    { name: "is a folder", path: "." },
  ])("is a MooringError, not a bug, when it $name", async ({ path }) => {
    const source = createMountInfoFile(join(folder, path), { clock: createFakeClock() });

    await expect(source.read()).rejects.toMatchObject({ code: "mount-table-unreadable", retriable: true });
  });
});

describe("the mount table's file on an old kernel", () => {
  it.each([
    { kernelRelease: "4.18.0-553.el8.x86_64", needs: true },
    { kernelRelease: "6.1.0", needs: false },
  ])("needs two scans that agree on $kernelRelease: $needs", ({ kernelRelease, needs }) => {
    expect(createMountInfoFile("/x", { clock: createFakeClock(), kernelRelease }).needsAgreement).toBe(needs);
  });
});

describe("scanConfirmed", () => {
  /** A state that knows the mounted volume, and a table that begins as given. */
  async function setUp(mounts: readonly string[]) {
    const clock = createFakeClock();
    const known = createFakeMountTable(
      clock,
      [TOKEN, HOLD].map((mountPoint) => ({ mountPoint })),
    );
    const scan = await scanConfirmed(known, initialState("boot-1"), RULE);
    const { state } = observe(initialState("boot-1"), { scan, podsResourceVersion: undefined, pods: new Map() });
    return {
      clock,
      state,
      table: createFakeMountTable(
        clock,
        mounts.map((mountPoint) => ({ mountPoint })),
      ),
    };
  }
  const without = (text: string): string =>
    text
      .split("\n")
      .filter((line) => !line.includes("pv-1"))
      .join("\n");

  it("scans once when nothing is missing", async () => {
    const { state, table } = await setUp([TOKEN, HOLD]);

    const scan = await scanConfirmed(table, state, RULE);

    expect(table.reads()).toBe(1);
    expect(scan.mountedVolumes).toHaveLength(1);
  });

  it("scans again when something is missing, and dates the absence by the end of the second scan", async () => {
    const { clock, state, table } = await setUp([TOKEN]);
    const beganAt = clock.monotonicMs();

    const scan = await scanConfirmed(table, state, RULE);

    expect(scan).toMatchObject({ beganAt, endedAt: beganAt + 2, mountedVolumes: [], incomplete: undefined });
  });

  it("uses the second scan when it shows what the first lacked", async () => {
    const { state, table } = await setUp([TOKEN, HOLD]);
    table.disturb(without);

    const scan = await scanConfirmed(table, state, RULE);

    expect(scan.mountedVolumes).toHaveLength(1);
  });

  it("does not scan again after a damaged scan, which proves no absence", async () => {
    const { state, table } = await setUp([TOKEN]);
    table.disturb((text) => text.slice(0, -1));

    const scan = await scanConfirmed(table, state, RULE);

    expect(table.reads()).toBe(1);
    expect(scan.incomplete).toBe("1 damaged lines");
  });

  it("proves no absence when the confirming scan is damaged", async () => {
    const { state, table } = await setUp([TOKEN]);
    table.disturb(
      (text) => text,
      (text) => text.slice(0, -1),
    );

    const scan = await scanConfirmed(table, state, RULE);

    expect(scan.incomplete).toBe("1 damaged lines");
  });

  it("fails when the confirming scan fails", async () => {
    const { state, table } = await setUp([TOKEN]);
    table.disturb(
      (text) => text,
      () => undefined,
    );

    await expect(scanConfirmed(table, state, RULE)).rejects.toMatchObject({ code: "mount-table-unreadable" });
  });
});

describe("scanConfirmed on a kernel whose reads may lack entries", () => {
  const OTHER = csiMountPoint("u2", "pv-2");
  /** A table that shows one of these at each scan, the last of them again and again. */
  function tableOf(reads: readonly (readonly string[] | "torn" | "unreadable")[]) {
    const clock = createFakeClock();
    const whole = [TOKEN, HOLD].map((mountPoint) => ({ mountPoint }));
    const table = createFakeMountTable(clock, whole);
    const shows = (mounts: readonly string[]) => mounts.map((mountPoint) => formatMountLine({ mountPoint })).join("");
    const last = reads.at(-1) ?? [];
    const all = [...reads, ...Array.from({ length: 40 }, () => last)];
    table.disturb(
      ...all.map((read) => (text: string) => {
        if (read === "unreadable") return undefined;
        return read === "torn" ? text.slice(0, -1) : shows(read);
      }),
    );
    return { beganAt: clock.monotonicMs(), table, source: { ...table, needsAgreement: true } };
  }
  const known = observe(initialState("boot-1"), {
    scan: scanMountedVolumes(
      { text: [TOKEN, HOLD].map((mountPoint) => formatMountLine({ mountPoint })).join(""), beganAt: 1, endedAt: 2 },
      RULE,
    ),
    podsResourceVersion: undefined,
    pods: new Map(),
  }).state;
  const ALL = [TOKEN, HOLD];

  it.each([
    { name: "two scans that agree are enough", reads: [ALL], count: 2, mountedVolumes: ["pv-1"] },
    {
      name: "a scan that lacks an entry is followed by two that agree",
      reads: [[TOKEN], ALL],
      count: 3,
      mountedVolumes: ["pv-1"],
    },
    { name: "a scan that repeats an entry agrees", reads: [[...ALL, HOLD], ALL], count: 2, mountedVolumes: ["pv-1"] },
    {
      name: "a change elsewhere changes nothing",
      reads: [
        [...ALL, "/a"],
        [...ALL, "/b"],
      ],
      count: 2,
      mountedVolumes: ["pv-1"],
    },
    {
      name: "a volume that only an early scan shows is mounted",
      reads: [[...ALL, OTHER], ALL],
      count: 3,
      mountedVolumes: ["pv-1", "pv-2"],
    },
    {
      name: "a volume that appears during the scans is mounted",
      reads: [ALL, [...ALL, OTHER]],
      count: 3,
      mountedVolumes: ["pv-1", "pv-2"],
    },
    {
      name: "a torn scan is followed by two that agree",
      reads: ["torn" as const, ALL],
      count: 3,
      mountedVolumes: ["pv-1"],
    },
    { name: "an absence takes two scans that agree, twice", reads: [[TOKEN]], count: 4, mountedVolumes: [] },
    {
      name: "an entry that the first two scans lack is mounted",
      reads: [[TOKEN], [TOKEN], ALL],
      count: 4,
      mountedVolumes: ["pv-1"],
    },
  ])("$name", async ({ reads, count, mountedVolumes }) => {
    const { beganAt, table, source } = tableOf(reads);

    const scan = await scanConfirmed(source, known, RULE);

    expect(table.reads()).toBe(count);
    expect(scan).toMatchObject({ incomplete: undefined, beganAt, endedAt: beganAt + count });
    expect(
      [...new Set(scan.mountedVolumes.map(({ volume }) => (volume.by === "name" ? volume.name : "?")))].toSorted(),
    ).toEqual(mountedVolumes);
  });

  it("gives up after ten scans of which no two agree: what they showed is mounted, and nothing is absent", async () => {
    const flicker = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? [TOKEN] : [TOKEN, OTHER]));
    const { beganAt, table, source } = tableOf(flicker);

    const scan = await scanConfirmed(source, known, RULE);

    expect(table.reads()).toBe(10);
    expect(scan).toMatchObject({ beganAt, endedAt: beganAt + 10 });
    expect(scan.incomplete).toBe("the table kept changing: no two of 10 reads agree");
    expect(observe(known, { scan, podsResourceVersion: undefined, pods: new Map() }).state.mountedVolumes.size).toBe(2);
  });

  it("proves no absence when the confirming scans do not agree", async () => {
    const flicker = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? [TOKEN, OTHER] : [TOKEN]));
    const { table, source } = tableOf([[TOKEN], [TOKEN], ...flicker]);

    const scan = await scanConfirmed(source, known, RULE);

    expect(table.reads()).toBe(12);
    expect(observe(known, { scan, podsResourceVersion: undefined, pods: new Map() }).state.unmountRecords).toEqual([]);
  });

  it("accepts a table that stays damaged", async () => {
    const { table, source } = tableOf(["torn"]);

    const scan = await scanConfirmed(source, known, RULE);

    expect(table.reads()).toBe(2);
    expect(scan.incomplete).toBe("1 damaged lines");
  });

  it("fails when one of the scans fails", async () => {
    const { source } = tableOf([ALL, "unreadable"]);

    await expect(scanConfirmed(source, known, RULE)).rejects.toMatchObject({ code: "mount-table-unreadable" });
  });
});
