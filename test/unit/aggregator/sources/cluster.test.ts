import { describe, expect, it } from "vitest";
import type { Cluster } from "../../../../aggregator/sources/cluster.ts";
import { volumeMarkText } from "../../../../common/storage/volume-annotations.ts";
import type { Change, Item } from "./cluster-scene.ts";
import {
  added,
  attachment,
  claim,
  deleted,
  modified,
  node,
  nothing,
  pod,
  second,
  seen,
  stored,
  volume,
} from "./cluster-scene.ts";

const failed = { phase: "Failed" };
const bound = { status: { phase: "Bound" } };

describe("the cluster", () => {
  it("is synced when all collections have been listed", async () => {
    const { before, states } = await seen([], [], (cluster) => [cluster.unsynced(), cluster.areBindingsListed()]);

    const all = ["pods", "persistentvolumes", "nodes", "volumeattachments", "persistentvolumeclaims"];
    expect([before, ...states]).toEqual([
      [all, false],
      [[], true],
    ]);
  });

  const found = ({ allVolumes, volumesByHandle }: Cluster): number => {
    const [one] = allVolumes();
    return one?.csi === undefined ? 0 : volumesByHandle(one.csi.driver, one.csi.handleHash).length;
  };
  const nodesOfVolumes = ({ allVolumes, nodesWith }: Cluster): string =>
    [...allVolumes()].map((one) => `${one.key}: ${nodesWith(one)}`).join("; ");
  const held = (name: string): Item => {
    const annotations = { "mooring.dev/mounted-on": JSON.stringify({ claimUID: "claim-1", nodes: [name] }) };
    return claim({ annotations, status: stored("False", "Mounted") });
  };
  const marked = (name: string): Item => {
    const annotations = { "mooring.dev/mounted-on": volumeMarkText("uid-pv-1", [name]) };
    return volume({ annotations, status: { phase: "Released" } });
  };
  const holders = ({ isStoredHolder }: Cluster): string => ["n1", "n2"].filter(isStoredHolder).join();
  const used = (evidence: string): Item => {
    const use = { claimUID: "claim-1", release: "r", node: "n1", releasedAt: "2026-11-21T12:00:00.000Z" };
    const annotations = { "mooring.dev/last-use": JSON.stringify({ ...use, uncertaintyMs: null, evidence }) };
    return claim({ annotations, status: stored("True", "NodeGone") });
  };
  const assumed = ({ assumedOn }: Cluster): string => [...assumedOn("n1"), ...assumedOn("n2")].join();
  const inZone = (zone: string): Item => {
    const matchExpressions = [{ key: "zone", operator: "In", values: [zone] }];
    return volume({ spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } } });
  };
  const zoned = (zone: string): Item => node({ labels: { zone } });
  const misfits = (cluster: Cluster): string =>
    cluster
      .misfits("n1")
      .volumes.map(({ name, resourceVersion }) => `${name} ${resourceVersion}`)
      .join();
  const lostSince = (cluster: Cluster): string =>
    [...cluster.claims()].map((one) => cluster.claimPhaseSince(one)?.from).join();

  it.each<
    readonly [
      name: string,
      listed: readonly Item[],
      changes: readonly Change[],
      look: (cluster: Cluster) => string | number,
      states: readonly (string | number)[],
    ]
  >([
    [
      "finds volumes by driver and hashed handle, also after another change, and not when they are gone",
      [volume()],
      [modified(volume({ uid: "claim-2" })), deleted(volume())],
      found,
      [1, 1, 0],
    ],
    [
      "finds an attachment of a volume that is not known when that comes",
      [attachment()],
      [added(volume())],
      nodesOfVolumes,
      ["", "pv-1: n2"],
    ],
    [
      "knows the nodes that the stored status of a claim names, as long as it does",
      [held("n1")],
      [modified(held("n2")), deleted(held("n2"))],
      holders,
      ["n1", "n2", ""],
    ],
    [
      "knows the nodes that the mark of a volume names, as long as it does",
      [marked("n1")],
      [modified(marked("n2")), deleted(marked("n2"))],
      holders,
      ["n1", "n2", ""],
    ],
    [
      "knows the claims whose last use is only assumed to have ended with a node",
      [used("node-gone")],
      [modified(used("mount-table"))],
      assumed,
      ["shop/data", ""],
    ],
    [
      "names for a node the volumes of its pods that do not admit it, as long as that is so",
      [inZone("a"), zoned("a"), claim({ spec: { volumeName: "pv-1" } }), pod()],
      [
        ...[modified(inZone("b")), modified(zoned("b")), modified(zoned("c"))],
        ...[modified(pod(failed)), added(pod(second)), deleted(pod(second))],
      ],
      misfits,
      ["", "pv-1 101", "", "pv-1 101", "", "pv-1 101", ""],
    ],
    [
      "dates a claim that is Lost by its first sight",
      [claim({ status: { phase: "Lost" } })],
      [],
      lostSince,
      ["first-seen"],
    ],
  ])("%s", async (...[, listed, changes, look, expected]) => {
    const { states, cluster } = await seen(listed, changes, look);

    expect(states).toEqual(expected);
    expect(cluster.misfits("n2")).toEqual({ volumes: [], waiting: [] });
  });

  it("tells which claims' volumes came to a node or left it, those with the same handle included", async () => {
    const inUse = { volumesInUse: ["kubernetes.io/csi/csi.example^h-1"] };
    const { states, toldLater } = await seen(
      [volume(), volume({ name: "pv-2", claimName: "copy" }), node()],
      [added(attachment()), modified(node({ status: inUse })), deleted(attachment()), modified(node())],
      nodesOfVolumes,
    );

    expect(states).toEqual(["", "n2", "n2,n1", "n1", ""].map((nodes) => `pv-1: ${nodes}; pv-2: ${nodes}`));
    const both = ["look at shop/data", "look at shop/copy"];
    expect(toldLater).toEqual([...both, "node n1", ...both, ...both, "node n1", ...both]);
  });

  it("knows the nodes that have an agent pod, and tells when that changes", async () => {
    const agent = pod({ agent: true });
    const other = pod({ agent: true, ...second });
    const { states, toldLater } = await seen(
      [agent],
      [modified(agent), modified(pod({ agent: true, ...failed })), added(other), deleted(other)],
      (cluster) => cluster.hasAgentPod("n1"),
    );

    expect(states).toEqual([true, true, false, true, false]);
    expect(toldLater.filter((line) => line.includes("agent"))).toEqual(
      [false, true, false].map((isThere) => `agent pod on n1: ${isThere}`),
    );
  });

  it("tells of each change of a volume, counts volumes, and dates their phases", async () => {
    const released = (lastPhaseTransitionTime: string): Item => {
      const spec = { persistentVolumeReclaimPolicy: "Retain", capacity: { storage: "1Ki" } };
      return volume({ spec, status: { phase: "Released", lastPhaseTransitionTime } });
    };
    const past = released("2026-01-01T00:00:00Z");
    const { states, told } = await seen(
      [volume()],
      [modified(released("2099-01-01T00:00:00Z")), modified(past), deleted(past)],
      ({ storage, allVolumes, phaseSince }) => [
        ...[...storage.volumes.all()].map(({ kind, count, bytes }) => `${count} ${kind.phase} of ${bytes} bytes`),
        ...[...allVolumes()].map((one) => phaseSince(one)?.from),
      ],
    );

    expect(states).toEqual([
      ["1 other of 0 bytes", "first-seen"],
      ["1 Released of 1024 bytes", "first-seen"],
      ["1 Released of 1024 bytes", "api"],
      [],
    ]);
    expect(told.filter((line) => line === "volume pv-1")).toHaveLength(4);
  });

  it("tells of a claim that becomes bound, and how its class binds where that is known", async () => {
    const metadata = { name: "slow", uid: "class-1" };
    const path = "/apis/storage.k8s.io/v1/storageclasses";
    const slow: Item = { path, object: { metadata, volumeBindingMode: "WaitForFirstConsumer" } };
    const { states, told, cluster } = await seen(
      [slow, claim({ status: { phase: "Pending" } })],
      [modified(claim(bound)), modified(claim(bound))],
      ({ storage }) => [...storage.pending],
    );

    expect(states).toEqual([["shop/data"], [], []]);
    expect(told.filter((line) => line.includes("bound"))).toEqual(["shop/data is bound"]);
    const modes = ["slow", "odd", undefined].map((name) => cluster.storage.bindingOf(name));
    expect(modes).toEqual(["WaitForFirstConsumer", undefined, "Immediate"]);
  });

  it("counts an object that is not understood, and the others are there", async () => {
    const { path, object } = node();
    const odd: Item = { path, object: { ...object, metadata: { name: "n2", uid: "u2" }, status: "odd" } };
    const { cluster } = await seen([odd, node()], [], nothing);

    expect(cluster.nodeNames()).toEqual(["n1"]);
    const { nodes, pods } = cluster.informers;
    expect([nodes?.undecodable(), nodes?.unreadable(), nodes?.drift(), pods?.undecodable()]).toEqual([1, 1, 0, 0]);
  });
});
