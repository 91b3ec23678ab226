import { afterEach, describe, expect, it } from "vitest";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, CLAIM, nodeRef, podRef, VOLUME } from "../objects.ts";
import { startLeader, statusIn } from "./replica.ts";
import { leadingScene } from "./scene.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

/** Volumes get the annotation mounted-on, too. */
const AUDIT = ["--protection", "audit"];

/** A retained volume that is mounted on n1 for the pod `web`, as its node has reported. */
async function mountedVolume() {
  const house = new House();
  for (const name of ["n1", "n2"]) {
    addNode(house, name);
    addAgentPod(house, name);
  }
  addClaim(house, { reclaimPolicy: "Retain" });
  addPod(house, "web");
  const leader = await startLeader(house, { argv: AUDIT });
  const [n1, n2] = [new ScriptedNode(house, "n1"), new ScriptedNode(house, "n2")];
  n1.mount("web");
  await leader.send(n1.report());
  await leader.send(n2.report());
  await house.until(() => statusIn(house)?.reason === "Mounted");
  // Scans that began after the aggregator did.
  for (const node of [n1, n2]) await leader.send(node.report());
  return { house, leader, n1, n2 };
}

function unmountRecord(house: House): void {
  house.api.update(VOLUME, (volume) => ({ ...volume, status: { phase: "Released" } }), { subresource: "status" });
}

/** Mooring's annotations of the volume, by the last part of their names. */
function marksOf(house: House): Readonly<Record<string, unknown>> {
  const all = Object.entries(house.api.get(VOLUME)?.metadata.annotations ?? {});
  return Object.fromEntries(all.map(([name, text]) => [name.replace("mooring.dev/", ""), JSON.parse(String(text))]));
}

function eventsIn(house: House): readonly unknown[] {
  return house.api.list("events").map(({ reason }) => reason);
}

describe("a volume whose claim is gone", () => {
  it("names the nodes that still have it mounted, as soon as it is Released", async () => {
    const { house } = await mountedVolume();
    house.api.delete(podRef("web"));
    house.api.delete(CLAIM);
    await house.pass(1_000);

    unmountRecord(house);
    await house.pass(1_000);

    expect(marksOf(house)).toMatchObject({ "mounted-on": { nodes: ["n1"] } });
  });

  it("loses the annotation mounted-on when its node reports the unmount", async () => {
    const { house, leader, n1 } = await mountedVolume();
    house.api.delete(podRef("web"));
    house.api.delete(CLAIM);
    unmountRecord(house);
    await house.until(() => marksOf(house)["mounted-on"] !== undefined);
    await house.pass(1_000);
    n1.unmount("web");

    await leader.send(n1.report());
    await house.pass(1_000);

    expect(marksOf(house)).not.toHaveProperty("mounted-on");
  });

  it("loses the annotation mounted-on when its node is Gone", async () => {
    const { house, leader, n2 } = await mountedVolume();
    house.api.delete(podRef("web"));
    house.api.delete(CLAIM);
    unmountRecord(house);
    await house.until(() => marksOf(house)["mounted-on"] !== undefined);
    house.api.delete(nodeRef("n1"));
    house.api.delete(podRef("agent-n1", "mooring-agents"));
    await house.pass(200_000);
    await leader.send(n2.report());

    await house.pass(200_000);

    expect(marksOf(house)).not.toHaveProperty("mounted-on");
  });

  it("keeps the last use of the claim, as its node reported it", async () => {
    const { house, leader, n1 } = await mountedVolume();
    house.api.delete(podRef("web"));
    n1.unmount("web");
    await leader.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);

    house.api.delete(CLAIM);
    await house.pass(1_000);

    expect(marksOf(house)).toMatchObject({ "last-use": { pod: "shop/web", node: "n1" } });
  });

  it("has the last use while its claim is still being deleted", async () => {
    const { house, leader, n1 } = await mountedVolume();
    house.api.delete(podRef("web"));
    n1.unmount("web");
    await leader.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);

    house.api.requestDeletion(CLAIM);
    await house.pass(1_000);

    expect(house.api.get(CLAIM)).toBeDefined();
    expect(marksOf(house)).toMatchObject({ "last-use": { pod: "shop/web", node: "n1" } });
  });

  it("is removed while it is mounted, and an event and a counter report that", async () => {
    const { house, leader, n1, n2 } = await mountedVolume();
    house.api.delete(podRef("web"));

    house.api.delete(CLAIM);
    await house.pass(1_000);
    for (const node of [n1, n2]) await leader.send(node.report());
    await house.pass(60_000);
    for (const node of [n1, n2]) await leader.send(node.report());
    await house.pass(60_000);

    expect(eventsIn(house)).toContain("RemovedWhileMounted");
    expect(await leader.metric("mooring_claims_removed_while_mounted_total", "not-enforced")).toBe(1);
  });
});

describe("a volume that an earlier leader annotated as mounted", () => {
  it("has the last use ten seconds after the last node has reported to the next leader", async () => {
    const { house, n1, n2, leader } = await mountedVolume();
    house.api.delete(podRef("web"));
    house.api.delete(CLAIM);
    unmountRecord(house);
    await house.until(() => marksOf(house)["mounted-on"] !== undefined);
    await leader.stop();
    n1.unmount("web");
    const next = await startLeader(house, { name: "aggregator-1", argv: AUDIT });

    await next.send(n1.report());
    await house.pass(5_000);
    const before = marksOf(house);
    await next.send(n2.report());
    await house.pass(11_000);

    expect(before).not.toHaveProperty("last-use");
    expect(marksOf(house)).toMatchObject({ "last-use": { pod: "shop/web", node: "n1" } });
    expect(marksOf(house)).not.toHaveProperty("mounted-on");
  });
});

describe("a claim that waits for its volume", () => {
  it("is measured once it is bound", async () => {
    const house = new House();
    house.create("storageclasses", { metadata: { name: "fast" }, volumeBindingMode: "Immediate" });
    const leader = await startLeader(house);
    house.create("persistentvolumeclaims", {
      metadata: { name: "new", namespace: "shop" },
      spec: { storageClassName: "fast" },
      status: { phase: "Pending" },
    });
    await house.pass(5_000);
    const ref = { ...CLAIM, name: "new" };

    house.api.update(ref, (claim) => ({ ...claim, spec: { ...Object(claim.spec), volumeName: "pv-new" } }));
    house.api.update(ref, (claim) => ({ ...claim, status: { phase: "Bound" } }), { subresource: "status" });
    await house.pass(1_000);

    expect(await leader.metric("mooring_claim_bind_seconds_count")).toBe(1);
  });

  it("has its first status as soon as the volume is there, though nothing else of it changes", async () => {
    const scene = await leadingScene();
    const volume = scene.house.api.get(VOLUME);
    scene.house.api.delete(VOLUME);
    addClaim(scene.house, { name: "other" });
    await scene.pass(1);
    await scene.report();
    await scene.pass(5);
    const before = [scene.status(), scene.status("other")?.unused];

    const { metadata, ...rest } = volume ?? expect.fail("there is no volume");
    scene.house.create("persistentvolumes", { ...rest, metadata: { name: metadata.name } });
    await scene.pass(2);

    expect(before).toEqual([undefined, true]);
    expect(scene.status()?.unused).toBe(true);
  });
});
