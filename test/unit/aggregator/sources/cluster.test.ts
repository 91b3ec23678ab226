import { describe, expect, it, onTestFinished } from "vitest";
import { type Cluster, createCluster } from "../../../../aggregator/sources/cluster.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { volumeMarkText } from "../../../../common/storage/volume-annotations.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport } from "../../../fakes/transport.ts";

/** A collection whose watch tells what the test pushes. */
class WatchedCollection {
  readonly items: object[] = [];
  readonly #events: object[] = [];
  #wake = (): void => {};

  push(event: object): void {
    this.#events.push(event);
    this.#wake();
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    for (;;) {
      for (const event of this.#events.splice(0)) yield Buffer.from(`${JSON.stringify(event)}\n`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

const AGENTS = { namespace: "mooring-agents", account: "mooring-agent" };

/** An object of a collection, and what the watch tells of it. */
type Item = readonly [collection: string, object: object];
type Change = readonly [type: "ADDED" | "MODIFIED" | "DELETED", item: Item];
const added = (item: Item): Change => ["ADDED", item];
const modified = (item: Item): Change => ["MODIFIED", item];
const deleted = (item: Item): Change => ["DELETED", item];

function clusterOf(collection: (name: string) => WatchedCollection, told: string[]): Cluster {
  const transport = createFakeTransport(({ path }) => {
    const [plain = "", query = ""] = path.split("?");
    const found = collection(plain.slice(plain.lastIndexOf("/") + 1));
    if (query.includes("watch=")) return { body: found.stream() };
    return { body: JSON.stringify({ metadata: { resourceVersion: "100" }, items: found.items }) };
  });
  const clock = createFakeClock();
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const cluster = createCluster(
    { client, clock, random: createFakeRandom(), logger: createFakeLogger(), agents: AGENTS },
    {
      onClaim: (key) => told.push(`look at ${key}`),
      onClaimGone: ({ key }) => told.push(`${key} is gone`),
      onClaimRolledBack: ({ key, status }) => told.push(`${key} was set back from ${status?.sinceMs}`),
      onClaimBound: ({ key }) => told.push(`${key} is bound`),
      onPodEnded: ({ pod: { uid, hasStarted }, gone }) =>
        told.push(`${uid} ended by ${gone}${hasStarted ? ", had started" : ""}`),
      onVolume: (name) => told.push(`volume ${name}`),
      onNode: (name) => told.push(`node ${name}`),
      onPodsListed: () => {},
      onPodPlaced: ({ uid, node }) => told.push(`${uid} is placed on ${node}`),
      onRejected: ({ uid, node }) => told.push(`${uid} rejected on ${node}`),
      onAgentPod: (node) => told.push(`agent pod on ${node}: ${cluster.hasAgentPod(node)}`),
    },
  );
  return cluster;
}

/** What the cluster says once these objects are listed, and after each of the changes; and what it told of its own accord. */
async function seen<T>(listed: readonly Item[], changes: readonly Change[], look: (cluster: Cluster) => T) {
  const collections = new Map<string, WatchedCollection>();
  const of = (name: string): WatchedCollection => {
    const collection = collections.get(name) ?? new WatchedCollection();
    collections.set(name, collection);
    return collection;
  };
  const told: string[] = [];
  const cluster = clusterOf(of, told);
  for (const [collection, object] of listed) of(collection).items.push(object);
  const before = look(cluster);
  const stopping = new AbortController();
  const running = cluster.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await running;
  });
  await settle();
  const states = [look(cluster)];
  const listedTold = told.length;
  for (const [type, [collection, object]] of changes) {
    of(collection).push({ type, object });
    await settle();
    states.push(look(cluster));
  }
  const toldOf = (word: string): readonly string[] => told.filter((line) => line.includes(word));
  return { before, states, cluster, told, toldOf, toldLater: told.slice(listedTold) };
}

const nothing = (): undefined => undefined;

interface PodFields {
  readonly isPlaced?: boolean;
  readonly phase?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly volumes?: readonly string[];
  readonly agent?: boolean;
  readonly annotations?: object;
  readonly reason?: string;
}

function pod(version: number, fields: PodFields = {}): Item {
  const {
    phase = "Running",
    name = "web-0",
    uid = "pod-1",
    volumes = ["data"],
    agent = false,
    isPlaced = true,
  } = fields;
  const { annotations, reason } = fields;
  const labels = agent ? { "app.kubernetes.io/name": "mooring-agent" } : {};
  const { namespace, account } = agent ? AGENTS : { namespace: "shop", account: "default" };
  const object = {
    metadata: { namespace, name, uid, resourceVersion: String(version), labels, annotations },
    spec: {
      ...(isPlaced && { nodeName: "n1" }),
      serviceAccountName: account,
      volumes: volumes.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
    status: { phase, reason, containerStatuses: [{ state: { running: {} } }] },
  };
  return ["pods", object];
}

function node(version: number, fields: { readonly status?: object; readonly labels?: object } = {}): Item {
  const { status = {}, labels } = fields;
  return ["nodes", { metadata: { name: "n1", uid: "node-1", resourceVersion: String(version), labels }, status }];
}

function attachment(version: number): Item {
  const metadata = { name: "csi-0a1b", uid: "attachment-1", resourceVersion: String(version) };
  const spec = { attacher: "csi.example", nodeName: "n2", source: { persistentVolumeName: "pv-1" } };
  return ["volumeattachments", { metadata, spec }];
}

interface Fields {
  readonly annotations?: object;
  readonly spec?: object;
  readonly status?: object;
}

interface VolumeFields extends Fields {
  readonly name?: string;
  readonly claimName?: string;
  readonly uid?: string;
}

/** `uid` is that of its claim. */
function volume(version: number, fields: VolumeFields = {}): Item {
  const { name = "pv-1", claimName = "data", uid = "claim-1", annotations, spec, status } = fields;
  const csi = { driver: "csi.example", volumeHandle: "h-1" };
  const claimRef = { namespace: "shop", name: claimName, uid };
  const metadata = { name, uid: `uid-${name}`, resourceVersion: String(version), annotations };
  return ["persistentvolumes", { metadata, spec: { csi, claimRef, ...spec }, status }];
}

function claim(
  version: number,
  { uid = "claim-1", annotations, spec, status }: Fields & { readonly uid?: string } = {},
): Item {
  const identity = { namespace: "shop", name: "data", uid, resourceVersion: String(version) };
  const metadata = { ...identity, creationTimestamp: "2020-01-01T00:00:00Z", annotations };
  return ["persistentvolumeclaims", { metadata, spec, status }];
}

/** A stored condition. */
function stored(status: string, reason: string, lastTransitionTime = "2026-11-21T12:00:00Z"): object {
  const condition = { type: "mooring.dev/Unused", status, reason, lastTransitionTime };
  return { phase: "Bound", conditions: [condition] };
}

describe("pods that end", () => {
  it.each<{
    readonly name: string;
    readonly listed?: readonly Item[];
    readonly changes: readonly Change[];
    readonly ends: readonly string[];
  }>([
    { name: "a pod that runs has not ended", changes: [added(pod(101))], ends: [] },
    {
      name: "a pod that finishes ends once, though it is deleted later",
      changes: [
        added(pod(101)),
        modified(pod(102, { phase: "Succeeded" })),
        modified(pod(103, { phase: "Succeeded" })),
        deleted(pod(104, { phase: "Succeeded" })),
      ],
      ends: ["pod-1 ended by 102, had started"],
    },
    {
      name: "a pod that vanishes ends with its deletion",
      listed: [pod(99)],
      changes: [deleted(pod(104))],
      ends: ["pod-1 ended by 104, had started"],
    },
    {
      name: "a deletion that is the first to show that the pod had finished ends it, too",
      listed: [pod(99)],
      changes: [deleted(pod(104, { phase: "Failed" }))],
      ends: ["pod-1 ended by 104, had started"],
    },
    {
      name: "a pod that is re-created under its name ends by the new one's version",
      listed: [pod(99)],
      changes: [added(pod(105, { uid: "pod-2" }))],
      ends: ["pod-1 ended by 105, had started"],
    },
    {
      name: "a pod that had finished before it was first listed has ended at no time that anybody saw",
      listed: [pod(99, { phase: "Failed" })],
      changes: [deleted(pod(104, { phase: "Failed" }))],
      ends: [],
    },
    {
      name: "a pod that is first seen finished by the watch came and went unseen",
      changes: [added(pod(104, { phase: "Succeeded" }))],
      ends: ["pod-1 ended by 104, had started"],
    },
  ])("$name", async ({ listed = [], changes, ends }) => {
    const { toldOf } = await seen(listed, changes, nothing);

    expect(toldOf("ended")).toEqual(ends);
  });

  it("a vanished pod is still known by its UID, so that its mounts are not taken for another's", async () => {
    const mine = { volumes: [] };
    const { cluster } = await seen([pod(99, mine)], [deleted(pod(104, mine))], nothing);

    expect(cluster.podByUid("pod-1")?.claims).toEqual([]);
    expect([cluster.podName("pod-1"), cluster.podName("pod-9")]).toEqual(["shop/web-0", "pod-9"]);
    expect(cluster.podsOf("shop/data")).toEqual([]);
  });

  it("a vanished pod is remembered with the claims that there are, and not with thousands that there are not", async () => {
    const volumes = [...Array.from({ length: 3_000 }, (_, index) => `absent-${index}`), "data"];
    const claimsOf = ({ podByUid }: Cluster) => podByUid("pod-1")?.claims ?? [];
    const { states } = await seen([claim(90), pod(90, { volumes })], [deleted(pod(110, { volumes }))], claimsOf);

    expect(states.map((claims) => [claims.length, claims.at(-1)])).toEqual([
      [3_001, "data"],
      [33, "data"],
    ]);
  });
});

describe("a claim that is made again under its name", () => {
  const again = [deleted(claim(111)), added(claim(112, { uid: "claim-2" }))];
  /** Of the earlier and the later claim those that the pod had. */
  const known = ({ knewClaim }: Cluster, podUid = "pod-1"): readonly string[] =>
    ["claim-1", "claim-2"].filter((uid) => knewClaim(podUid, { key: "shop/data", uid }));

  it.each<{
    readonly name: string;
    readonly listed: Item;
    readonly changes: readonly Change[];
    readonly knew: string[][];
  }>([
    {
      name: "was not that of a pod that vanished before",
      listed: pod(90),
      changes: [deleted(pod(110)), ...again],
      knew: [["claim-1"], ["claim-1"], ["claim-1"], ["claim-1"]],
    },
    {
      name: "was not that of a pod that had finished, which does not keep its claim",
      listed: pod(90),
      changes: [modified(pod(100, { phase: "Succeeded" })), ...again, deleted(pod(120, { phase: "Succeeded" }))],
      knew: [["claim-1"], ["claim-1"], ["claim-1"], ["claim-1"], ["claim-1"]],
    },
    {
      name: "was not that of a pod that runs on, where somebody took the finalizer of the claim",
      listed: pod(90),
      changes: [...again, deleted(pod(120))],
      knew: [["claim-1"], [], [], []],
    },
    {
      name: "is that of a pod that waits for a node: it used nothing of the earlier one",
      listed: pod(90, { phase: "Pending", isPlaced: false }),
      changes: [...again, modified(pod(120))],
      knew: [["claim-1"], [], ["claim-2"], ["claim-2"]],
    },
  ])("$name", async ({ listed, changes, knew }) => {
    const { states, cluster } = await seen([claim(90), listed], changes, known);

    expect(states).toEqual(knew);
    expect(known(cluster, "pod-9")).toEqual([]);
  });

  it("is told as gone first", async () => {
    const bound = { status: { phase: "Bound" } };
    const { told, cluster } = await seen(
      [claim(99, bound)],
      [added(claim(101, { ...bound, uid: "claim-2" }))],
      nothing,
    );

    expect(told).toEqual(["look at shop/data", "shop/data is gone", "look at shop/data"]);
    expect(cluster.claim("shop/data")?.uid).toBe("claim-2");
  });
});

describe("createCluster", () => {
  it("is synced when all collections have been listed", async () => {
    const { before, states } = await seen([], [], (cluster) => [cluster.unsynced(), cluster.areBindingsListed()]);

    const all = ["pods", "persistentvolumes", "nodes", "volumeattachments", "persistentvolumeclaims"];
    expect([before, ...states]).toEqual([
      [all, false],
      [[], true],
    ]);
  });

  it("finds volumes by driver and hashed handle, also after another change, and not when they are gone", async () => {
    const found = ({ allVolumes, volumesByHandle }: Cluster): number => {
      const [one] = allVolumes();
      return one?.csi === undefined ? 0 : volumesByHandle(one.csi.driver, one.csi.handleHash).length;
    };
    const changes = [modified(volume(101, { uid: "claim-2" })), deleted(volume(102))];
    const { states, told } = await seen([volume(99)], changes, found);

    expect(states).toEqual([1, 1, 0]);
    expect(told).toContain("look at shop/data");
  });

  it("tells which claims' volumes came to a node or left it, those with the same handle included", async () => {
    const inUse = { volumesInUse: ["kubernetes.io/csi/csi.example^h-1"] };
    const { states, toldLater } = await seen(
      [volume(98), volume(99, { name: "pv-2", claimName: "copy" }), node(99)],
      [added(attachment(101)), modified(node(102, { status: inUse })), deleted(attachment(103)), modified(node(104))],
      ({ allVolumes, nodesWith }) => [...allVolumes()].map((one) => nodesWith(one).join()),
    );

    expect(states).toEqual([
      ["", ""],
      ["n2", "n2"],
      ["n2,n1", "n2,n1"],
      ["n1", "n1"],
      ["", ""],
    ]);
    const both = ["look at shop/data", "look at shop/copy"];
    expect(toldLater).toEqual([...both, "node n1", ...both, ...both, "node n1", ...both]);
  });

  it("finds an attachment of a volume that is not known when that comes", async () => {
    const { states } = await seen([attachment(99)], [added(volume(101))], ({ allVolumes, nodesWith }) =>
      [...allVolumes()].flatMap(nodesWith),
    );

    expect(states).toEqual([[], ["n2"]]);
  });

  it("knows the nodes that have an agent pod, and tells when that changes", async () => {
    const agent = (version: number, fields: PodFields = {}): Item =>
      pod(version, { volumes: [], agent: true, ...fields });
    const second = { name: "web-1", uid: "pod-2" };
    const { states, toldLater } = await seen(
      [agent(99)],
      [
        modified(agent(101)),
        modified(agent(102, { phase: "Failed" })),
        added(agent(103, second)),
        deleted(agent(104, second)),
      ],
      (cluster) => cluster.hasAgentPod("n1"),
    );

    expect(states).toEqual([true, true, false, true, false]);
    expect(toldLater.filter((line) => line.includes("agent"))).toEqual([
      "agent pod on n1: false",
      "agent pod on n1: true",
      "agent pod on n1: false",
    ]);
  });

  it("names for a node the volumes of its pods that do not admit it, as long as that is so", async () => {
    const inZone = (version: number, zone: string): Item => {
      const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] }] };
      return volume(version, { spec: { nodeAffinity: { required } } });
    };
    const second = { name: "web-1", uid: "pod-2" };
    const { states, cluster } = await seen(
      [inZone(95, "a"), node(96, { labels: { zone: "a" } }), claim(97, { spec: { volumeName: "pv-1" } }), pod(98)],
      [
        modified(inZone(101, "b")),
        modified(node(102, { labels: { zone: "b" } })),
        modified(node(103, { labels: { zone: "c" } })),
        modified(pod(104, { phase: "Failed" })),
        added(pod(105, second)),
        deleted(pod(106, second)),
      ],
      ({ misfits }) => misfits("n1").volumes.map(({ name, resourceVersion }) => `${name} ${resourceVersion}`),
    );

    expect(states).toEqual([[], ["pv-1 101"], [], ["pv-1 101"], [], ["pv-1 101"], []]);
    expect(cluster.misfits("n2")).toEqual({ volumes: [], waiting: [] });
  });

