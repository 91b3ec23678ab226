import { describe, expect, it } from "vitest";
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

  push(type: "ADDED" | "MODIFIED" | "DELETED", object: object): void {
    this.#events.push({ type, object });
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

interface Fixture {
  readonly cluster: Cluster;
  readonly told: string[];
  /** Names of the volumes that came, changed or went. */
  readonly volumes: readonly string[];
  readonly of: (path: string) => WatchedCollection;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

function fixture(): Fixture {
  const collections = new Map<string, WatchedCollection>();
  const of = (path: string): WatchedCollection => {
    const found = collections.get(path) ?? new WatchedCollection();
    collections.set(path, found);
    return found;
  };
  const transport = createFakeTransport(({ path }) => {
    const [plain = "", query = ""] = path.split("?");
    const collection = of(plain.slice(plain.lastIndexOf("/") + 1));
    if (query.includes("watch=")) return { body: collection.stream() };
    return { body: JSON.stringify({ metadata: { resourceVersion: "100" }, items: collection.items }) };
  });
  const clock = createFakeClock();
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const told: string[] = [];
  const volumes: string[] = [];
  const cluster = createCluster(
    { client, clock, random: createFakeRandom(), logger: createFakeLogger(), agents: AGENTS },
    {
      onClaim: (key) => told.push(`look at ${key}`),
      onClaimGone: ({ key }) => told.push(`${key} is gone`),
      onClaimRolledBack: ({ key, status }) => told.push(`${key} was set back from ${status?.sinceMs}`),
      onClaimBound: ({ key }) => told.push(`${key} is bound`),
      onPodEnded: ({ pod: { uid, hasStarted }, gone, wasOver }) =>
        told.push(`${uid} ended by ${gone}${hasStarted ? ", had started" : ""}${wasOver ? ", before" : ""}`),
      onVolume: (name) => volumes.push(name),
      onNode: (name) => told.push(`node ${name}`),
      onPodsListed: () => {},
      onPodPlaced: ({ uid, node }) => told.push(`${uid} is placed on ${node}`),
      onRejected: ({ uid, node }) => told.push(`${uid} rejected on ${node}`),
      onAgentPod: (node) => told.push(`agent pod on ${node}: ${cluster.hasAgentPod(node)}`),
    },
  );
  const stopping = new AbortController();
  let running = Promise.resolve();
  return {
    cluster,
    told,
    volumes,
    of,
    start: async () => {
      running = cluster.run(stopping.signal);
      await settle();
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

interface PodFields {
  readonly isPlaced?: boolean;
  readonly phase?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly volumes?: readonly string[];
  readonly agent?: boolean;
}

function podParts(
  version: number,
  {
    phase = "Running",
    name = "web-0",
    uid = "pod-1",
    volumes = ["data"],
    agent = false,
    isPlaced = true,
  }: PodFields = {},
) {
  const labels = agent ? { "app.kubernetes.io/name": "mooring-agent" } : {};
  const place = agent ? AGENTS : { namespace: "shop", account: "default" };
  return {
    metadata: { namespace: place.namespace, name, uid, resourceVersion: String(version), labels },
    spec: {
      ...(isPlaced && { nodeName: "n1" }),
      serviceAccountName: place.account,
      volumes: volumes.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
    status: { phase, containerStatuses: [{ state: { running: {} } }] },
  };
}

function pod(version: number, fields?: PodFields): object {
  return podParts(version, fields);
}

function node(version: number, status: object = {}): object {
  return { metadata: { name: "n1", uid: "node-1", resourceVersion: String(version) }, status };
}

function attachment(version: number): object {
  return {
    metadata: { name: "csi-0a1b", uid: "attachment-1", resourceVersion: String(version) },
    spec: { attacher: "csi.example", nodeName: "n2", source: { persistentVolumeName: "pv-1" } },
  };
}

function volume(
  version: number,
  { name = "pv-1", handle = "h-1", claimName = "data", claim = "claim-1" } = {},
): object {
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(version) },
    spec: {
      csi: { driver: "csi.example", volumeHandle: handle },
      claimRef: { namespace: "shop", name: claimName, uid: claim },
    },
  };
}

type PodEvent = readonly ["ADDED" | "MODIFIED" | "DELETED", object];

describe("pods that end", () => {
  it.each<{
    readonly name: string;
    readonly listed?: readonly object[];
    readonly events: readonly PodEvent[];
    readonly ends: readonly string[];
  }>([
    { name: "a pod that runs has not ended", events: [["ADDED", pod(101)]], ends: [] },
    {
      name: "a pod that finishes ends once, though it is deleted later",
      events: [
        ["ADDED", pod(101)],
        ["MODIFIED", pod(102, { phase: "Succeeded" })],
        ["MODIFIED", pod(103, { phase: "Succeeded" })],
        ["DELETED", pod(104, { phase: "Succeeded" })],
      ],
      ends: ["pod-1 ended by 102, had started"],
    },
    {
      name: "a pod that vanishes ends with its deletion",
      listed: [pod(99)],
      events: [["DELETED", pod(104)]],
      ends: ["pod-1 ended by 104, had started"],
    },
    {
      name: "a deletion that is the first to show that the pod had finished ends it, too",
      listed: [pod(99)],
      events: [["DELETED", pod(104, { phase: "Failed" })]],
      ends: ["pod-1 ended by 104, had started"],
    },
    {
      name: "a pod that is re-created under its name ends by the new one's version",
      listed: [pod(99)],
      events: [["ADDED", pod(105, { uid: "pod-2" })]],
      ends: ["pod-1 ended by 105, had started"],
    },
    {
      name: "a pod that had finished before it was first listed was over before, once",
      listed: [pod(99, { phase: "Failed" })],
      events: [["DELETED", pod(104, { phase: "Failed" })]],
      ends: ["pod-1 ended by 99, had started, before"],
    },
    {
      name: "a pod that is first seen finished by the watch came and went unseen",
      events: [["ADDED", pod(104, { phase: "Succeeded" })]],
      ends: ["pod-1 ended by 104, had started"],
    },
  ])("$name", async ({ listed = [], events, ends }) => {
    const { told, of, start, stop } = fixture();
    of("pods").items.push(...listed);
    await start();

    for (const [type, object] of events) of("pods").push(type, object);
    await settle();

    expect(told.filter((line) => line.includes("ended"))).toEqual(ends);
    await stop();
  });

  it("a vanished pod is still known by its UID, so that its mounts are not taken for another's", async () => {
    const { cluster, of, start, stop } = fixture();
    of("pods").items.push(pod(99, { volumes: [] }));
    await start();

    of("pods").push("DELETED", pod(104, { volumes: [] }));
    await settle();

    expect(cluster.podByUid("pod-1")?.claims).toEqual([]);
    expect(cluster.podName("pod-1")).toBe("shop/web-0");
    expect(cluster.podName("pod-9")).toBe("pod-9");
    expect(cluster.podsOf("shop/data")).toEqual([]);
    await stop();
  });
});

describe("createCluster", () => {
  it("a vanished pod is remembered with the claims that there are, and not with thousands that there are not", async () => {
    const { cluster, of, start, stop } = fixture();
    const claim = { metadata: { namespace: "shop", name: "data", uid: "claim-1", resourceVersion: "90" } };
    of("persistentvolumeclaims").items.push(claim);
    const absent = Array.from({ length: 3_000 }, (_, index) => `absent-${index}`);
    of("pods").items.push(pod(90, { volumes: [...absent, "data"] }));
    await start();
    const before = cluster.podByUid("pod-1")?.claims.length;

    of("pods").push("DELETED", pod(110, { volumes: [...absent, "data"] }));
    await settle();
    const vanished = cluster.podByUid("pod-1");
    await stop();

    expect([before, vanished?.claims.length, vanished?.claims.at(-1)]).toEqual([3_001, 33, "data"]);
  });

  it("a pod that vanished knew the claim that there was then, and none that is made again under its name", async () => {
    const { cluster, of, start, stop } = fixture();
    const claim = (uid: string, version: string): object => ({
      metadata: { namespace: "shop", name: "data", uid, resourceVersion: version },
    });
    of("persistentvolumeclaims").items.push(claim("claim-1", "90"));
    of("pods").items.push(pod(90, { volumes: ["data"] }));
    await start();
    const knew = (podUid: string): readonly boolean[] =>
      ["claim-1", "claim-2"].map((uid) => cluster.knewClaim(podUid, { key: "shop/data", uid }));
    const before = knew("pod-1");

    of("pods").push("DELETED", pod(110, { volumes: ["data"] }));
    await settle();
    of("persistentvolumeclaims").push("DELETED", claim("claim-1", "111"));
    of("persistentvolumeclaims").push("ADDED", claim("claim-2", "112"));
    await settle();
    const afterwards = knew("pod-1");
    const stranger = knew("pod-2");
    await stop();

    expect({ before, afterwards, stranger }).toEqual({
      before: [true, false],
      afterwards: [true, false],
      stranger: [false, false],
    });
  });

  it.each([
    { name: "that is finished, which does not keep its claim", phase: "Succeeded" },
    { name: "whose claim somebody took the finalizer of", phase: "Running" },
  ])("a pod $name, did not know the claim that is made again under the name", async ({ phase }) => {
    const { cluster, of, start, stop } = fixture();
    const claim = (uid: string, version: string): object => ({
      metadata: { namespace: "shop", name: "data", uid, resourceVersion: version },
    });
    of("persistentvolumeclaims").items.push(claim("claim-1", "90"));
    of("pods").items.push(pod(90, { volumes: ["data"] }));
    await start();
    const knew = (): readonly boolean[] =>
      ["claim-1", "claim-2"].map((uid) => cluster.knewClaim("pod-1", { key: "shop/data", uid }));

    of("pods").push("MODIFIED", pod(100, { volumes: ["data"], phase }));
    await settle();
    const before = knew();
    of("persistentvolumeclaims").push("DELETED", claim("claim-1", "111"));
    of("persistentvolumeclaims").push("ADDED", claim("claim-2", "112"));
    await settle();
    const meanwhile = knew();
    of("pods").push("DELETED", pod(120, { volumes: ["data"], phase }));
    await settle();
    const afterwards = knew();
    await stop();

    expect([before[0], meanwhile[1], afterwards[1]]).toEqual([true, false, false]);
  });

  it("a pod that waits for a node knows the claim that is made again under the name: it used nothing of the earlier one", async () => {
    const { cluster, of, start, stop } = fixture();
    const claim = (uid: string, version: string): object => ({
      metadata: { namespace: "shop", name: "data", uid, resourceVersion: version },
    });
    of("persistentvolumeclaims").items.push(claim("claim-1", "90"));
    of("pods").items.push(pod(90, { phase: "Pending", isPlaced: false }));
    await start();

    of("persistentvolumeclaims").push("DELETED", claim("claim-1", "111"));
    of("persistentvolumeclaims").push("ADDED", claim("claim-2", "112"));
    of("pods").push("MODIFIED", pod(120));
    await settle();
    const knows = cluster.knewClaim("pod-1", { key: "shop/data", uid: "claim-2" });
    await stop();

    expect(knows).toBe(true);
  });

  it("is synced when all collections have been listed", async () => {
    const { cluster, start, stop } = fixture();
    const before = cluster.unsynced();

    await start();

    expect(before).toEqual(["pods", "persistentvolumes", "nodes", "volumeattachments", "persistentvolumeclaims"]);
    expect(cluster.unsynced()).toEqual([]);
    await stop();
  });

  it("volumes are found by driver and hashed handle, also after the handle changed or the volume is gone", async () => {
    const { cluster, told, of, start, stop } = fixture();
    of("persistentvolumes").items.push(volume(99));
    await start();
    const csi = cluster.volumeByName("pv-1")?.csi ?? { driver: "", handleHash: "" };
    const found = () => cluster.volumesByHandle(csi.driver, csi.handleHash).length;

    const listed = found();
    of("persistentvolumes").push("MODIFIED", volume(101, { claim: "claim-2" }));
    await settle();
    const rebound = found();
    of("persistentvolumes").push("DELETED", volume(102));
    await settle();

    expect([listed, rebound, found()]).toEqual([1, 1, 0]);
    expect(told).toContain("look at shop/data");
    await stop();
  });

  it("tells which claims' volumes came to a node or left it, those with the same handle included", async () => {
    const { cluster, told, of, start, stop } = fixture();
    of("persistentvolumes").items.push(volume(98), volume(99, { name: "pv-2", claimName: "copy" }));
    of("nodes").items.push(node(99));
    await start();
    const handle = "kubernetes.io/csi/csi.example^h-1";
    const where = () => ["pv-1", "pv-2"].flatMap((name) => cluster.volumeByName(name) ?? []).map(cluster.nodesWith);
    const seen: unknown[] = [where()];
    told.splice(0);

    of("volumeattachments").push("ADDED", attachment(101));
    await settle();
    seen.push(where());
    of("nodes").push("MODIFIED", node(102, { volumesInUse: [handle] }));
    of("volumeattachments").push("DELETED", attachment(103));
    await settle();
    seen.push(where());
    of("nodes").push("MODIFIED", node(104));
    await settle();
    seen.push(where());

    expect(seen).toEqual([
      [[], []],
      [["n2"], ["n2"]],
      [["n1"], ["n1"]],
      [[], []],
    ]);
    const both = ["look at shop/data", "look at shop/copy"];
    expect(told).toEqual([...both, "node n1", ...both, ...both, "node n1", ...both]);
    await stop();
  });

  it("an attachment of a volume that is not known is found when that comes", async () => {
    const { cluster, of, start, stop } = fixture();
    of("volumeattachments").items.push(attachment(99));
    await start();

    of("persistentvolumes").push("ADDED", volume(101));
    await settle();

    expect(cluster.volumeByName("pv-1")).toBeDefined();
    expect([cluster.volumeByName("pv-1")].flatMap((found) => (found ? cluster.nodesWith(found) : []))).toEqual(["n2"]);
    await stop();
  });

  it("knows the nodes that have an agent pod, and tells when that changes", async () => {
    const { cluster, told, of, start, stop } = fixture();
    const agent = (version: number, fields: object = {}) => pod(version, { volumes: [], agent: true, ...fields });
    of("pods").items.push(agent(99));
    await start();
    const listed = cluster.hasAgentPod("n1");
    told.splice(0);

    of("pods").push("MODIFIED", agent(101));
    of("pods").push("MODIFIED", agent(102, { phase: "Failed" }));
    of("pods").push("ADDED", agent(103, { name: "web-1", uid: "pod-2" }));
    of("pods").push("DELETED", agent(104, { name: "web-1", uid: "pod-2" }));
    await settle();

    expect(listed).toBe(true);
    expect(told.filter((line) => line.includes("agent"))).toEqual([
      "agent pod on n1: false",
      "agent pod on n1: true",
      "agent pod on n1: false",
    ]);
    await stop();
  });

  it("names for a node the volumes of its pods that do not admit it, as long as that is so", async () => {
    const { cluster, of, start, stop } = fixture();
    const inZone = (version: number, zone: string): object => {
      const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] }] };
      const { metadata } = { metadata: { name: "pv-1", uid: "uid-pv-1", resourceVersion: String(version) } };
      return { metadata, spec: { nodeAffinity: { required } } };
    };
    const labelled = (version: number, zone: string): object => ({
      metadata: { name: "n1", uid: "node-1", resourceVersion: String(version), labels: { zone } },
    });
    of("persistentvolumes").items.push(inZone(95, "a"));
    of("nodes").items.push(labelled(96, "a"));
    of("persistentvolumeclaims").items.push({
      metadata: { namespace: "shop", name: "data", uid: "claim-1", resourceVersion: "97" },
      spec: { volumeName: "pv-1" },
    });
    of("pods").items.push(pod(98, { phase: "Pending" }));
    await start();
    const seen: unknown[] = [];
    const look = async (collection: string, type: PodEvent[0], object: object): Promise<void> => {
      of(collection).push(type, object);
      await settle();
      seen.push(cluster.misfits("n1").volumes.map(({ name, resourceVersion }) => `${name} ${resourceVersion}`));
    };

    seen.push(cluster.misfits("n1").volumes);
    await look("persistentvolumes", "MODIFIED", inZone(101, "b"));
    await look("nodes", "MODIFIED", labelled(102, "b"));
    await look("nodes", "MODIFIED", labelled(103, "c"));
    await look("pods", "MODIFIED", pod(104, { phase: "Failed" }));
    await look("pods", "ADDED", pod(105, { name: "web-1", uid: "pod-2" }));
    await look("pods", "DELETED", pod(106, { name: "web-1", uid: "pod-2" }));

    expect(seen).toEqual([[], ["pv-1 101"], [], ["pv-1 101"], [], ["pv-1 101"], []]);
    expect(cluster.misfits("n2")).toEqual({ volumes: [], waiting: [] });
    await stop();
  });

  it("tells of each pod once when it is on a node: there it may have been taken for another one's user", async () => {
    const { told, of, start, stop } = fixture();
    await start();

    of("pods").push("ADDED", pod(101, { isPlaced: false }));
    of("pods").push("MODIFIED", pod(102));
    of("pods").push("MODIFIED", pod(103));
    of("pods").push("ADDED", pod(104, { name: "web-1", uid: "pod-2" }));
    of("pods").push("DELETED", pod(105, { name: "web-1", uid: "pod-2" }));
    await settle();

    expect(told.filter((line) => line.includes("placed"))).toEqual(["pod-1 is placed on n1", "pod-2 is placed on n1"]);
    await stop();
  });

  it("tells once of each pod that an agent rejected, also of one that is deleted with it", async () => {
    const { told, of, start, stop } = fixture();
    const rejected = (version: number, fields: object = {}): object => {
      const { metadata, spec } = podParts(version, fields);
      const annotations = { "mooring.dev/rejected": "{}" };
      return {
        metadata: { ...metadata, annotations },
        spec,
        status: { phase: "Failed", reason: "VolumeNodeAffinity" },
      };
    };
    of("pods").items.push(
      rejected(98),
      pod(99, { name: "web-1", uid: "pod-2" }),
      pod(99, { name: "web-2", uid: "pod-3" }),
    );
    await start();

    of("pods").push("MODIFIED", rejected(101));
    of("pods").push("MODIFIED", rejected(102, { name: "web-1", uid: "pod-2" }));
    of("pods").push("DELETED", rejected(103, { name: "web-1", uid: "pod-2" }));
    of("pods").push("DELETED", rejected(104, { name: "web-2", uid: "pod-3" }));
    await settle();

    expect(told.filter((line) => line.includes("rejected"))).toEqual([
      "pod-1 rejected on n1",
      "pod-2 rejected on n1",
      "pod-3 rejected on n1",
    ]);
    await stop();
  });

  it("knows the nodes that stored statuses name as holders", async () => {
    const { cluster, of, start, stop } = fixture();
    const claim = (version: number, nodes: readonly string[]): object => ({
      metadata: {
        ...{ namespace: "shop", name: "data", uid: "claim-1", resourceVersion: String(version) },
        annotations: { "mooring.dev/mounted-on": JSON.stringify({ claimUID: "claim-1", nodes }) },
      },
      status: {
        phase: "Bound",
        conditions: [
          {
            type: "mooring.dev/Unused",
            status: "False",
            reason: "Mounted",
            lastTransitionTime: "2026-11-21T12:00:00Z",
          },
        ],
      },
    });
    const held = () => ["n1", "n2"].filter(cluster.isStoredHolder);
    of("persistentvolumeclaims").items.push(claim(99, ["n1"]));
    await start();

    const listed = held();
    of("persistentvolumeclaims").push("MODIFIED", claim(101, ["n2"]));
    await settle();
    const changed = held();
    of("persistentvolumeclaims").push("DELETED", claim(102, ["n2"]));
    await settle();

    expect([listed, changed, held()]).toEqual([["n1"], ["n2"], []]);
    await stop();
  });
  it("knows the nodes that marks of volumes name, and tells of each change of a volume", async () => {
    const { cluster, volumes, of, start, stop } = fixture();
    const volume = (version: number, nodes: readonly string[]) => ({
      metadata: {
        ...{ name: "pv-1", uid: "volume-1", resourceVersion: String(version) },
        annotations: { "mooring.dev/mounted-on": volumeMarkText("volume-1", nodes) },
      },
      spec: {},
      status: { phase: "Released" },
    });
    const held = () => ["n1", "n2"].filter(cluster.isStoredHolder);
    of("persistentvolumes").items.push(volume(99, ["n1"]));
    await start();

    const listed = held();
    of("persistentvolumes").push("MODIFIED", volume(101, ["n2"]));
    await settle();
    const changed = held();
    of("persistentvolumes").push("DELETED", volume(102, ["n2"]));
    await settle();

    expect([listed, changed, held()]).toEqual([["n1"], ["n2"], []]);
    expect(volumes).toEqual(["pv-1", "pv-1", "pv-1"]);
    await stop();
  });

  it("knows the claims whose last use is only assumed to have ended with a node", async () => {
    const { cluster, of, start, stop } = fixture();
    const claim = (version: number, evidence: string): object => {
      const use = { claimUID: "claim-1", release: "r", node: "n1", releasedAt: "2026-11-21T12:00:00.000Z" };
      const lastUse = JSON.stringify({ ...use, uncertaintyMs: null, evidence });
      const condition = { type: "mooring.dev/Unused", status: "True", reason: "NodeGone" };
      return {
        metadata: {
          ...{ namespace: "shop", name: "data", uid: "claim-1", resourceVersion: String(version) },
          annotations: { "mooring.dev/last-use": lastUse },
        },
        status: { phase: "Bound", conditions: [{ ...condition, lastTransitionTime: "2026-11-21T12:00:00Z" }] },
      };
    };
    const assumed = () => [...cluster.assumedOn("n1"), ...cluster.assumedOn("n2")];
    of("persistentvolumeclaims").items.push(claim(99, "node-gone"));
    await start();

    const listed = assumed();
    of("persistentvolumeclaims").push("MODIFIED", claim(101, "mount-table"));
    await settle();

    expect([listed, assumed()]).toEqual([["shop/data"], []]);
    await stop();
  });

  it("counts volumes as they come, change and go, and dates their phases", async () => {
    const { cluster, of, start, stop } = fixture();
    const released = (version: number, at: string): object => ({
      metadata: { name: "pv-1", uid: "volume-1", resourceVersion: String(version) },
      spec: { persistentVolumeReclaimPolicy: "Retain", capacity: { storage: "1Ki" } },
      status: { phase: "Released", lastPhaseTransitionTime: at },
    });
    const counts = (): readonly string[] =>
      [...cluster.storage.volumes.all()].map(({ kind, count, bytes }) => `${count} ${kind.phase} of ${bytes} bytes`);
    const source = (): string | undefined => {
      const found = cluster.volumeByName("pv-1");
      return found && cluster.phaseSince(found)?.from;
    };
    of("persistentvolumes").items.push(volume(99));
    await start();

    const listed = counts();
    of("persistentvolumes").push("MODIFIED", released(101, "2099-01-01T00:00:00Z"));
    await settle();
    const doubtful = [counts(), source()];
    of("persistentvolumes").push("MODIFIED", released(102, "2026-01-01T00:00:00Z"));
    await settle();
    const dated = [counts(), source()];
    of("persistentvolumes").push("DELETED", released(103, "2026-01-01T00:00:00Z"));
    await settle();

    expect(listed).toEqual(["1 other of 0 bytes"]);
    expect(doubtful).toEqual([["1 Released of 1024 bytes"], "first-seen"]);
    expect(dated).toEqual([["1 Released of 1024 bytes"], "api"]);
    expect(counts()).toEqual([]);
    await stop();
  });

  it("tells of a claim that becomes bound, and how its class binds where that is known", async () => {
    const { cluster, told, of, start, stop } = fixture();
    const claim = (version: number, phase: string): object => ({
      metadata: { namespace: "shop", name: "data", uid: "claim-1", resourceVersion: String(version) },
      status: { phase },
    });
    const metadata = { name: "slow", uid: "class-1", resourceVersion: "99" };
    of("storageclasses").items.push({ metadata, volumeBindingMode: "WaitForFirstConsumer" });
    of("persistentvolumeclaims").items.push(claim(99, "Pending"));
    await start();

    const pending = [...cluster.storage.pending];
    for (const version of [101, 102]) of("persistentvolumeclaims").push("MODIFIED", claim(version, "Bound"));
    await settle();

    expect([pending, [...cluster.storage.pending]]).toEqual([["shop/data"], []]);
    expect(told.filter((one) => one.includes("bound"))).toEqual(["shop/data is bound"]);
    const modes = ["slow", "odd", undefined].map((name) => cluster.storage.bindingOf(name));
    expect(modes).toEqual(["WaitForFirstConsumer", undefined, "Immediate"]);
    await stop();
  });

  it("dates a claim that is Lost by the moment at which that was first seen", async () => {
    const { cluster, of, start, stop } = fixture();
    const identity = { namespace: "shop", name: "data", uid: "claim-1", resourceVersion: "99" };
    const metadata = { ...identity, creationTimestamp: "2020-01-01T00:00:00Z" };
    of("persistentvolumeclaims").items.push({ metadata, status: { phase: "Lost" } });
    await start();

    const claim = cluster.claim("shop/data");
    await stop();

    expect(claim && cluster.claimPhaseSince(claim)?.from).toBe("first-seen");
  });

  it("a claim that is re-created is told as gone first", async () => {
    const { cluster, told, of, start, stop } = fixture();
    const claim = (uid: string, version: number): object => ({
      metadata: { namespace: "shop", name: "data", uid, resourceVersion: String(version) },
      status: { phase: "Bound" },
    });
    of("persistentvolumeclaims").items.push(claim("claim-1", 99));
    await start();

    of("persistentvolumeclaims").push("ADDED", claim("claim-2", 101));
    await settle();

    expect(told).toEqual(["look at shop/data", "shop/data is gone", "look at shop/data"]);
    expect(cluster.claim("shop/data")?.uid).toBe("claim-2");
    await stop();
  });

  it("an object that is not understood is counted, and the others are there", async () => {
    const { cluster, of, start, stop } = fixture();
    const odd = { metadata: { name: "n2", uid: "u2", resourceVersion: "1" }, status: "odd" };
    of("nodes").items.push(odd, { metadata: { name: "n1", uid: "u", resourceVersion: "1" } });

    await start();

    expect(cluster.nodeNames()).toEqual(["n1"]);
    const { nodes, pods } = cluster.informers;
    expect([nodes?.undecodable(), nodes?.unreadable(), nodes?.drift()]).toEqual([1, 1, 0]);
    expect(pods?.undecodable()).toBe(0);
    await stop();
  });

  it("tells whether claims and volumes are listed", async () => {
    const { cluster, start, stop } = fixture();
    const before = cluster.areBindingsListed();

    await start();

    expect([before, cluster.areBindingsListed()]).toEqual([false, true]);
    await stop();
  });
});
