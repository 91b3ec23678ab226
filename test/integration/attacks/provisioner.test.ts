import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../../process/owner.ts";
import { closeOnSignals } from "../../process/run-owned.ts";
import { create, dry, patch, remove } from "./attack.ts";
import { ALLOWED, ATTACKS, CLAIMS_THERE, OWN, VOLUMES_THERE } from "./provisioner-attacks.ts";
import { CAPACITIES, capacityOf, openProvisionerStage, type ProvisionerStage, volumeOf } from "./provisioner-stage.ts";
import { NOBODY, whoRefused } from "./refusal.ts";
import { SHOP } from "./victims.ts";

let owner: Owner;
let signals: Disposable;
let stage: ProvisionerStage;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openProvisionerStage(owner);
  for (const volume of VOLUMES_THERE) await stage.api.create("/api/v1/persistentvolumes", volume);
  for (const claim of CLAIMS_THERE) await stage.api.create(`${SHOP}/persistentvolumeclaims`, claim);
  await bind(`${SHOP}/persistentvolumeclaims/bound`);
  for (const node of ["node-1", "node-2"]) await stage.api.create(CAPACITIES, capacityOf(node, `local-${node}-there`));
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** To the volume that the provisioner would make for it. */
async function bind(path: string): Promise<void> {
  const { uid } = v.parse(v.object({ metadata: v.object({ uid: v.string() }) }), await stage.api.get(path)).metadata;
  const answer = await stage.administrator(patch(path, { spec: { volumeName: `pvc-${uid}` } }));
  expect(answer.status).toBe(200);
}

describe("a provisioner", () => {
  it.each(ALLOWED)("$name", async ({ ask }) => {
    expect(whoRefused(await stage.onNode1(dry(ask)))).toBe(NOBODY);
  });

  it("says how large the volume of a claim is", async () => {
    const grown = patch(`${SHOP}/persistentvolumeclaims/bound/status`, {
      status: {
        capacity: { storage: "2Gi" },
        conditions: [{ type: "FileSystemResizePending", status: "True" }],
      },
    });

    expect(whoRefused(await stage.onNode1(dry(grown)))).toBe(NOBODY);
  });

  it.each(ATTACKS)("that $name is refused: $refusedBy", async ({ ask, refusedBy }) => {
    const who = whoRefused(await stage.onNode1(dry(ask)));

    expect(who).not.toBe(NOBODY);
    expect(who.slice(0, refusedBy.length)).toBe(refusedBy);
  });

  it.each([
    { name: "makes a volume", ask: create("/api/v1/persistentvolumes", volumeOf("node-1")) },
    { name: "deletes a volume", ask: remove(`/api/v1/persistentvolumes/${OWN}`) },
    { name: "says how much room a node has", ask: create(CAPACITIES, capacityOf("node-1")) },
  ])("of another node, or of none, that $name of node-1 is refused", async ({ ask }) => {
    const answers = [await stage.onNode2(dry(ask)), await stage.onNoNode(dry(ask))];

    expect(answers.map(whoRefused)).toEqual([
      expect.stringContaining("mooring-provisioner-"),
      expect.stringContaining("mooring-provisioner-"),
    ]);
  });
});

describe("a provisioner that was made cluster-admin", () => {
  beforeAll(() => stage.makeAdmin());

  it.each([
    { name: "makes a config map", ask: create(`${SHOP}/configmaps`, { metadata: { name: "evil" } }) },
    { name: "makes a secret", ask: create(`${SHOP}/secrets`, { metadata: { name: "evil" } }) },
    { name: "deletes a claim", ask: remove(`${SHOP}/persistentvolumeclaims/data`) },
    { name: "labels its node", ask: patch("/api/v1/nodes/node-1", { metadata: { labels: { a: "b" } } }) },
    { name: "deletes a node", ask: remove("/api/v1/nodes/node-2") },
    { name: "deletes all volumes", ask: remove("/api/v1/persistentvolumes") },
    { name: "calls a volume Released", ask: patch(`/api/v1/persistentvolumes/${OWN}/status`, { status: {} }) },
  ])("and $name is refused by a policy", async ({ ask }) => {
    await expect
      .poll(async () => whoRefused(await stage.onNode1(dry(ask))), { timeout: 30_000 })
      .toMatch(/^mooring-provisioner-/);
  });
});
