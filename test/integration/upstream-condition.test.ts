import { array, looseObject, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { type BareCluster, CLAIMS, startBareCluster } from "./bare-cluster.ts";

const WRITTEN = 'mooring_status_writes_total{outcome="written"}';
const raw = looseObject({ status: looseObject({ conditions: array(looseObject({ type: string() })) }) });

const isUnused = ({ status }: Claim): boolean => status?.unused === true;
const isReferenced = ({ status }: Claim): boolean => status?.reason === "Referenced";

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner, await borrowControlPlane(owner, ["kube-controller-manager"]));
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Applies what an earlier version did: Mooring's condition and, with the same status and time, Kubernetes' own. */
async function writeBothAsMooring(name: string): Promise<void> {
  const [ours] = parse(raw, await cluster.api.get(`${CLAIMS}/${name}`)).status.conditions;
  const theirs = {
    ...ours,
    type: "Unused",
    reason: "NoPodsUsingPVC",
    message: "No pods are currently referencing this PVC",
  };
  const status = { conditions: [ours, theirs] };
  const body = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name }, status };
  const path = `${CLAIMS}/${name}/status?fieldManager=mooring-aggregator&force=true`;
  const contentType = "application/apply-patch+yaml";
  const answer = await cluster.plane.api({ method: "PATCH", path, body, contentType });
  expect(answer.status, answer.text).toBe(200);
}

// This comes first: the controller manager is stopped after it.
describe("Kubernetes' own condition beside kube-controller-manager with the gate on", () => {
  it("is never written over, and neither keeps the other busy", async () => {
    await cluster.createClaims(["both"]);
    await cluster.claimThat("both", "known to Kubernetes", ({ upstream }) => upstream !== undefined);
    const { metric, stop } = await cluster.startAggregator();
    await cluster.claimThat("both", "known", isUnused);
    const before = await metric(WRITTEN);

    for (const round of [1, 2, 3]) {
      await cluster.createPod(`both-${round}`, "both");
      const inUse = (claim: Claim): boolean => isReferenced(claim) && claim.upstream?.unused === false;
      await cluster.claimThat("both", "in use by both", inUse);
      await cluster.removePod(`both-${round}`);
      await cluster.claimThat("both", "unused by both", (claim) => isUnused(claim) && claim.upstream?.unused === true);
    }

    const { resourceVersion } = await cluster.claim("both");
    await owner.clock.sleep(1_000);
    expect(await metric(WRITTEN)).toBe(before + 6);
    expect((await cluster.claim("both")).resourceVersion).toBe(resourceVersion);
    await stop();
  });
});

describe("Kubernetes' own condition that an earlier version of Mooring wrote", () => {
  it("goes with the next write of the claim's status, whatever the policies say", async () => {
    await cluster.plane.part("kube-controller-manager").stop();
    await cluster.createClaims(["earlier"]);
    const { stop } = await cluster.startAggregator();
    const { status } = await cluster.claimThat("earlier", "known", isUnused);
    await stop();
    await writeBothAsMooring("earlier");
    const before = await cluster.claim("earlier");

    await cluster.startAggregator();
    await cluster.createPod("earlier-0", "earlier");

    const after = await cluster.claimThat("earlier", "in use", isReferenced);
    expect(before).toMatchObject({ status, upstream: { unused: true, sinceMs: status?.sinceMs } });
    expect(after.upstream).toBeUndefined();
  });
});
