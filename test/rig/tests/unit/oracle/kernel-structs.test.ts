import { describe, expect, it } from "vitest";
import { readEvents, readPlace } from "../../../oracle/kernel-structs.ts";

const ATTACH = 0x0100_0000n;
const DETACH = 0x0200_0000n;
const BIG = 0x8000_0000_0000_0001n;

/** An event as Linux 6.15 writes it: 24 bytes of metadata and a record of 16 bytes. */
function event(mask: bigint, mount: bigint, { version = 3, type = 7 } = {}): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.writeUInt32LE(40, 0);
  bytes.writeUInt8(version, 4);
  bytes.writeUInt16LE(24, 6);
  bytes.writeBigUInt64LE(mask, 8);
  bytes.writeInt32LE(-1, 16);
  bytes.writeUInt8(type, 24);
  bytes.writeUInt16LE(16, 26);
  bytes.writeBigUInt64LE(mount, 32);
  return bytes;
}

describe("readEvents", () => {
  it.each([
    { name: "nothing was there", bytes: [], expected: [] },
    { name: "a mount came", bytes: [event(ATTACH, 5n)], expected: ["5 +"] },
    { name: "a mount left", bytes: [event(DETACH, BIG)], expected: [`${BIG} -`] },
    { name: "a mount was moved", bytes: [event(ATTACH | DETACH, 5n)], expected: ["5 +-"] },
    {
      name: "several came at once",
      bytes: [event(ATTACH, 5n), event(ATTACH, 6n), event(DETACH, 5n)],
      expected: ["5 +", "6 +", "5 -"],
    },
  ])("$name", ({ bytes, expected }) => {
    const events = readEvents(Buffer.concat(bytes));

    const signs = ({ isAttached, isDetached }: (typeof events)[number]): string =>
      `${isAttached ? "+" : ""}${isDetached ? "-" : ""}`;
    expect(events.map((one) => `${one.mount} ${signs(one)}`)).toEqual(expected);
  });

  it.each([
    { name: "events were lost", bytes: event(0x4000n, 0n), message: "lost" },
    { name: "the form is another one", bytes: event(ATTACH, 5n, { version: 4 }), message: "another form" },
    { name: "the record is of another kind", bytes: event(ATTACH, 5n, { type: 1 }), message: "another form" },
  ])("stops when $name", ({ bytes, message }) => {
    expect(() => readEvents(bytes)).toThrow(message);
  });
});

describe("readPlace", () => {
  it("takes texts from where the offsets point", () => {
    const bytes = Buffer.alloc(600);
    bytes.writeUInt32LE(0, 16);
    bytes.writeUInt32LE(42, 20);
    bytes.write("tmpfs\0/\0/var/lib/a b\0", 512);
    for (const [at, offset] of [
      [36, 0],
      [104, 6],
      [108, 8],
    ] as const)
      bytes.writeUInt32LE(offset, at);

    expect(readPlace(bytes)).toEqual({ fsType: "tmpfs", root: "/", mountPoint: "/var/lib/a b", device: "0:42" });
  });
});
