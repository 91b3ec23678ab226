import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RootRule } from "../../../../agent/core/holds.ts";
import { initialState } from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { createMountInfoFile, readConfirmed } from "../../../../agent/sources/mount-table.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeMountTable, csiMountPoint, tokenMountPoint } from "../../../fakes/mount-table.ts";

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
  ])("is unreadable, not broken, when it $name", async ({ path }) => {
    const source = createMountInfoFile(join(folder, path), { clock: createFakeClock() });

    await expect(source.read()).rejects.toMatchObject({ code: "mount-table-unreadable", retriable: true });
  });
});

describe("readConfirmed", () => {
  /** A state that knows the hold, and a table that begins as given. */
  async function setUp(mounts: readonly string[]) {
    const clock = createFakeClock();
    const known = createFakeMountTable(
      clock,
      [TOKEN, HOLD].map((mountPoint) => ({ mountPoint })),
    );
    const read = await readConfirmed(known, initialState("boot-1"), RULE);
    const { state } = observe(initialState("boot-1"), { read, podsResourceVersion: undefined, pods: new Map() });
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

  it("reads once when nothing is missing", async () => {
    const { state, table } = await setUp([TOKEN, HOLD]);

    const read = await readConfirmed(table, state, RULE);

    expect(table.reads()).toBe(1);
    expect(read.holds).toHaveLength(1);
  });

  it("reads again when something is missing, and dates the absence by the end of the second read", async () => {
    const { clock, state, table } = await setUp([TOKEN]);
    const beganAt = clock.monotonicMs();

    const read = await readConfirmed(table, state, RULE);

    expect(read).toMatchObject({ beganAt, endedAt: beganAt + 2, holds: [], incomplete: undefined });
  });

  it("believes the second read when it shows what the first lacked", async () => {
    const { state, table } = await setUp([TOKEN, HOLD]);
    table.disturb(without);

    const read = await readConfirmed(table, state, RULE);

    expect(read.holds).toHaveLength(1);
  });

  it("does not read again after a damaged read, which proves no absence", async () => {
    const { state, table } = await setUp([TOKEN]);
    table.disturb((text) => text.slice(0, -1));

    const read = await readConfirmed(table, state, RULE);

    expect(table.reads()).toBe(1);
    expect(read.incomplete).toBe("1 damaged lines");
  });

  it("proves no absence when the confirming read is damaged", async () => {
    const { state, table } = await setUp([TOKEN]);
    table.disturb(
      (text) => text,
      (text) => text.slice(0, -1),
    );

    const read = await readConfirmed(table, state, RULE);

    expect(read.incomplete).toBe("1 damaged lines");
  });

  it("fails when the confirming read fails", async () => {
    const { state, table } = await setUp([TOKEN]);
    table.disturb(
      (text) => text,
      () => undefined,
    );

    await expect(readConfirmed(table, state, RULE)).rejects.toMatchObject({ code: "mount-table-unreadable" });
  });
});