  it("tells of each pod once when it is on a node: there it may have been taken for another one's user", async () => {
    const second = { name: "web-1", uid: "pod-2" };
    const changes = [
      ...[added(pod(101, { isPlaced: false })), modified(pod(102)), modified(pod(103))],
      ...[added(pod(104, second)), deleted(pod(105, second))],
    ];
    const { toldOf } = await seen([], changes, nothing);

    expect(toldOf("placed")).toEqual(["pod-1 is placed on n1", "pod-2 is placed on n1"]);
  });

  it("tells once of each pod that an agent rejected, also of one that is deleted with it", async () => {
    const mark = { phase: "Failed", reason: "VolumeNodeAffinity", annotations: { "mooring.dev/rejected": "{}" } };
    const [second, third] = [
      { name: "web-1", uid: "pod-2" },
      { name: "web-2", uid: "pod-3" },
    ];
    const changes = [
      modified(pod(101, mark)),
      modified(pod(102, { ...second, ...mark })),
      deleted(pod(103, { ...second, ...mark })),
      deleted(pod(104, { ...third, ...mark })),
    ];
    const { toldOf } = await seen([pod(98, mark), pod(99, second), pod(99, third)], changes, nothing);

    expect(toldOf("rejected")).toEqual(["pod-1 rejected on n1", "pod-2 rejected on n1", "pod-3 rejected on n1"]);
  });

