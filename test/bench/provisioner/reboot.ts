import { POOLS, type ProvisionerStage } from "../../e2e/provisioner/stage.ts";
import { detachVolumes, linksOn, mountDisk } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";

const LIMIT_MS = 300_000;

/** What a boot of a node took until its volumes were attached again. Milliseconds. */
export interface RebootFigures {
  readonly volumes: number;
  /** First link there -> all links there. */
  readonly attachingMs: number;
}

/** Cuts the power of node-1, whose volumes are to be attached, and starts it again. */
export async function reboot(stage: ProvisionerStage): Promise<RebootFigures> {
  const { clock } = stage.owner;
  const node = stage.node("node-1");
  const volumes = (await linksOn(node)).size;
  await node.kill();
  await detachVolumes((volume) => stage.known.has(volume));
  await node.start();
  for (const pool of POOLS) await mountDisk({ node, pool }, stage.disk("node-1", pool));
  let firstMs = Number.NaN;
  const check = async (): Promise<void> => {
    const links = (await linksOn(node)).size;
    if (links > 0 && Number.isNaN(firstMs)) firstMs = clock.monotonicMs();
    if (links < volumes) throw new HarnessError(`${links} of ${volumes} are attached`);
  };
  await stage.until("all attached", check, LIMIT_MS);
  return { volumes, attachingMs: clock.monotonicMs() - firstMs };
}
