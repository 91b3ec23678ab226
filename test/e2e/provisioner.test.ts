import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROVISIONER_RUNBOOKS } from "../pages/provisioner-runbooks.ts";
import { settleAccount } from "./provisioner/account.ts";
import { faultsIn, provisionerLogs } from "./provisioner/provisioner-pods.ts";
import { deletionRows } from "./provisioner/rows/deletions.ts";
import { closeGround, openGround, pages, stage } from "./provisioner/rows/ground.ts";
import { meanwhileRows } from "./provisioner/rows/meanwhile.ts";
import { mooringRows } from "./provisioner/rows/mooring.ts";
import { nodeRows } from "./provisioner/rows/nodes.ts";
import { volumeRows } from "./provisioner/rows/volumes.ts";

beforeAll(openGround);
afterAll(closeGround);

volumeRows();
deletionRows();
nodeRows();
meanwhileRows();
mooringRows();

describe("at the end", () => {
  it.each(["MooringProvisionerDown", "MooringProvisionersAbsent"])("%s shows the provisioner", async (runbook) => {
    expect(await pages.look(runbook, { node: "node-1" })).toMatch(/mooring-provisioner|readyz check passed/);
  });

  it("every runbook of the provisioner was followed", () => {
    expect([...pages.looked].toSorted()).toEqual([...PROVISIONER_RUNBOOKS].toSorted());
  });

  it("the nodes have what PersistentVolumes name, and no more", async () => {
    await settleAccount(stage);
  });

  it("the API server refused nothing that the provisioners wanted", () => {
    const lines = provisionerLogs(stage);

    expect(lines.length).toBeGreaterThan(10);
    expect(faultsIn(lines)).toEqual([]);
  });
});
