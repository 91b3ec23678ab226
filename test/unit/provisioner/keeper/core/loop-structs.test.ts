import { describe, expect, it } from "vitest";
import {
  decodeLoopInfo,
  deviceNumber,
  emptyLoopInfo,
  encodeLoopConfig,
  withoutAutoclear,
} from "../../../../../provisioner/keeper/core/loop-structs.ts";

describe("encodeLoopConfig", () => {
  it.each([
    { name: "with direct I/O", directIo: true, flags: 16 },
    { name: "without", directIo: false, flags: 0 },
  ])("writes the struct $name, and never that it detaches by itself", ({ directIo, flags }) => {
    const config = encodeLoopConfig({ descriptor: 21, fileName: "a.img", blockBytes: 4_096, directIo });

    expect(config.length).toBe(304);
    expect([config.readUInt32LE(0), config.readUInt32LE(4), config.readUInt32LE(60)]).toEqual([21, 4_096, flags]);
    expect(config.toString("latin1", 64, 70)).toBe("a.img\0");
    expect(config.filter((byte) => byte !== 0).length).toBe(2 + 5 + Number(directIo));
  });

  it("cuts a name that is too long before the last byte, which stays 0", () => {
    const config = encodeLoopConfig({ descriptor: 0, fileName: "x".repeat(200), blockBytes: 0, directIo: false });

    expect(config.toString("latin1", 64)).toBe("x".repeat(63) + "\0".repeat(304 - 64 - 63));
  });
});

describe("decodeLoopInfo", () => {
  it.each([
    { flags: 0, autoclear: false },
    { flags: 16, autoclear: false },
    { flags: 4, autoclear: true },
    { flags: 21, autoclear: true },
  ])("reads the file's identity and flags $flags", ({ flags, autoclear }) => {
    const info = emptyLoopInfo();
    info.writeBigUInt64LE(0x811n, 0);
    info.writeBigUInt64LE(2n ** 40n + 7n, 8);
    info.writeUInt32LE(flags, 52);

    expect(decodeLoopInfo(info)).toEqual({ device: 0x811n, inode: 2n ** 40n + 7n, autoclear });
    expect(decodeLoopInfo(withoutAutoclear(info))).toMatchObject({ inode: 2n ** 40n + 7n, autoclear: false });
    expect(withoutAutoclear(info).readUInt32LE(52)).toBe(flags & ~4);
  });
});

describe("deviceNumber", () => {
  it.each([
    { dev: 0x0700n, number: "7:0" },
    { dev: 0x0811n, number: "8:17" },
    { dev: 0x10070cn, number: "7:268" },
    { dev: 0x10300n, number: "259:0" },
  ])("$dev is $number", ({ dev, number }) => {
    expect(deviceNumber(dev)).toBe(number);
  });
});
