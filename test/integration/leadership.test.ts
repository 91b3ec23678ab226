import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { type Owner, openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import { waitUntil } from "../process/wait.ts";
import { type BareCluster, startBareCluster } from "./bare-cluster.ts";
import { startHoldingProxy } from "./holding-proxy.ts";
import { type Replica, Replicas } from "./replicas.ts";

const WRITTEN = 'mooring_status_writes_total{outcome="written"}';
const isUnused = ({ status }: Claim): boolean => status?.unused === true;
const isReferenced = ({ status }: Claim): boolean => status?.reason === "Referenced";
const REPORT = {
  version: 1,
  node: "n1",
  bootId: "boot-1",
  podUid: "agent-1",
  instance: "run-1",
  generation: 1,
  driftPpm: 200,
  sentAt: 1_002,
  read: { beganAt: 1_000, endedAt: 1_001 },
  observedSince: 500,
  blind: [{ to: 500 }],
  podsResourceVersion: "1",
  holds: [],
  releases: [],
};

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let replicas: Replicas;
let running: Replica[] = [];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  replicas = new Replicas(owner, cluster);
});
afterEach(async () => {
  await Promise.all(running.map(({ child }) => child.stop()));
  running = [];
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Two replicas, the first of which leads. */
async function pair(name: string, options: { readonly through?: number } = {}): Promise<readonly [Replica, Replica]> {
  const leader = await replicas.create(`${name}-a`, options);
  const standby = await replicas.create(`${name}-b`);
  running.push(leader, standby);
  await leader.start();
  // The one before may have been killed.
  await leader.leads(25_000);
  await standby.start();
  return [leader, standby];
}

function until(what: string, limitMs: number, check: () => Promise<void>): Promise<void> {
  return waitUntil(owner, { what, limitMs, check });
}

function put({ url }: Replica): Promise<Response> {
  return fetch(`${url}/v1/nodes/n1/report`, { method: "PUT", body: JSON.stringify(REPORT) });
}

/** How long it takes from now until the replica leads and acknowledges reports. */
async function takenOver(next: Replica, limitMs: number): Promise<number> {
  const { clock } = owner;
  const begunAt = clock.monotonicMs();
  await until("an acknowledgement", limitMs, async () => expect((await put(next)).status).toBe(200));
  return clock.monotonicMs() - begunAt;
}

describe("two replicas of the aggregator", () => {
  it("the one that leads is the only one that writes, acknowledges and is found by the Service", async () => {
    const [leader, standby] = await pair("roles");
    await cluster.createClaims(["roles"]);
    await cluster.claimThat("roles", "known", isUnused);

    const [refused, accepted] = [await put(standby), await put(leader)];
    const list = await standby.get("/v1/claims");

    expect(refused.status).toBe(503);
    expect(refused.headers.get("connection")).toBe("close");
    expect(await refused.text()).toBe("not the leader\n");
    expect(accepted.status).toBe(200);
    expect(list).toEqual({ status: 503, text: "not the leader\n" });
    await until("the label", 5_000, async () => expect(await replicas.labelled()).toEqual([leader.pod]));
    expect([await standby.metric(WRITTEN), await standby.metric("mooring_leader")]).toEqual([0, 0]);
    expect(await leader.metric(WRITTEN)).toBeGreaterThan(0);
  });

  it("a standby is as ready as the leader, and both say who leads and since when", async () => {
    const [leader, standby] = await pair("health");
    await until("the label", 5_000, async () => expect(await replicas.labelled()).toEqual([leader.pod]));

    const [own, other] = await Promise.all([leader.get("/readyz?verbose"), standby.get("/healthz?verbose")]);

    expect(own).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^\[\+\]leader ok: this one leads since 20/m),
    });
    expect(other.status).toBe(200);
    expect(other.text).toMatch(/^\[\+\]leader ok: health-a_[-0-9a-f]+ leads since 20.*\.\d{6}Z$/m);
  });

  it("a clean stop hands over within 3 s, and breaks no chain of watches", async () => {
    const { coverage: predecessors } = await replicas.lease();
    const [leader, standby] = await pair("stop");
    await until("the label", 5_000, async () => expect(await replicas.labelled()).toEqual([leader.pod]));
    // That of the one before stays until there is one of its own.
    const isOwn = async (): Promise<void> =>
      expect([undefined, predecessors]).not.toContain((await replicas.lease()).coverage);
    await until("a word", 10_000, isOwn);
    const before = JSON.parse((await replicas.lease()).coverage ?? "");

    const stopping = leader.child.stop();
    const tookMs = await takenOver(standby, 10_000);
    await stopping;

    expect(tookMs).toBeLessThan(3_000);
    await until("the label", 5_000, async () => expect(await replicas.labelled()).toEqual([standby.pod]));
    await until("the word of the next", 10_000, async () => {
      const after = JSON.parse((await replicas.lease()).coverage ?? "");
      expect(BigInt(after.reached)).toBeGreaterThanOrEqual(BigInt(before.reached));
      expect(after).toMatchObject({ since: before.since });
    });
  });

  it("a clean stop leaves word of the pods' last change, also that of the stop itself, to a successor who begins later", async () => {
    const leader = await replicas.create("alone");
    running.push(leader);
    await leader.start();
    await leader.leads(25_000);
    await until("the label", 5_000, async () => expect(await replicas.labelled()).toEqual([leader.pod]));

    await leader.child.stop();

    expect(await replicas.labelled()).toEqual([]);
    const { reached } = JSON.parse((await replicas.lease()).coverage ?? "");
    expect(BigInt(reached)).toBeGreaterThanOrEqual(BigInt(await replicas.podVersion(leader.pod)));
  });

  it("a killed leader is replaced within 20 s, and what happened meanwhile counts by its own time", async () => {
    const [leader, standby] = await pair("kill");
    await cluster.createClaims(["kill"]);
    await cluster.claimThat("kill", "known", isUnused);
    await cluster.createPod("kill-0", "kill");
    await cluster.claimThat("kill", "referenced", isReferenced);
    await until("the label", 5_000, async () => expect(await replicas.labelled()).toEqual([leader.pod]));

    await leader.child.kill();
    const endedAtMs = owner.clock.wallMs();
    await cluster.removePod("kill-0");
    const tookMs = await takenOver(standby, 30_000);

    expect(tookMs).toBeLessThan(20_000);
    const { status } = await cluster.claimThat("kill", "unused", isUnused);
    expect(status?.sinceMs).toBeGreaterThanOrEqual(endedAtMs);
    // A standby saw it: nothing waited for the takeover.
    expect(status?.sinceMs).toBeLessThan(endedAtMs + 3_000);
    await until("the label", 5_000, async () => expect(await replicas.labelled()).toEqual([standby.pod]));
  });
});

