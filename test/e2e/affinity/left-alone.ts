import { HarnessError } from "../../rig/process/errors.ts";
import { makeClaim } from "../scenarios/claims.ts";
import { agentOn, metricOf, readinessOf } from "../scenarios/failures/mooring.ts";
import { DRIVERS, type NodeName } from "../scenarios/stage.ts";
import type { Places } from "./misplaced.ts";
import type { PodState } from "./pod-log.ts";
import { type AffinityStage, copyFolder, RACK, untilPod } from "./stage.ts";
import { hostname, labelNode, makeLocal, makeReachable, moveVolume, SLOW_DRIVER } from "./volumes.ts";
import { makeReplicaSet, placeFirst, placePod } from "./workloads.ts";

/** A pod that nobody may touch, and its label `app`. */
export interface LeftAlone {
  readonly uid: string;
  readonly app: string;
}

/** Its volume is moved while it runs. */
export async function moveFromRunning(stage: AffinityStage, app: string, { on, home }: Places): Promise<LeftAlone> {
  const volume = await makeLocal(stage, app, on);
  await makeReplicaSet(stage, { name: app, claim: app });
  const { uid } = await untilPod(stage, app, { what: "to run", holds: ({ isReady }) => isReady });
  await moveVolume(stage, volume, hostname(home));
  return { app, uid };
}

/** Its volume, which shows no mount, is moved while its image cannot be had: nobody listens there. */
export async function moveFromImageless(stage: AffinityStage, app: string, { on, home }: Places): Promise<LeftAlone> {
  const volume = await makeClaim(stage, app, { kind: "host-path", node: on });
  await makeReplicaSet(stage, { name: app, claim: app, image: "127.0.0.1:1/nowhere:1" });
  const lacksImage = ({ waitingFor }: PodState): boolean => waitingFor.includes("ImagePullBackOff");
  const { uid } = await untilPod(stage, app, { what: "to lack its image", holds: lacksImage });
  await moveVolume(stage, volume, hostname(home));
  return { app, uid };
}

/** It is put on a wrong node, and a moment later its volume turns out to be there. */
export async function correctInTime(stage: AffinityStage, app: string, { on, home }: Places): Promise<LeftAlone> {
  const volume = await makeLocal(stage, app, home);
  await copyFolder(stage, app, on);
  const uid = await placeFirst(stage, { name: app, claim: app }, on);
  await stage.owner.clock.sleep(2_500, stage.owner.signal);
  await moveVolume(stage, volume, hostname(on));
  return { app, uid };
}

/** It is put on a wrong node, and no controller would make another one. */
export async function placeBare(stage: AffinityStage, app: string, { on, home }: Places): Promise<LeftAlone> {
  await makeLocal(stage, app, home);
  return { app, uid: await placePod(stage, { name: app, claim: app }, on) };
}

/** It is put on a wrong node to which its volume is attached all the same: the attach controller does not look at affinity. */
export async function placeAttached(stage: AffinityStage, app: string, { on, home }: Places): Promise<LeftAlone> {
  const volume = await makeReachable(stage, app, { driver: DRIVERS.attached, from: hostname(home) });
  const uid = await placeFirst(stage, { name: app, claim: app }, on);
  await stage.until(`the attachment of ${volume}`, async () => {
    const node = JSON.stringify(await stage.api.get(`/api/v1/nodes/${on}`));
    if (!node.includes(`"kubernetes.io/csi/${DRIVERS.attached}^${volume}"`)) throw new HarnessError("it is not listed");
  });
  return { app, uid };
}

/** Pods that wait for volumes in the rack of node-2, and the names of their workloads. */
export async function waitInRack(stage: AffinityStage, apps: readonly string[]): Promise<readonly LeftAlone[]> {
  const waiting: LeftAlone[] = [];
  for (const app of apps) {
    await makeReachable(stage, app, { driver: SLOW_DRIVER, from: RACK });
    await makeReplicaSet(stage, { name: app, claim: app });
    const pod = await untilPod(stage, app, { what: "on node-2", holds: ({ node }) => node === "node-2" });
    waiting.push({ app, uid: pod.uid });
  }
  return waiting;
}

/** Takes the rack's label from node-2 until it is disposed of. */
export async function loseRack(stage: AffinityStage): Promise<AsyncDisposable> {
  await labelNode(stage, "node-2", { label: RACK.label, value: null });
  return { [Symbol.asyncDispose]: () => labelNode(stage, "node-2", RACK) };
}

/** Waits until the agent of a node says that it is not ready and why, in these words; or that it is ready. */
export async function untilReadiness(
  stage: AffinityStage,
  on: NodeName,
  { isReady, words = "" }: { readonly isReady: boolean; readonly words?: string },
): Promise<void> {
  await stage.until(`the agent of ${on} ${isReady ? "" : "not "}ready`, async () => {
    const said = await readinessOf(stage, await agentOn(stage, on));
    if (said.isReady !== isReady || !said.text.includes(words)) throw new HarnessError(said.text);
  });
}

/** A metric of a node's agent. */
export async function metricOn(stage: AffinityStage, on: NodeName, metric: string): Promise<number | undefined> {
  return await metricOf(stage, await agentOn(stage, on), metric);
}
