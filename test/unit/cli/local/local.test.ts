import { describe, expect, it } from "vitest";
import { readLocalCommand } from "../../../../cli/local/command-line.ts";
import { othersFinalizers, whyNot } from "../../../../cli/local/forget.ts";
import { orphansOf } from "../../../../cli/local/orphans.ts";
import { poolsOf } from "../../../../cli/local/pools.ts";
import { sizeText } from "../../../../cli/local/size-text.ts";
import type { LocalState, LocalVolume, PoolReport } from "../../../../cli/local/state.ts";
import { deleteCommands } from "../../../../cli/local/uninstall.ts";

const GiB = 2 ** 30;

function volume(changes: Partial<LocalVolume> = {}): LocalVolume {
  return {
    ...{ name: "pvc-1", uid: "u1", resourceVersion: "1", node: "n1", isDeleting: false, finalizers: [] },
    ...{ pool: "default", poolId: "id-1", bytes: GiB, phase: "Bound", policy: "Delete", storageClass: "local" },
    claim: { namespace: "team", name: "data", uid: "c1" },
    ...changes,
  };
}

function report(changes: Partial<PoolReport> = {}): PoolReport {
  return {
    ...{ name: "mooring-1", namespace: "mooring-provisioner", uid: "r1", node: "n1", storageClass: "local" },
    ...{ freeBytes: 4 * GiB, pool: "default", poolId: "id-1", state: "ready", sizeBytes: 10 * GiB },
    ...{ problem: undefined, findings: undefined },
    ...changes,
  };
}

function state(changes: Partial<LocalState> = {}): LocalState {
  return {
    volumes: [volume()],
    reports: [report()],
    nodes: new Set(["n1"]),
    pods: [{ name: "p1", node: "n1", isReady: true }],
    missing: [],
    ...changes,
  };
}

const orphan = { volume: "pvc-9", pool: "default", bytes: 3 * GiB };
const FOUND = { orphans: [orphan], unavailable: ["pvc-1"], more: 0 };

describe("the state of a pool", () => {
  it.each([
    { name: "its provisioner reports ready", changes: {}, health: "usable" },
    { name: "it is lost", changes: { reports: [report({ state: "lost" })] }, health: "missing" },
    { name: "it was not begun", changes: { reports: [report({ state: "empty" })] }, health: "empty" },
    { name: "volumes name another identity", changes: { reports: [report({ poolId: "id-2" })] }, health: "swapped" },
    { name: "no pod is there", changes: { pods: [] }, health: "provisioner away" },
    {
      name: "its pod is not ready",
      changes: { pods: [{ name: "p", node: "n1", isReady: false }] },
      health: "provisioner away",
    },
    { name: "its node is gone", changes: { nodes: new Set<string>() }, health: "node gone" },
    { name: "volumes alone name it", changes: { reports: [] }, health: "unknown" },
    { name: "an unknown state is published", changes: { reports: [report({ state: "odd" })] }, health: "unknown" },
    {
      name: "nodes and pods may not be listed",
      changes: { nodes: undefined, pods: undefined },
      health: "usable",
    },
  ])("is $health where $name", ({ changes, health }) => {
    expect(poolsOf(state(changes)).map((one) => one.health)).toEqual([health]);
  });
});

describe("the free space of a pool", () => {
  it("is counted over its volumes and over images that have none, by the largest and by what is left", () => {
    const volumes = [volume(), volume({ name: "pvc-2", bytes: 2 * GiB }), volume({ node: "n2" })];
    const reports = [
      report({ findings: { ...FOUND, orphans: [orphan, { ...orphan, pool: "fast" }] } }),
      report({ storageClass: "wrong", freeBytes: 10 * GiB }),
    ];

    const [pool] = poolsOf(state({ volumes, reports }));

    expect(pool).toMatchObject({
      ...{ node: "n1", pool: "default", sizeBytes: 10 * GiB, freeBytes: 4 * GiB, usedBytes: 6 * GiB, volumes: 2 },
      ...{ largest: { name: "pvc-2", bytes: 2 * GiB }, storageClasses: ["local", "wrong"] },
    });
  });

  it("is not shown for a class whose pool the node does not have", () => {
    expect(poolsOf(state({ volumes: [], reports: [report({ pool: undefined })] }))).toEqual([]);
  });
});

