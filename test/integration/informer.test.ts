import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { object, parse, string } from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import type { Collection } from "../../common/kube/collection.ts";
import { connect } from "../../common/kube/connection.ts";
import { readIdentity } from "../../common/kube/identity.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import { isOlder } from "../../common/kube/resource-version.ts";
import type { Stored } from "../../common/kube/store.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { type FreezingProxy, startFreezingProxy } from "../fakes/freezing-proxy.ts";
import { createFakeLogger, type FakeLogger } from "../fakes/logger.ts";
import { type ControlPlane, startControlPlane } from "../rig/control-plane/control-plane.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
/** Some dozens, which the server makes itself: enough for a list of several frames. */
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const never = new AbortController().signal;
/** More than two pages of a list. */
const MANY = 1_050;

interface Seen extends Stored {
  readonly text: string;
}

const configMap = object({
  metadata: object({ namespace: string(), name: string(), uid: string(), resourceVersion: string() }),
  data: object({ text: string() }),
});

function project(raw: unknown): Seen {
  const { metadata, data } = parse(configMap, raw);
  const { namespace, name, uid, resourceVersion } = metadata;
  return { key: `${namespace}/${name}`, uid, resourceVersion, text: data.text };
}

/** A control plane of a suite's own, and a client of it. */
class Site {
  readonly owner: Owner;
  readonly plane: ControlPlane;
  readonly client: KubeClient;

  constructor(owner: Owner, plane: ControlPlane, client: KubeClient) {
    this.owner = owner;
    this.plane = plane;
    this.client = client;
  }

  /** The names of what a test makes begin with `group`, which is also their label. */
  async create(group: string, names: readonly string[], text = "first"): Promise<void> {
    const make = async (name: string): Promise<void> => {
      const body = { metadata: { name: `${group}-${name}`, labels: { group } }, data: { text } };
      await this.client.request({ method: "POST", path: CONFIG_MAPS, body }, never);
    };
    for (let at = 0; at < names.length; at += 50) await Promise.all(names.slice(at, at + 50).map(make));
  }

  async change(name: string, text: string): Promise<void> {
    const contentType = "application/merge-patch+json";
    const path = `${CONFIG_MAPS}/${name}`;
    await this.client.request({ method: "PATCH", path, contentType, body: { data: { text } } }, never);
  }

  async remove(name: string): Promise<void> {
    await this.client.request({ method: "DELETE", path: `${CONFIG_MAPS}/${name}` }, never);
  }

  /** An informer with a client of its own, so that its requests can be counted; it runs until the end of the test. */
  async follow(group: string, listsFrom: Collection["listsFrom"]): Promise<Followed> {
    const client = await clientOf(this.plane, this.owner);
    const logger = createFakeLogger();
    const changes: string[] = [];
    const informer = createInformer(
      { client, clock: this.owner.clock, random: createSystemRandom(), logger },
      {
        collection: { path: CONFIG_MAPS, query: { labelSelector: `group=${group}` }, listsFrom },
        project,
        onChange: ({ kind, object: { key, text } }) => changes.push(`${kind} ${key.replace(/^.*-/, "")} ${text}`),
      },
    );
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await running;
      await client.close();
    });
    await this.until("the first list", () => informer.hasSynced());
    return { informer, client, logger, changes };
  }

  until(what: string, holds: () => boolean): Promise<void> {
    const check = async (): Promise<void> => {
      if (!holds()) throw new Error("not yet");
    };
    return waitUntil(this.owner, { what, limitMs: 40_000, check });
  }
}

interface Followed {
  readonly informer: Informer<Seen>;
  readonly client: KubeClient;
  readonly logger: FakeLogger;
  readonly changes: string[];
}

async function clientOf(plane: ControlPlane, { clock }: Owner): Promise<KubeClient> {
  return createKubeClient(await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {}), { clock });
}

async function startSite(featureGates: Readonly<Record<string, boolean>> = {}): Promise<Site> {
  const owner = await openOwner();
  const plane = await startControlPlane(owner, { featureGates });
  return new Site(owner, plane, await clientOf(plane, owner));
}

/** A client that reaches the API server by a proxy which counts connections. */
async function byProxy({
  plane,
  owner,
}: Site): Promise<{ readonly proxy: FreezingProxy; readonly client: KubeClient }> {
  const proxy = await startFreezingProxy(Number(new URL(plane.url).port));
  const kubeconfig = join(owner.folder, "by-proxy.kubeconfig");
  const text = readFileSync(plane.kubeconfig, "utf8").replaceAll(plane.url, `https://127.0.0.1:${proxy.port}`);
  writeFileSync(kubeconfig, text);
  const connection = await connect({ kubeconfig, inCluster: false }, {});
  const client = createKubeClient(connection, { clock: owner.clock });
  onTestFinished(async () => {
    await client.close();
    await proxy.close();
  });
  return { proxy, client };
}

function readAny(raw: unknown): Stored {
  const identity = readIdentity(raw);
  if (identity === undefined) throw new Error("no object");
  return identity;
}

function textsOf({ informer }: Followed): readonly string[] {
  return [...informer.all()].map(({ key, text }) => `${key.replace(/^.*-/, "")} ${text}`).toSorted();
}

