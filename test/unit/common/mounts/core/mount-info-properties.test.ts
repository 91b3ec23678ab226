import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanMountedVolumes } from "../../../../../agent/core/mounted-volumes.ts";
import { mountedVolumeAt, NEVER_A_CLAIM } from "../../../../../common/mounts/core/kubelet-path.ts";
import { findKubeletRoots, type MountEntry, parseMountInfo } from "../../../../../common/mounts/core/mount-info.ts";
import { formatMountLine } from "../../../../fakes/mount-table.ts";

const FOLDER = new URL("../../../../fixtures/mount-tables/", import.meta.url);
const tables = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".txt"))
  .map((file) => readFileSync(new URL(file, FOLDER), "latin1"));

function bytes(from: number, maxLength: number): fc.Arbitrary<string> {
  const byte = fc.integer({ min: from, max: 255 }).map((code) => String.fromCharCode(code));
  return fc.string({ unit: byte, minLength: from, maxLength });
}

const name = bytes(1, 12);
const entry = fc.record({
  mountPoint: name.map((word) => `/k/${word}`),
  mountId: fc.nat(),
  parentId: fc.nat(),
  device: fc.tuple(fc.nat(4095), fc.nat(99_999)).map(([major, minor]) => `${major}:${minor}`),
  root: name.map((word) => `/${word}`),
  fsType: fc.constantFrom("ext4", "fuse.sshfs", "nfs4"),
  source: fc.oneof(fc.constant(""), name),
  optional: fc.subarray(["shared:1", "master:2", "unbindable"]),
});
const entries = fc.array(entry, { minLength: 1, maxLength: 5 });

/** Something that happens to a text: bytes are put in the place of others. */
interface Change {
  readonly at: number;
  readonly removed: number;
  readonly added: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.nat(80),
  added: fc.oneof(bytes(0, 20), fc.constantFrom("\n", " ", "\\", "/", " - ", "\\0", "/var/lib/kubelet/pods/")),
});

function changed(text: string, { at, removed, added }: Change): string {
  const begin = Math.floor(at * text.length);
  return text.slice(0, begin) + added + text.slice(begin + removed);
}

describe("parseMountInfo, for any input", () => {
  it("reads back what the kernel writes", () => {
    fc.assert(
      fc.property(entries, (lines) => {
        const table = parseMountInfo(lines.map(formatMountLine).join(""), "/k");

        const expected = lines.map(({ source: _, optional: __, ...rest }) => rest);
        expect(table).toEqual({ entries: expected, damagedLines: 0 });
      }),
    );
  });

  it("reads the same where a kernel escapes more bytes than it must", () => {
    const octal = (char: string): string => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;

    fc.assert(
      fc.property(entry, fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }), (line, isEscaped) => {
        const plain = formatMountLine({ ...line, mountPoint: "/k/MARK" });
        const point = [...line.mountPoint].map((char, index) =>
          isEscaped[index] === true || " \t\n\\".includes(char) ? octal(char) : char,
        );
        // The kernel never escapes a slash: it is no part of a name.
        const written = point.join("").replaceAll(octal("/"), "/");

        const table = parseMountInfo(
          plain.replace("/k/MARK", () => written),
          "/k",
        );

        expect(table).toMatchObject({ damagedLines: 0, entries: [{ mountPoint: line.mountPoint }] });
      }),
    );
  });

  it("never throws and finds nothing outside the folder", () => {
    fc.assert(
      fc.property(bytes(0, 300), bytes(0, 8), (text, folder) => {
        const table = parseMountInfo(text, `/${folder}`);

        for (const { mountPoint } of table.entries) expect(mountPoint.startsWith(`/${folder}`)).toBe(true);
        expect(findKubeletRoots(text, folder)).toBeInstanceOf(Array);
      }),
    );
  });

  it("never throws on a changed real table, and counts each line that it cannot read", () => {
    fc.assert(
      fc.property(fc.constantFrom(...tables), fc.array(change, { minLength: 1, maxLength: 6 }), (table, changes) => {
        const text = changes.reduce(changed, table);

        const { entries: found, damagedLines } = parseMountInfo(text, "/");

        // Below `/` no line is elsewhere: each is an entry, or damaged, or an odd one that shows no mount point at all.
        const lines = text.split("\n").slice(0, -1);
        const odd = lines.filter((line) => / - [^ ]+ [^ ]* [^ ]/.test(line) && !line.includes("/"));
        expect(found.length + damagedLines).toBeGreaterThanOrEqual(lines.length - odd.length);
        for (const { mountPoint } of found) expect(mountPoint.startsWith("/")).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("never hides a mounted volume because another line changed", () => {
    fc.assert(
      fc.property(fc.constantFrom(...tables), fc.nat(), change, (table, which, { at, removed, added }) => {
        const lines = table.split("\n").slice(0, -1);
        const index = which % lines.length;
        const others = lines.filter((_, other) => other !== index);
        const line = changed(lines[index] ?? "", { at, removed, added: added.replaceAll("\n", "") });

        const read = (texts: readonly string[]) =>
          parseMountInfo(texts.map((text) => `${text}\n`).join(""), "/var/lib");

        const before = read(others).entries.map(({ mountPoint }) => mountPoint);
        const after = read(lines.with(index, line)).entries.map(({ mountPoint }) => mountPoint);
        expect(after).toEqual(expect.arrayContaining(before));
      }),
      { numRuns: 300 },
    );
  });

  it("loses no mounted volume by skipping what is never a claim's, and sees no damage where there is none", () => {
    const root = "/var/lib/kubelet";
    const mountedVolumesIn = (found: readonly MountEntry[]) =>
      found.filter(({ mountPoint }) => mountedVolumeAt(mountPoint, root));

    fc.assert(
      fc.property(fc.constantFrom(...tables), fc.array(change, { maxLength: 6 }), (table, changes) => {
        const text = changes.reduce(changed, table);

        const [whole, skipping] = [parseMountInfo(text, root), parseMountInfo(text, root, NEVER_A_CLAIM)];

        expect(mountedVolumesIn(skipping.entries)).toEqual(mountedVolumesIn(whole.entries));
        expect(skipping.damagedLines).toBeLessThanOrEqual(whole.damagedLines);
      }),
      { numRuns: 300 },
    );
  });

  it("never throws in the parse of mounted volumes", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...tables),
        fc.array(change, { maxLength: 6 }),
        bytes(0, 12),
        (table, changes, uid) => {
          const text = changes.reduce(changed, table);

          const scan = scanMountedVolumes(
            { text, beganAt: 1, endedAt: 2 },
            { by: "own-pod", podUid: uid, override: undefined },
          );

          expect(scan).toMatchObject({ beganAt: 1, endedAt: 2 });
        },
      ),
      { numRuns: 300 },
    );
  });
});
