import { describe, expect, it } from "vitest";
import {
  type Capacity,
  capacityChanges,
  desiredCapacities,
  type StoredCapacity,
} from "../../../../provisioner/core/capacity.ts";
import type { LocalNode, StorageClass } from "../../../../provisioner/core/objects.ts";
import type { PoolState } from "../../../../provisioner/protocol.ts";
import { classWith, GiB, MiB, nodeWith, POOL_ID, poolWith } from "../objects.ts";

interface Row {
  readonly name: string;
  readonly node?: Partial<LocalNode>;
  readonly classes: readonly Partial<StorageClass>[];
  readonly pools: readonly Partial<PoolState>[];
  readonly bytes: readonly number[];
}

describe("the published capacity of a node", () => {
  it.each<Row>([
    { name: "is what its pool has, in whole MiB", classes: [{}], pools: [{ freeBytes: GiB + 5 }], bytes: [GiB] },
    { name: "is nothing in a pool that is lost", classes: [{}], pools: [{ state: "lost" }], bytes: [0] },
    {
      name: "is nothing in a pool that was not begun",
      classes: [{}],
      pools: [{ state: "empty" }],
      bytes: [0],
    },
    { name: "is nothing without the pool", classes: [{ parameters: { pool: "fast" } }], pools: [{}], bytes: [0] },
    {
      name: "is published for each class",
      classes: [{}, { name: "other", parameters: { pool: "fast" } }],
      pools: [{}, { name: "fast", freeBytes: MiB }],
      bytes: [4 * GiB, MiB],
    },
    {
      name: "is not published for a class of another provisioner",
      classes: [{ provisioner: "x" }],
      pools: [{}],
      bytes: [],
    },
    {
      name: "is not published for a node with another host name",
      node: { hostname: "h" },
      classes: [{}],
      pools: [{}],
      bytes: [],
    },
    {
      name: "is not published for a node without a host name",
      node: { hostname: undefined },
      classes: [{}],
      pools: [{}],
      bytes: [],
    },
    {
      name: "is not published for a class with the binding mode Immediate",
      classes: [{ bindingMode: "Immediate" }],
      pools: [{}],
      bytes: [],
    },
    {
      name: "is the whole pool for a class with wrong parameters, so that its claims get an event",
      classes: [{ parameters: { type: "ssd" } }],
      pools: [{ freeBytes: 0 }],
      bytes: [10 * GiB],
    },
  ])("$name", ({ node, classes, pools, bytes }) => {
    const desired = desiredCapacities(nodeWith(node), { classes: classes.map(classWith), pools: pools.map(poolWith) });

    expect(desired.map((one) => one.bytes)).toEqual(bytes);
  });

  it("has a name of its own for each class and node", () => {
    const pools = [poolWith()];
    const classes = [classWith(), classWith({ name: "other" })];
    const names = ["n1", "n2"]
      .flatMap((name) => desiredCapacities(nodeWith({ name, hostname: name }), { classes, pools }))
      .map(({ name }) => name);

    expect(new Set(names).size).toBe(4);
    expect(names.filter((name) => !/^mooring-[0-9a-f]{16}$/.test(name))).toEqual([]);
  });
});

describe("the annotations about a pool", () => {
  const notesOf = (pool: Partial<PoolState>, parameters = {}) =>
    desiredCapacities(nodeWith(), { classes: [classWith({ parameters })], pools: [poolWith(pool)] })[0]?.notes;

  it.each([
    {
      name: "is its name, identity, state and size",
      pool: {},
      notes: { pool: "default", "pool-id": POOL_ID, "pool-state": "ready", "pool-size": "10Gi" },
    },
    {
      name: "is what is wrong with it, cut where it is long",
      pool: { state: "lost" as const, id: undefined, totalBytes: 0, why: "x".repeat(2_000) },
      notes: { pool: "default", "pool-state": "lost", "pool-size": "0", "pool-problem": "x".repeat(512) },
    },
  ])("$name", ({ pool, notes }) => {
    const told = Object.fromEntries(Object.entries(notes).map(([key, value]) => [`local.mooring.dev/${key}`, value]));

    expect(notesOf(pool)).toEqual(told);
  });

  it("is nothing for a class whose pool this node does not have", () => {
    expect(notesOf({}, { pool: "fast" })).toEqual({});
  });
});

describe("capacityChanges", () => {
  const NOTES = { "local.mooring.dev/pool": "default", "local.mooring.dev/pool-state": "ready" };
  const want = (bytes: number): Capacity => ({
    name: "a",
    storageClass: "local",
    nodeName: "n1",
    bytes,
    slackBytes: 100 * MiB,
    notes: NOTES,
  });
  const stored = (changes: Partial<StoredCapacity> = {}): StoredCapacity => ({
    ...{ name: "a", uid: "u", resourceVersion: "1", storageClass: "local", hostname: "n1", bytes: GiB },
    notes: NOTES,
    ...changes,
  });

  it.each([
    {
      name: "writes nothing when all is as it should be",
      stands: [stored()],
      desired: [want(GiB)],
      expected: [0, 0, 0],
    },
    { name: "creates what is missing", stands: [], desired: [want(GiB)], expected: [1, 0, 0] },
    { name: "writes a large difference", stands: [stored()], desired: [want(2 * GiB)], expected: [0, 1, 0] },
    { name: "lets a small one wait", stands: [stored()], desired: [want(GiB - MiB)], expected: [0, 0, 0] },
    {
      name: "writes a small difference on request",
      stands: [stored()],
      desired: [want(GiB - MiB)],
      isExact: true,
      expected: [0, 1, 0],
    },
    {
      name: "always writes that there is nothing",
      stands: [stored({ bytes: MiB })],
      desired: [want(0)],
      expected: [0, 1, 0],
    },
    {
      name: "always writes that there is something",
      stands: [stored({ bytes: 0 })],
      desired: [want(MiB)],
      expected: [0, 1, 0],
    },
    {
      name: "writes what cannot be read",
      stands: [stored({ bytes: undefined })],
      desired: [want(GiB)],
      expected: [0, 1, 0],
    },
    {
      name: "writes annotations that have changed",
      stands: [stored({ notes: { ...NOTES, "local.mooring.dev/pool-state": "lost" } })],
      desired: [want(GiB)],
      expected: [0, 1, 0],
    },
    {
      name: "removes annotations that no longer apply",
      stands: [stored({ notes: { ...NOTES, "local.mooring.dev/findings": "{}" } })],
      desired: [want(GiB)],
      expected: [0, 1, 0],
    },
    {
      name: "does not write for the text of a problem alone, which may change all the time",
      stands: [stored({ notes: { ...NOTES, "local.mooring.dev/pool-problem": "no answer for 3 s" } })],
      desired: [want(GiB)],
      expected: [0, 0, 0],
    },
    { name: "removes what is for nothing", stands: [stored({ name: "b" })], desired: [], expected: [0, 0, 1] },
    {
      name: "removes one of another host first",
      stands: [stored({ hostname: "x" })],
      desired: [want(GiB)],
      expected: [0, 0, 1],
    },
    {
      name: "removes one of another class first",
      stands: [stored({ storageClass: "x" })],
      desired: [want(GiB)],
      expected: [0, 0, 1],
    },
  ])("$name", ({ stands, desired, isExact = false, expected }) => {
    const { create, update, remove } = capacityChanges(stands, desired, isExact);

    expect([create.length, update.length, remove.length]).toEqual(expected);
  });
});