describe("orphans", () => {
  it.each([
    { name: "nothing", changes: {}, expected: [] },
    {
      name: "an image without a volume, once however many classes there are",
      changes: {
        reports: [report({ findings: { ...FOUND, unavailable: [] } }), report({ name: "b", findings: FOUND })],
      },
      expected: [["image without volume", "pvc-9", undefined]],
    },
    {
      name: "no image whose volume was put back",
      changes: { volumes: [volume({ name: "pvc-9" })], reports: [report({ findings: { ...FOUND, unavailable: [] } })] },
      expected: [],
    },
    {
      name: "a volume whose image is missing",
      changes: { reports: [report({ findings: { ...FOUND, orphans: [] } })] },
      expected: [["volume without data", "pvc-1", "team/data"]],
    },
    {
      name: "no volume that is gone meanwhile",
      changes: { volumes: [], reports: [report({ findings: { ...FOUND, orphans: [] } })] },
      expected: [],
    },
    {
      name: "a volume of a node that is gone, without the last publication of its provisioner",
      changes: { nodes: new Set<string>(), reports: [report({ findings: FOUND })] },
      expected: [["node gone", "pvc-1", "team/data"]],
    },
    { name: "no node that is gone where nodes may not be listed", changes: { nodes: undefined }, expected: [] },
  ])("is $name", ({ changes, expected }) => {
    const { items } = orphansOf(state(changes));

    expect(items.map(({ kind, volume, claim }) => [kind, volume, claim])).toEqual(expected);
  });

  it.each([
    {
      name: "the pool is missing",
      changes: { state: "lost", problem: "no disk" },
      why: 'pool "default" is missing: no disk',
    },
    { name: "another disk is there", changes: { poolId: "id-2" }, why: 'pool "default" was swapped' },
    { name: "the image is missing", changes: {}, why: 'pool "default" does not have its image' },
    {
      name: "nothing is published about the pool",
      changes: { pool: "fast" },
      why: 'nothing is known of pool "default" there',
    },
  ])("gives the reason: $name", ({ changes, why }) => {
    const { items } = orphansOf(state({ reports: [report({ ...changes, findings: { ...FOUND, orphans: [] } })] }));

    expect(items.map((one) => one.why)).toEqual([why]);
  });

  it("counts omitted orphans, and names nodes without a provisioner", () => {
    const { more, unheard } = orphansOf(state({ reports: [report({ findings: { ...FOUND, more: 7 } })], pods: [] }));

    expect({ more, unheard }).toEqual({ more: 7, unheard: ["n1"] });
  });
});

describe("a node", () => {
  it.each([
    { name: "whose object exists", hasNode: true, pods: [], why: "node n1 exists" },
    {
      name: "whose provisioner runs",
      hasNode: false,
      pods: [{ name: "p1", node: "n1", isReady: false }],
      why: "the provisioner's pod p1 of node n1 is not over",
    },
  ])("$name is not forgotten", ({ hasNode, pods, why }) => {
    expect(whyNot({ node: "n1", hasNode, pods })).toContain(why);
  });

  it("that is gone is, also while provisioners run elsewhere", () => {
    const pods = [{ name: "p2", node: "n2", isReady: true }];

    expect(whyNot({ node: "n1", hasNode: false, pods })).toBeUndefined();
  });

  it("removes the finalizers of Kubernetes and the provisioner, and no others", () => {
    const finalizers = [
      "kubernetes.io/pv-protection",
      "external-provisioner.volume.kubernetes.io/finalizer",
      "backup.example/hold",
    ];

    expect(othersFinalizers({ finalizers })).toEqual(["backup.example/hold"]);
  });
});

