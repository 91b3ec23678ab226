import { describe, expect, it } from "vitest";
import { identify, type PoolObservation } from "../../../../../provisioner/keeper/core/identity.ts";

const ID = "0b9f6a3e-52c4-4d18-8a77-6f2f0f1b9c01";
const IMAGE = "pvc-7f1e6d6c-3f0a-4c55-9a1e-0d5d3b1f2a10.img";
const EXT4 = 0xef53;
const XFS = 0x58465342;
const TMPFS = 0x01021994;

function folder(change: Partial<Extract<PoolObservation, { kind: "folder" }>> = {}): PoolObservation {
  const names = ["pool.json", IMAGE];
  return { kind: "folder", filesystem: EXT4, names, id: { value: ID }, device: "8:1", mountedDevice: "8:1", ...change };
}

describe("identify", () => {
  it.each([
    { name: "a pool on ext4", observation: folder(), identity: { state: "ready", id: ID } },
    { name: "a pool on XFS", observation: folder({ filesystem: XFS }), identity: { state: "ready", id: ID } },
    {
      name: "a pool that is no mount point",
      observation: folder({ mountedDevice: undefined }),
      identity: { state: "ready", id: ID },
    },
    {
      name: "a pool without images",
      observation: folder({ names: ["pool.json"] }),
      identity: { state: "ready", id: ID },
    },
    {
      name: "a new filesystem",
      observation: folder({ names: ["lost+found"], id: undefined }),
      identity: { state: "empty" },
    },
  ])("$name is $identity.state", ({ observation, identity }) => {
    expect(identify(observation)).toEqual(identity);
  });

  it.each<{ name: string; observation: PoolObservation; why: string }>([
    { name: "no folder", observation: { kind: "missing" }, why: "is missing" },
    { name: "a folder that cannot be read", observation: { kind: "unreadable", why: "EIO: i/o error" }, why: "EIO" },
    { name: "images without a UUID", observation: folder({ names: [IMAGE], id: undefined }), why: "no pool.json" },
    { name: "files of another program", observation: folder({ names: ["etc"], id: undefined }), why: "no pool.json" },
    { name: "a damaged UUID", observation: folder({ id: { problem: "not JSON" } }), why: "damaged: not JSON" },
    {
      name: "another filesystem",
      observation: folder({ filesystem: TMPFS }),
      why: "neither ext4 nor XFS (type 0x1021994)",
    },
    {
      name: "an empty folder of another filesystem",
      observation: folder({ filesystem: TMPFS, names: [], id: undefined }),
      why: "neither ext4 nor XFS",
    },
    {
      name: "a disk that the node has mounted and the keeper does not see",
      observation: folder({ device: "8:1", mountedDevice: "8:17", names: [], id: undefined }),
      why: "restart the keeper",
    },
  ])("$name is lost, with the reason", ({ observation, why }) => {
    expect(identify(observation)).toEqual({ state: "lost", why: expect.stringContaining(why) });
  });
});