  const heldBy = (nodes: readonly string[]) => {
    const mounted = { "mooring.dev/mounted-on": JSON.stringify({ claimUID: "claim-1", nodes }) };
    return { annotations: mounted, status: stored("False", "Mounted") };
  };
  const markedBy = (nodes: readonly string[]) => ({
    annotations: { "mooring.dev/mounted-on": volumeMarkText("uid-pv-1", nodes) },
    status: { phase: "Released" },
  });

  it.each<{ readonly what: string; readonly item: (version: number, nodes: readonly string[]) => Item }>([
    { what: "the stored status of a claim", item: (version, nodes) => claim(version, heldBy(nodes)) },
    { what: "the mark of a volume", item: (version, nodes) => volume(version, markedBy(nodes)) },
  ])("knows the nodes that $what names, as long as it does", async ({ item }) => {
    const { states } = await seen(
      [item(99, ["n1"])],
      [modified(item(101, ["n2"])), deleted(item(102, ["n2"]))],
      ({ isStoredHolder }) => ["n1", "n2"].filter(isStoredHolder),
    );

    expect(states).toEqual([["n1"], ["n2"], []]);
  });

  it("knows the claims whose last use is only assumed to have ended with a node", async () => {
    const used = (version: number, evidence: string): Item => {
      const use = { claimUID: "claim-1", release: "r", node: "n1", releasedAt: "2026-11-21T12:00:00.000Z" };
      const annotations = { "mooring.dev/last-use": JSON.stringify({ ...use, uncertaintyMs: null, evidence }) };
      return claim(version, { annotations, status: stored("True", "NodeGone") });
    };
    const { states } = await seen([used(99, "node-gone")], [modified(used(101, "mount-table"))], ({ assumedOn }) => [
      ...assumedOn("n1"),
      ...assumedOn("n2"),
    ]);

    expect(states).toEqual([["shop/data"], []]);
  });

