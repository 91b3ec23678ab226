import { describe, expect, it } from "vitest";
import { compactionRequest, grpcFrame } from "../../../faults/etcd.ts";

describe("a request for compaction", () => {
  it.each([
    { revision: 1n, bytes: [0x08, 0x01, 0x10, 0x01] },
    { revision: 127n, bytes: [0x08, 0x7f, 0x10, 0x01] },
    { revision: 128n, bytes: [0x08, 0x80, 0x01, 0x10, 0x01] },
    { revision: 300n, bytes: [0x08, 0xac, 0x02, 0x10, 0x01] },
    { revision: 1n << 40n, bytes: [0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x10, 0x01] },
  ])("at revision $revision is what protobuf makes of it", ({ revision, bytes }) => {
    expect([...compactionRequest(revision)]).toEqual(bytes);
  });

  it("is framed with its length", () => {
    expect([...grpcFrame(Buffer.from([7, 8, 9]))]).toEqual([0, 0, 0, 0, 3, 7, 8, 9]);
  });
});
