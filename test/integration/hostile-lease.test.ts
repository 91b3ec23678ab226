import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type BareCluster, startBareCluster } from "./bare-cluster.ts";
import { type Replica, Replicas } from "./replicas.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/mooring/leases/mooring-aggregator";

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let replicas: Replicas;
let replica: Replica;
let admin: KubeClient;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  admin = createKubeClient(await connect({ kubeconfig: cluster.plane.kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => admin.close());
  replicas = new Replicas(owner, cluster);
  replica = await replicas.create("aggregator-0");
  await replica.start();
  await replica.leads(30_000);
}, 90_000);

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function annotated(text: string): object {
  return { annotations: { "mooring.dev/pod-coverage": text } };
}

/** What a leader leaves to its successor, but for some fields. */
function coverage(fields: object): object {
  const past = "2026-01-01T00:00:00.000Z";
  return annotated(JSON.stringify({ version: 2, since: past, reached: "1", reachedAt: past, ...fields }));
}

describe("an aggregator whose Lease another client has changed and released", () => {
  const most = 2 ** 31 - 1;
  it.each([
    {
      name: "the most transitions and seconds, and a coverage that is no text of JSON",
      spec: { leaseTransitions: most, leaseDurationSeconds: most },
      metadata: annotated("{"),
    },
    {
      name: "no times, and a coverage since the year 1",
      spec: { renewTime: null, acquireTime: null, leaseDurationSeconds: null },
      metadata: coverage({ since: "0001-01-01T00:00:00Z" }),
    },
    {
      name: "times at the ends of the calendar, and a coverage until its end",
      spec: { renewTime: "9999-12-31T23:59:59.999999Z", acquireTime: "0001-01-01T00:00:00.000000Z" },
      metadata: coverage({ reachedAt: "9999-12-31T23:59:59Z" }),
    },
    {
      name: "a coverage up to a version of twenty digits, and a claim whose UID is none",
      spec: {},
      metadata: coverage({
        reached: "9".repeat(20),
        unstored: [{ uid: "\u202e\u0000", since: "0001-01-01T00:00:00Z" }],
      }),
    },
    {
      name: "a gap that ends before it begins",
      spec: {},
      metadata: coverage({ version: 2, gap: { from: "9999-01-01T00:00:00Z" } }),
    },
  ])(
    "leads again, meets no bug and writes claims, with $name",
    async ({ name, metadata, spec }) => {
      const body = { metadata, spec: { ...spec, holderIdentity: "" } };
      const contentType = "application/merge-patch+json";
      await admin.request({ method: "PATCH", path: LEASE, body, contentType }, owner.signal);
      const isHeld = async (): Promise<void> => expect((await replicas.lease()).holder).not.toBe("");
      await waitUntil(owner, { what: "a holder of the Lease", limitMs: 40_000, child: replica.child, check: isHeld });
      await replica.leads(20_000);
      const claim = name.toLowerCase().replaceAll(/\W+/g, "-");

      await cluster.createClaims([claim]);

      await cluster.claimThat(claim, "written", ({ status }) => status !== undefined);
      const health = await replica.get("/readyz?verbose");
      expect(health.text).toContain("[+]internal-errors ok\n");
      await expect(Promise.race([replica.child.exited, "runs"])).resolves.toBe("runs");
    },
    60_000,
  );
});
