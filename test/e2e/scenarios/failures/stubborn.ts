import { statSync } from "node:fs";
import { join } from "node:path";
import { VOLUMES_FOLDER } from "../../../rig/csi/loop-devices.ts";
import { fileNameOf } from "../../../rig/csi/volumes.ts";
import { HarnessError } from "../../../rig/process/errors.ts";
import { makeClaim } from "../claims.ts";
import { type MadePod, runPod } from "../pods.ts";
import { DRIVERS, type DriverName, type NodeName, type Stage } from "../stage.ts";
import { untilMounted } from "./conditions.ts";

/** Writes twenty times a second and does not hear that it should end. */
export const STUBBORN = "trap '' TERM; while :; do touch /data/beat; sleep 0.05; done";

/** A pod that goes on writing to its claim whatever it is asked. */
export interface StubbornPod extends MadePod {
  readonly claim: string;
  readonly volume: string;
  /** When it wrote last, wall clock, in ms: the machine tells, no part of Kubernetes. */
  readonly lastWriteMs: () => number;
}

/** How such a pod is run. */
export interface StubbornOptions {
  readonly node: NodeName;
  readonly driver?: DriverName;
  /** For so many seconds the kubelet asks before it kills; 3 unless told. */
  readonly grace?: number;
}

/** Runs such a pod on a claim of its own, and waits until Mooring has it mounted. */
export async function runStubborn(
  stage: Stage,
  claim: string,
  { node, driver = "attached", grace = 3 }: StubbornOptions,
): Promise<StubbornPod> {
  const volume = await makeClaim(stage, claim, { kind: "csi", driver });
  const pod = await runPod(stage, { name: claim, node, claim, line: STUBBORN, grace });
  await untilMounted(stage, claim);
  const beat = join(stage.owner.folder, VOLUMES_FOLDER, DRIVERS[driver], fileNameOf(volume), "content", "beat");
  return { ...pod, claim, volume, lastWriteMs: () => statSync(beat).mtimeMs };
}

/** Waits until the pod has written after a moment: it was running and had its volume then. */
export async function untilWrittenAfter(stage: Stage, pod: StubbornPod, momentMs: number): Promise<void> {
  await stage.until(`a write of ${pod.name}`, () => {
    const agoMs = momentMs - pod.lastWriteMs();
    if (agoMs >= 0) throw new HarnessError(`its last write was ${agoMs} ms before`);
  });
}
