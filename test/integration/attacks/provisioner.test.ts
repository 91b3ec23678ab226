import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { create, dry, patch, remove } from "./attack.ts";
import { OWN } from "./provisioner-attack.ts";
import { ADMIN_ATTACKS, ALLOWED, ATTACKS } from "./provisioner-attacks.ts";
import { CAPACITIES, capacityOf, volumeOf } from "./provisioner-objects.ts";
import { openProvisionerStage, type ProvisionerStage } from "./provisioner-stage.ts";
import { NOBODY, whoRefused } from "./refusal.ts";
import { SHOP } from "./victims.ts";

let owner: Owner;
let signals: Disposable;
let stage: ProvisionerStage;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openProvisionerStage(owner);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

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

  it.each(ATTACKS)("that $name is refused: $refusedBy", async ({ by, ask, refusedBy }) => {
    const who = whoRefused(await (by === "no node" ? stage.onNoNode : stage.onNode1)(dry(ask)));

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

  it.each(ADMIN_ATTACKS)("and $name is refused: $refusedBy", async ({ ask, refusedBy }) => {
    const asked = async (): Promise<string> => whoRefused(await stage.onNode1(dry(ask)));

    await expect.poll(asked, { timeout: 30_000 }).toSatisfy((who: string) => who.startsWith(refusedBy));
  });
});