describe.each([
  { name: "that streams lists", gates: {}, requests: 1 },
  // What it refuses, three pages, and the watch.
  { name: "without the feature gate WatchList", gates: { WatchList: false }, requests: 5 },
])("an informer of a server $name", ({ gates, requests }) => {
  let site: Site;
  let signals: Disposable;
  let count = 0;
  let group: string;

  beforeAll(async () => {
    site = await startSite(gates);
    signals = closeOnSignals(site.owner);
  });
  afterAll(async () => {
    await site.client.close();
    await site.owner.close();
    signals[Symbol.dispose]();
  });
  beforeEach(() => {
    count += 1;
    group = `g${count}`;
  });

  it(`has more than two pages of objects after ${requests} requests`, async () => {
    await site.create(
      group,
      Array.from({ length: MANY }, (_, index) => String(index)),
    );

    const { informer, client, logger } = await site.follow(group, "quorum");
    await site.until("the watch", () => client.requests() >= requests);

    expect(informer.size()).toBe(MANY);
    expect(client.requests()).toBe(requests);
    expect(logger.messages("warn")).toEqual([]);
  });

  it.each([{ listsFrom: "quorum" }, { listsFrom: "cache" }] as const)(
    "follows what changes after a first list from $listsFrom",
    async ({ listsFrom }) => {
      await site.create(group, ["a", "b"]);
      const followed = await site.follow(group, listsFrom);
      await site.until("both objects", () => followed.informer.size() === 2);

      await site.change(`${group}-a`, "second");
      await site.remove(`${group}-b`);
      await site.create(group, ["b"], "again");
      await site.until("three changes more", () => followed.changes.length >= 5);

      expect(followed.changes.slice(2)).toEqual(["updated a second", "deleted b first", "added b again"]);
      expect(textsOf(followed)).toEqual(["a second", "b again"]);
    },
  );

  it("shares one connection with three more and with 200 lists", async () => {
    const { proxy, client } = await byProxy(site);
    const parts = { client, clock: site.owner.clock, random: createSystemRandom(), logger: createFakeLogger() };
    const paths = ["configmaps", "pods", "persistentvolumeclaims", "nodes"].map((name) => `/api/v1/${name}`);
    const informers = paths.map((path) =>
      createInformer(parts, { collection: { path, listsFrom: "quorum" }, project: readAny }),
    );
    const stop = new AbortController();
    const running = informers.map((informer) => informer.run(stop.signal));

    await site.until("all lists", () => informers.every((informer) => informer.hasSynced()));
    for (let list = 0; list < 200; list += 1) await client.request({ method: "GET", path: BINDINGS }, never);
    stop.abort();
    await Promise.all(running);

    expect(proxy.connections()).toBe(1);
  });

  it("begins with nothing, and knows where it is", async () => {
    const { informer } = await site.follow(group, "quorum");

    expect(informer.size()).toBe(0);
    expect(isOlder("0", informer.resourceVersion() ?? "")).toBe(true);
  });

  it("delivers what changed and what was re-created while the API server was away", async () => {
    await site.create(group, ["a", "b", "c"]);
    const followed = await site.follow(group, "quorum");
    const apiServer = site.plane.part("kube-apiserver");

    await apiServer.kill();
    await apiServer.start();
    // Before the informer is back, or after it: it must make no difference.
    await site.change(`${group}-a`, "second");
    await site.remove(`${group}-b`);
    await site.create(group, ["b"], "again");
    await site.until("the end", () => textsOf(followed).join() === "a second,b again,c first");

    expect(followed.changes.filter((change) => change.includes(" b "))).toEqual([
      "added b first",
      "deleted b first",
      "added b again",
    ]);
  });
});

describe("an informer of a server whose etcd is restored from a backup", () => {
  let site: Site;
  let signals: Disposable;

  beforeAll(async () => {
    site = await startSite();
    signals = closeOnSignals(site.owner);
  });
  afterAll(async () => {
    await site.client.close();
    await site.owner.close();
    signals[Symbol.dispose]();
  });

  async function withoutEtcd(act: () => void): Promise<void> {
    const etcd = site.plane.part("etcd");
    await etcd.stop();
    act();
    await etcd.start();
  }

  it("goes back with it, as a watch from a future version would never deliver anything", async () => {
    const [stored, backup] = ["etcd", "backup"].map((name) => join(site.owner.folder, "control-plane", name));
    await site.create("g", ["kept", "changed", "deleted"]);
    await withoutEtcd(() => cpSync(stored ?? "", backup ?? "", { recursive: true }));
    const followed = await site.follow("g", "quorum");
    // More than the server writes at its start.
    await site.create(
      "other",
      Array.from({ length: 300 }, (_, index) => String(index)),
    );
    await site.change("g-changed", "second");
    await site.remove("g-deleted");
    await site.create("g", ["new"]);
    await site.until("all changes", () => textsOf(followed).join() === "changed second,kept first,new first");
    const before = followed.informer.resourceVersion() ?? "";

    const apiServer = site.plane.part("kube-apiserver");
    await apiServer.kill();
    await withoutEtcd(() => {
      rmSync(stored ?? "", { recursive: true });
      cpSync(backup ?? "", stored ?? "", { recursive: true });
    });
    await apiServer.start();
    await site.until("the old state", () => textsOf(followed).join() === "changed first,deleted first,kept first");
    await site.change("g-kept", "third");
    await site.until("what changed after", () => textsOf(followed).join().endsWith("kept third"));

    expect(isOlder(followed.informer.resourceVersion() ?? "", before)).toBe(true);
    expect(followed.changes.slice(-4).toSorted()).toEqual([
      "added deleted first",
      "deleted new first",
      "updated changed first",
      "updated kept third",
    ]);
  });
});
