import { array, looseObject, parse, string } from "valibot";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { writeUpstream } from "../../common/storage/upstream-unused.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { type BareCluster, CLAIMS, type RunningAggregator, startBareCluster } from "./bare-cluster.ts";

const WRITTEN = 'mooring_status_writes_total{outcome="written"}';
const raw = looseObject({ status: looseObject({ conditions: array(looseObject({ type: string() })) }) });

const isUnused = ({ status }: Claim): boolean => status?.unused === true;
const isReferenced = ({ status }: Claim): boolean => status?.reason === "Referenced";

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregators: RunningAggregator[] = [];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner, await borrowControlPlane(owner, ["kube-controller-manager"]));
});
afterEach(stopAggregators);
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function aggregator(...flags: readonly string[]): Promise<RunningAggregator> {
  const started = await cluster.startAggregator(flags);
  aggregators.push(started);
  return started;
}

async function stopAggregators(): Promise<void> {
  await Promise.all(aggregators.map(({ stop }) => stop()));
  aggregators = [];
}

async function conditionsOf(name: string): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  const { status } = parse(raw, await cluster.api.get(`${CLAIMS}/${name}`));
  return new Map(status.conditions.map((condition) => [condition.type, condition]));
}

/** Lets a controller of another name write the whole status, as they do: `change` gets the claim as it is. */
async function updateStatus(name: string, change: (conditions: object[]) => object[]): Promise<void> {
  const claim = parse(raw, await cluster.api.get(`${CLAIMS}/${name}`));
  const status = { ...claim.status, conditions: change([...claim.status.conditions]) };
  const path = `${CLAIMS}/${name}/status?fieldManager=some-controller`;
  const answer = await cluster.plane.api({ method: "PUT", path, body: { ...claim, status } });
  expect(answer.status, answer.text).toBe(200);
}

// These come first: the controller manager is stopped after them.
describe("beside kube-controller-manager with the gate on", () => {
  it("never writes over its condition, and neither keeps the other busy", async () => {
    await cluster.createClaims(["both"]);
    await cluster.claimThat("both", "known to Kubernetes", ({ upstream }) => upstream !== undefined);
    const { metric } = await aggregator("--upstream-condition=always");
    await cluster.claimThat("both", "known", isUnused);
    const before = await metric(WRITTEN);

    for (const round of [1, 2, 3]) {
      await cluster.createPod(`both-${round}`, "both");
      const inUse = (claim: Claim): boolean => isReferenced(claim) && claim.upstream?.unused === false;
      await cluster.claimThat("both", "in use by both", inUse);
      await cluster.removePod(`both-${round}`);
      await cluster.claimThat("both", "unused by both", (claim) => isUnused(claim) && claim.upstream?.unused === true);
    }

    const { resourceVersion, upstream } = await cluster.claim("both");
    await owner.clock.sleep(1_000);
    expect(upstream?.owner).not.toBe("mooring");
    expect(await metric(WRITTEN)).toBe(before + 6);
    expect((await cluster.claim("both")).resourceVersion).toBe(resourceVersion);
  });
});

describe("where no controller writes Kubernetes' own condition", () => {
  beforeAll(async () => {
    await cluster.plane.part("kube-controller-manager").stop();
  });

  it("writes it in the same apply, with upstream's texts and Mooring's status and time", async () => {
    await cluster.createClaims(["alone"]);
    const { metric } = await aggregator("--upstream-condition=always");
    await cluster.claimThat("alone", "known", isUnused);
    const before = await metric(WRITTEN);

    await cluster.createPod("alone-0", "alone");
    const { status: used } = await cluster.claimThat("alone", "in use", isReferenced);
    const whileUsed = (await conditionsOf("alone")).get("Unused");
    await cluster.removePod("alone-0");
    const { status: idle, upstream } = await cluster.claimThat("alone", "unused", isUnused);

    expect(whileUsed).toMatchObject(used === undefined ? {} : (writeUpstream(used, "all")[0] ?? {}));
    expect((await conditionsOf("alone")).get("Unused")).toMatchObject(
      idle === undefined ? {} : (writeUpstream(idle, "all")[0] ?? {}),
    );
    expect(upstream?.owner).toBe("mooring");
    expect(await metric(WRITTEN)).toBe(before + 2);
  });

  it("continues beside a controller that writes another condition", async () => {
    await cluster.createClaims(["resized"]);
    await aggregator("--upstream-condition=always");
    await cluster.claimThat("resized", "known", ({ upstream }) => upstream?.owner === "mooring");

    await updateStatus("resized", (conditions) => [...conditions, { type: "Resizing", status: "True" }]);
    await cluster.createPod("resized-0", "resized");

    const inUse = (claim: Claim): boolean => isReferenced(claim) && claim.upstream?.unused === false;
    const { upstream } = await cluster.claimThat("resized", "in use by both", inUse);
    expect(upstream?.owner).toBe("mooring");
    expect([...(await conditionsOf("resized")).keys()].sort()).toEqual(["Resizing", "Unused", "mooring.dev/Unused"]);
  });

  it("stops for a claim as soon as another manager writes it, and leaves that as it is", async () => {
    await cluster.createClaims(["taken"]);
    await aggregator("--upstream-condition=always");
    await cluster.claimThat("taken", "known", ({ upstream }) => upstream?.owner === "mooring");
    const theirs = { type: "Unused", status: "False", reason: "PodUsingPVC", message: "theirs" };

    await updateStatus("taken", (conditions) => [
      ...conditions.filter((one) => !("type" in one) || one.type !== "Unused"),
      { ...theirs, lastTransitionTime: "2026-01-01T00:00:00Z" },
    ]);
    await cluster.createPod("taken-0", "taken");
    await cluster.claimThat("taken", "in use", isReferenced);
    await cluster.removePod("taken-0");
    await cluster.claimThat("taken", "unused", isUnused);

    expect((await conditionsOf("taken")).get("Unused")).toMatchObject(theirs);
    expect((await cluster.claim("taken")).upstream?.owner).not.toBe("mooring");
  });

  it.each(["never", "auto"])("takes back its own, and nobody else's, with %s on this server", async (setting) => {
    const [mine, theirs] = [`mine-${setting}`, `theirs-${setting}`];
    await cluster.createClaims([mine, theirs]);
    const known = ({ upstream }: Claim): boolean => upstream?.owner === "mooring";
    await aggregator("--upstream-condition=always");
    await cluster.claimThat(mine, "known", known);
    await cluster.claimThat(theirs, "known", known);
    await stopAggregators();
    const { status } = await cluster.claim(mine);
    await updateStatus(theirs, (conditions) =>
      conditions.map((one) => ("type" in one && one.type === "Unused" ? { ...one, message: "theirs" } : one)),
    );

    await aggregator(`--upstream-condition=${setting}`);

    await cluster.claimThat(mine, "without it", ({ upstream }) => upstream === undefined);
    expect((await cluster.claim(mine)).status).toEqual(status);
    expect((await cluster.claim(theirs)).upstream).toMatchObject({ unused: true, owner: "shared" });
  });
});
