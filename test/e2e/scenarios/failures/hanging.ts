import type { FaultHandle } from "../../../rig/csi/harness.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { deletePod, type MadePod, runPod } from "../pods.ts";
import type { Truth } from "../scenario.ts";
import type { DriverName, NodeName, Stage } from "../stage.ts";
import { untilMounted } from "./conditions.ts";

/** A pod that is over, in the middle of whose unmount the driver hangs. */
export interface HangingUnmount {
  readonly pod: MadePod;
  readonly volume: string;
  /** Lets the driver go on. */
  readonly release: FaultHandle["release"];
  /** Lets it go on and waits until the volume is unmounted. */
  readonly finish: () => Promise<Truth>;
}

/** Runs a pod on a claim of its own, deletes it, and returns once the driver hangs in the unmount. */
export async function hangUnmount(
  stage: Stage,
  claim: string,
  { node, driver = "attached" }: { readonly node: NodeName; readonly driver?: DriverName },
): Promise<HangingUnmount> {
  const volume = await makeClaim(stage, claim, { kind: "csi", driver });
  const pod = await runPod(stage, { name: claim, node, claim });
  await untilMounted(stage, claim);
  const { misbehave, until } = stage.driver(driver, node);
  const { id, release } = misbehave({ call: "NodeUnpublishVolume", volume, effect: { kind: "hang" } });
  await deletePod(stage, pod);
  await until(`the unmount of ${claim}`, (line) => line.kind === "fault-met" && line.fault === id);
  const finish = (): Promise<Truth> => {
    release();
    return endOfUse(stage, volume, [pod]);
  };
  return { pod, volume, release, finish };
}
