import { type Owner, openOwner } from "../../../rig/process/owner.ts";
import { closeOnSignals } from "../../../rig/process/run-owned.ts";
import { openPageReader, type PageReader } from "../runbooks.ts";
import { openProvisionerStage, type ProvisionerStage } from "../stage.ts";

/** What all rows stand on; there once it is opened. */
export let owner: Owner;
export let stage: ProvisionerStage;
export let pages: PageReader;

let signals: Disposable;

export async function openGround(): Promise<void> {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openProvisionerStage(owner);
  pages = await openPageReader(stage);
}

export async function closeGround(): Promise<void> {
  await owner.close();
  signals[Symbol.dispose]();
}