describe("a leader that is stopped in the middle of a write and goes on when another one leads", () => {
  const REFUSED =
    /^apiserver_request_total\{code="409",.*resource="persistentvolumeclaims",.*subresource="status",.*\} (\d+)$/gm;

  async function conflicts(): Promise<number> {
    const { text } = await cluster.plane.api({ path: "/metrics" });
    return [...text.matchAll(REFUSED)].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  it("writes nothing that counts: what it had sent is refused by the API server, and it sends no more", async () => {
    const proxy = await startHoldingProxy(new URL(cluster.plane.url));
    owner.defer(() => proxy.close());
    const [leader, standby] = await pair("paused", { through: proxy.port });
    await cluster.createClaims(["paused"]);
    await cluster.claimThat("paused", "known", isUnused);
    // Right after a renewal: the connection that the next write takes is there, and nothing else is to be sent on it.
    const { renewTime } = await replicas.lease();
    await until("a renewal", 5_000, async () => expect((await replicas.lease()).renewTime).not.toBe(renewTime));
    const written = await leader.metric(WRITTEN);

    proxy.hold();
    await cluster.createPod("paused-0", "paused");
    await until("the write on its way", 1_200, async () => expect(proxy.held()).toBeGreaterThan(500));
    leader.child.signal("SIGSTOP");
    // How soon is the matter of the row above.
    await standby.leads(30_000);
    const { resourceVersion, status } = await cluster.claimThat("paused", "referenced", isReferenced);
    const before = await conflicts();
    proxy.release();
    await until("the refusal", 5_000, async () => expect(await conflicts()).toBeGreaterThan(before));
    leader.child.signal("SIGCONT");
    await cluster.removePod("paused-0");
    await cluster.claimThat("paused", "unused again", isUnused);

    await until("the former leader as a standby", 5_000, async () => {
      expect((await leader.get("/readyz?verbose")).text).toMatch(/^\[\+\]leader ok: paused-b_.* leads since/m);
    });
    expect((await put(leader)).status).toBe(503);
    expect(await leader.metric(WRITTEN)).toBe(written);
    expect(status?.message).not.toBe("");
    expect((await cluster.claim("paused")).resourceVersion).not.toBe(resourceVersion);
    expect(await replicas.labelled()).toEqual([standby.pod]);

    // What it knew when it was stopped is forgotten: it begins anew.
    await cluster.createPod("paused-1", "paused");
    await cluster.claimThat("paused", "referenced by another pod", isReferenced);
    await standby.child.stop();
    await cluster.removePod("paused-1");
    const { status: last } = await cluster.claimThat("paused", "unused for the last time", isUnused);
    // It is stored before its writer has the answer.
    await until("the count", 5_000, async () => expect(await leader.metric(WRITTEN)).toBe(written + 1));
    expect(last?.reason).toBe("NoPodUsing");
  });
});
