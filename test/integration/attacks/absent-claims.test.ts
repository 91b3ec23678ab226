import { afterAll, beforeAll, expect, it } from "vitest";
import { createKubeClient, type KubeClient } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { createAggregator, DEMO_PACE, type Program } from "../../rig/stand-in/mooring.ts";
import { type BareCluster, startBareCluster } from "../bare-cluster.ts";

/** A tenant who may make pods in one namespace makes some that name claims that there are not, with names as long as there may be. */

const PODS = "/api/v1/namespaces/shop/pods";
const MANY = { pods: 40, claims: 3_000, length: 250 } as const;
/** All those names take 29 MiB: with them the program does not fit. */
const HEAP_MIB = 48;

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregator: Program;
let admin: KubeClient;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  admin = createKubeClient(await connect({ kubeconfig: cluster.plane.kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => admin.close());
  aggregator = await createAggregator(owner, cluster.plane, DEMO_PACE);
  await aggregator.child.restart({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  await aggregator.ready();
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function podNaming(pod: string): object {
  const claimNames = Array.from({ length: MANY.claims }, (_, i) => `${pod}-${i}-`.padEnd(MANY.length, "x"));
  const volumes = claimNames.map((claimName, i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName } }));
  return { metadata: { name: pod }, spec: { containers: [{ name: "main", image: "none" }], volumes } };
}

it("the names of 120,000 claims that there are not, in 40 pods that came and went, are not kept", async () => {
  await cluster.createClaims(["before"]);
  for (let at = 0; at < MANY.pods; at += 1) {
    const pod = `absent-${at}`;
    await admin.request({ method: "POST", path: PODS, body: podNaming(pod) }, owner.signal);
    const query = { gracePeriodSeconds: "0" };
    await admin.request({ method: "DELETE", path: `${PODS}/${pod}`, query }, owner.signal);
  }

  // By the same process, which has seen all of them once it has written of a claim that was made, and named by a pod, after them.
  await cluster.createClaims(["after"]);
  await cluster.createPod("last", "after");
  await cluster.claimThat("after", "referenced", ({ status }) => status?.reason === "Referenced");
  await expect(Promise.race([aggregator.child.exited, "runs"])).resolves.toBe("runs");
});
