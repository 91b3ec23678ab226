import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect, isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NodeState } from "../../../../agent/core/node-state.ts";
import { JOURNAL_FILE } from "../../../../agent/sinks/sqlite-journal.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import {
  essence,
  knownMountedVolume,
  mountedVolumesOf,
  nodeState,
  unmountRecordOf,
} from "../../../fakes/node-states.ts";
import { JournalFolder } from "./journal-folder.ts";

/** Three states of an agent: the first is in the main file only, the last in the log of writes only. */
const STATES: readonly NodeState[] = [1, 2, 3].map((turn) =>
  nodeState({
    generation: turn,
    mountedVolumes: mountedVolumesOf(
      ...Array.from({ length: 20 }, (_, n) => knownMountedVolume(turn + n, { since: turn })),
    ),
    unmountRecords: Array.from({ length: 5 }, (_, n) => unmountRecordOf(turn * 100 + n)),
  }),
);

/** Every so many bytes a byte is damaged, at another place within them each time; more of them by hand. */
const STEP = process.env.MOORING_PROPERTY_RUNS === undefined ? 1024 : 5;
const SECTOR = 512;

let ended: JournalFolder;
let killed: JournalFolder;

beforeAll(async () => {
  const folder = new JournalFolder();
  [ended, killed] = [new JournalFolder(), new JournalFolder()];
  const before = folder.journal();
  await before.load();
  for (const state of STATES.slice(0, 1)) await before.store(state);
  await before.close?.();
  const journal = folder.journal();
  await journal.load();
  for (const state of STATES.slice(1)) await journal.store(state);
  cpSync(folder.path, killed.path, { recursive: true });
  await journal.close?.();
  cpSync(folder.path, ended.path, { recursive: true });
  folder[Symbol.dispose]();
});
afterAll(() => {
  ended[Symbol.dispose]();
  killed[Symbol.dispose]();
});

/** What an agent finds in a copy of a folder in which one file was changed: a state, by its number, nothing, or why it finds nothing. */
async function foundAfter(folder: JournalFolder, name: string, change: (bytes: Buffer) => Buffer): Promise<string> {
  using copy = new JournalFolder();
  cpSync(folder.path, copy.path, { recursive: true });
  const file = join(copy.path, name);
  writeFileSync(file, change(readFileSync(file)));
  const journal = copy.journal();
  try {
    const found = await journal.load();
    return found === undefined ? "nothing" : stateName(found);
  } catch (error) {
    if (!(error instanceof MooringError) || error.code !== "journal-unusable") throw error;
    return error.message.includes("left alone") ? "left alone" : error.message;
  } finally {
    await journal.close?.();
  }
}

/** Which of the stored states it is; one that was never stored is printed in full. */
function stateName(found: NodeState): string {
  const index = STATES.findIndex((state) => isDeepStrictEqual(essence(state), essence(found)));
  return index < 0 ? `never stored: ${inspect(essence(found), { depth: 9 })}` : `state ${index + 1}`;
}

const KNOWN = ["state 1", "state 2", "state 3", "nothing", "left alone"];

/** The files of a folder, with places in them. */
function places(folder: JournalFolder, step = STEP): readonly { readonly name: string; readonly at: number }[] {
  return readdirSync(folder.path).flatMap((name) => {
    const { length } = readFileSync(join(folder.path, name));
    return Array.from({ length: Math.ceil(length / step) }, (_, index) => ({
      name,
      at: Math.min(length - 1, step * index + ((index * 37) % step)),
    }));
  });
}

describe("a damaged journal", () => {
  it("returns the last stored state before the damage, also after the earlier agent was killed", async () => {
    expect(readdirSync(killed.path).toSorted()).toEqual([JOURNAL_FILE, `${JOURNAL_FILE}-wal`]);
    expect(await foundAfter(ended, JOURNAL_FILE, (bytes) => bytes)).toBe("state 3");
    expect(await foundAfter(killed, JOURNAL_FILE, (bytes) => bytes)).toBe("state 3");
  });

  it("returns a stored state, or none, wherever one of its files is truncated", async () => {
    for (const folder of [ended, killed]) {
      for (const { name, at } of places(folder, SECTOR)) {
        const end = at - (at % SECTOR);
        expect(KNOWN, `${name} cut at ${end}`).toContain(
          await foundAfter(folder, name, (bytes) => bytes.subarray(0, end)),
        );
      }
    }
  }, 600_000);

  it.each([
    { name: "is another one", damage: (byte: number) => byte ^ 0x55 },
    { name: "has one bit turned", damage: (byte: number) => byte ^ 0x01 },
    { name: "is zero", damage: () => 0 },
  ])(
    "gives a state that was stored, or nothing, wherever a byte $name",
    async ({ damage }) => {
      for (const folder of [ended, killed]) {
        for (const { name, at } of places(folder)) {
          const found = await foundAfter(folder, name, (bytes) => {
            bytes[at] = damage(bytes[at] ?? 0);
            return bytes;
          });
          expect(KNOWN, `${name} at ${at}`).toContain(found);
        }
      }
    },
    600_000,
  );

  it("returns a stored state, or none, wherever a byte of its header changes", async () => {
    const bytes = readFileSync(join(ended.path, JOURNAL_FILE));
    const head = bytes.indexOf('{"node":');
    const text = bytes.toString("latin1", head, bytes.indexOf('"digest"', head));
    const digits = [...text.matchAll(/\d/g)].map(({ index }) => head + index);

    for (const at of digits) {
      const found = await foundAfter(ended, JOURNAL_FILE, (changed) => {
        changed[at] = changed[at] === 0x31 ? 0x32 : 0x31;
        return changed;
      });
      expect(KNOWN, `head at ${at}`).toContain(found);
    }
    expect(digits.length).toBeGreaterThan(8);
  });

  it("returns a stored state, or none, wherever 512 bytes were never written", async () => {
    for (const folder of [ended, killed]) {
      for (const { name, at } of places(folder, SECTOR)) {
        const from = at - (at % SECTOR);
        const found = await foundAfter(folder, name, (bytes) =>
          bytes.fill(0, from, Math.min(from + SECTOR, bytes.length)),
        );
        expect(KNOWN, `${name} at ${from}`).toContain(found);
      }
    }
  }, 600_000);
});