describe("the commands that delete a volume and its data", () => {
  const retain = 'kubectl patch pv pvc-1 -p \'{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}\'';
  const pvc = "kubectl -n team delete pvc data";

  it.each([
    { name: "that is bound", changes: {}, commands: [pvc] },
    { name: "that is bound and retained", changes: { policy: "Retain" }, commands: [retain, pvc] },
    { name: "that is bound and deleted already", changes: { isDeleting: true }, commands: [pvc] },
    { name: "that is released and retained", changes: { policy: "Retain", phase: "Released" }, commands: [retain] },
    { name: "that is released, which the provisioner deletes", changes: { phase: "Released" }, commands: [] },
    { name: "that no claim has", changes: { phase: "Available" }, commands: ["kubectl delete pv pvc-1"] },
    { name: "that no claim has, and is deleted", changes: { phase: "Available", isDeleting: true }, commands: [] },
    { name: "of a node that is gone", changes: { node: "n2" }, commands: ["npm run -s local -- forget n2 --yes"] },
  ])("$name", ({ changes, commands }) => {
    expect(deleteCommands([volume(changes)], new Set(["n1"]))).toEqual(commands);
  });

  it("is shown once for all volumes of a node that is gone, and never where nodes may not be listed", () => {
    const both = [volume({ node: "n2" }), volume({ node: "n2", name: "pvc-2" })];

    expect(deleteCommands(both, new Set(["n1"]))).toHaveLength(1);
    expect(deleteCommands([volume({ node: "n2" })], undefined)).toEqual([pvc]);
  });
});

describe("sizes", () => {
  it.each([
    { bytes: 0, text: "0" },
    { bytes: 1023, text: "1023" },
    { bytes: 1.5 * GiB, text: "1.5Gi" },
    { bytes: 10.9 * GiB, text: "10Gi" },
    { bytes: 2 ** 53, text: "8Pi" },
  ])("$bytes bytes are $text", ({ bytes, text }) => {
    expect(sizeText(bytes)).toBe(text);
  });
});

describe("the command line", () => {
  const read = (...argv: readonly string[]) => readLocalCommand({ argv, env: {} });

  it.each([
    { argv: ["pools"], command: { kind: "pools", flags: { output: "table" } } },
    { argv: ["orphans", "-o", "json"], command: { kind: "orphans", flags: { output: "json" } } },
    { argv: ["uninstall"], command: { kind: "uninstall", isConfirmed: false } },
    { argv: ["uninstall", "--yes"], command: { kind: "uninstall", isConfirmed: true } },
    { argv: ["forget", "n1"], command: { kind: "forget", node: "n1", isConfirmed: false } },
    {
      argv: ["forget", "n1", "--yes", "--context", "west"],
      command: { kind: "forget", node: "n1", isConfirmed: true, flags: { context: "west" } },
    },
  ])("$argv", ({ argv, command }) => {
    expect(read(...argv)).toMatchObject(command);
  });

  it.each([
    { argv: [], says: "Usage: local" },
    { argv: ["pool"], says: "unknown command 'pool'" },
    { argv: ["pools", "-o", "yaml"], says: "Allowed choices are table, json" },
    { argv: ["pools", "more"], says: "too many arguments" },
    { argv: ["uninstall", "n1"], says: "too many arguments" },
    { argv: ["forget"], says: "missing required argument 'node'" },
    { argv: ["forget", "a/../b"], says: "A node's name has" },
  ])("$argv is a problem", ({ argv, says }) => {
    expect(read(...argv)).toMatchObject({ kind: "problem", text: expect.stringContaining(says) });
  });

  it.each([["--help"], ["pools", "--help"], ["forget", "-h"]])("%s %s is help", (...argv) => {
    expect(read(...argv)).toMatchObject({ kind: "help", text: expect.stringContaining("Usage: local") });
  });
});