  describe("of a claim whose stored time", () => {
    const NOON = "2026-09-09T12:00:00Z";
    const NOON_MS = 1_788_955_200_000;
    const FUTURE = "2100-01-01T00:00:00Z";
    const at = (version: number, time: string, reason = "Unmounted"): Item =>
      claim(version, { status: stored("True", reason, time) });

    it.each([
      { name: "goes back", next: at(101, "2026-09-09T11:59:59Z") },
      { name: "goes away", next: at(101, NOON, "Tidied") },
      { name: "is replaced by one in the future, which is none", next: at(101, FUTURE) },
    ])("$name, tells the time before", async ({ next }) => {
      const { toldOf } = await seen([at(99, NOON)], [modified(next)], nothing);

      expect(toldOf("set back")).toEqual([`shop/data was set back from ${NOON_MS}`]);
    });

    it.each([
      { name: "moves on", first: at(99, NOON), next: at(101, "2026-09-09T12:00:01Z") },
      { name: "was in the future", first: at(99, FUTURE), next: at(101, NOON) },
    ])("$name, tells nothing", async ({ first, next }) => {
      const { toldOf } = await seen([first], [modified(next)], nothing);

      expect(toldOf("set back")).toEqual([]);
    });
  });

  it("tells of each change of a volume, counts volumes, and dates their phases", async () => {
    const released = (version: number, lastPhaseTransitionTime: string): Item =>
      volume(version, {
        spec: { persistentVolumeReclaimPolicy: "Retain", capacity: { storage: "1Ki" } },
        status: { phase: "Released", lastPhaseTransitionTime },
      });
    const { states, toldOf } = await seen(
      [volume(99)],
      [
        modified(released(101, "2099-01-01T00:00:00Z")),
        modified(released(102, "2026-01-01T00:00:00Z")),
        deleted(released(103, "2026-01-01T00:00:00Z")),
      ],
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
    expect(toldOf("volume")).toHaveLength(4);
  });

  it("tells of a claim that becomes bound, and how its class binds where that is known", async () => {
    const slow = { metadata: { name: "slow", uid: "class-1", resourceVersion: "99" } };
    const bound = { status: { phase: "Bound" } };
    const { states, toldOf, cluster } = await seen(
      [
        ["storageclasses", { ...slow, volumeBindingMode: "WaitForFirstConsumer" }],
        claim(99, { status: { phase: "Pending" } }),
      ],
      [modified(claim(101, bound)), modified(claim(102, bound))],
      ({ storage }) => [...storage.pending],
    );

    expect(states).toEqual([["shop/data"], [], []]);
    expect(toldOf("bound")).toEqual(["shop/data is bound"]);
    const modes = ["slow", "odd", undefined].map((name) => cluster.storage.bindingOf(name));
    expect(modes).toEqual(["WaitForFirstConsumer", undefined, "Immediate"]);
  });

  it("dates a claim that is Lost by the moment at which that was first seen", async () => {
    const { states } = await seen([claim(99, { status: { phase: "Lost" } })], [], (cluster) =>
      [...cluster.claims()].map((one) => cluster.claimPhaseSince(one)?.from),
    );

    expect(states).toEqual([["first-seen"]]);
  });

  it("counts an object that is not understood, and the others are there", async () => {
    const odd: Item = ["nodes", { metadata: { name: "n2", uid: "u2", resourceVersion: "1" }, status: "odd" }];
    const { cluster } = await seen([odd, node(1)], [], nothing);

    expect(cluster.nodeNames()).toEqual(["n1"]);
    const { nodes, pods } = cluster.informers;
    expect([nodes?.undecodable(), nodes?.unreadable(), nodes?.drift(), pods?.undecodable()]).toEqual([1, 1, 0, 0]);
  });
});
