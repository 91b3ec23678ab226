import { rolledOut } from "../../image/rollout.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { folderOf, volumeOf } from "../scenarios/claims.ts";
import { agentOn, setVariables, untilReporting } from "../scenarios/failures/mooring.ts";
import { NODES, type NodeName, openStage, type Stage } from "../scenarios/stage.ts";
import { type EventLog, startEventLog } from "./event-log.ts";
import { type PodLog, type PodState, startPodLog } from "./pod-log.ts";
import { rejectedAt } from "./verdict.ts";
import { labelNode, makeLocal, moveVolume, startSlowDriver } from "./volumes.ts";
import { makeReplicaSet } from "./workloads.ts";

/** A label of node-2 that the volume of its own pods asks for. */
export const RACK = { label: "mooring.test/rack", value: "east" } as const;

/** The API server's times are whole seconds. Milliseconds. */
const SECOND_MS = 1_100;

/** So many pods on each node are right where they are: most of a node's pods always are, unless its labels are lost. */
const RIGHT_PODS = 8;

/** A stage for pods on wrong nodes. */
export interface AffinityStage extends Stage {
  readonly pods: PodLog;
  readonly events: EventLog;
  /** Lets the slow driver attach. */
  readonly letAttach: () => Promise<void>;
}

/** Opens a stage on which each node has pods that are right there. Mooring is as its manifests have it, unless it is to come later. */
export async function openAffinityStage(owner: Owner, { hasMooring = true } = {}): Promise<AffinityStage> {
  const stage = await openStage(owner, { hasMooring });
  await labelNode(stage, "node-2", RACK);
  const [pods, events, letAttach] = await Promise.all([
    startPodLog(owner, stage.cluster.plane),
    startEventLog(owner, stage.cluster.plane),
    startSlowDriver(stage),
    ...NODES.map((node) => makeRightPods(stage, node)),
  ]);
  const opened = { ...stage, pods, events, letAttach };
  for (const node of NODES) await untilRunning(opened, { app: rightPods(node), on: node, count: RIGHT_PODS });
  return opened;
}

/** The name of the pods that are right on a node. */
export function rightPods(node: NodeName): string {
  return `right-${node}`;
}

async function makeRightPods(stage: Stage, node: NodeName): Promise<void> {
  const name = rightPods(node);
  await makeLocal(stage, name, node);
  if (node === "node-2") await moveVolume(stage, volumeOf(name), RACK);
  await makeReplicaSet(stage, { name, claim: name, replicas: RIGHT_PODS });
}

/** Has the agents do otherwise, as an administrator does, and waits until every new one reports. */
export async function setAgents(stage: Stage, ...variables: readonly string[]): Promise<void> {
  await setVariables(stage, { namespace: "mooring-agents", workload: "daemonset/mooring-agent" }, ...variables);
  await rolledOut(stage.cluster);
  for (const node of NODES) await untilReporting(stage, () => agentOn(stage, node));
}

/** Has a node join with a new Node object, which is younger than all that is there, and older than all that comes. */
export async function joinAnew(stage: AffinityStage, on: NodeName): Promise<void> {
  const { api, node, owner, until } = stage;
  const path = `/api/v1/nodes/${on}`;
  await node(on).kubelet.stop();
  await api.remove(path);
  await owner.clock.sleep(SECOND_MS, owner.signal);
  await node(on).kubelet.start();
  await until(`${on} to be ready`, async () => {
    if (!JSON.stringify(await api.get(path)).includes('"reason":"KubeletReady"')) throw new HarnessError("it is not");
  });
  await labelNode(stage, on, RACK);
  await owner.clock.sleep(SECOND_MS, owner.signal);
}

/** Makes the folder of a claim on a further node, so that nothing but affinity keeps it from being mounted there. */
export async function copyFolder({ node }: Stage, claim: string, to: NodeName): Promise<void> {
  await node(to).run("mkdir", "-p", folderOf(claim));
}

/** Waits until the pod with this UID is rejected. */
export async function untilRejected({ pods, until }: AffinityStage, uid: string, limitMs = 30_000): Promise<void> {
  const check = (): void => {
    if (rejectedAt(pods.states(uid)) === undefined)
      throw new HarnessError(`it is ${pods.states(uid).at(-1)?.phase ?? "not known"}`);
  };
  await until(`the rejection of ${pods.states(uid)[0]?.name ?? uid}`, check, limitMs);
}

interface Wanted {
  readonly app: string;
  readonly on: NodeName;
  readonly count?: number;
  /** Milliseconds; a minute unless told. */
  readonly limitMs?: number;
}

/** Waits until so many pods with this label `app` run on a node. */
export async function untilRunning({ pods, until }: AffinityStage, wanted: Wanted): Promise<void> {
  const { app, on, count = 1, limitMs } = wanted;
  const check = (): void => {
    const running = pods.ofApp(app).filter(({ node, isReady, isGone }) => node === on && isReady && !isGone);
    if (running.length < count) throw new HarnessError(`${pods.ofApp(app).map(describePod).join("; ") || "no pod"}`);
  };
  await until(`${app} on ${on}`, check, limitMs);
}

/** Waits for the first pod with this label that is as wanted. */
export async function untilPod(
  { pods, until }: AffinityStage,
  app: string,
  { what, holds }: { readonly what: string; readonly holds: (pod: PodState) => boolean },
): Promise<PodState> {
  let found: PodState | undefined;
  await until(`${app} ${what}`, () => {
    found = pods.ofApp(app).find(holds);
    if (found === undefined) throw new HarnessError(`${pods.ofApp(app).map(describePod).join("; ") || "no pod"}`);
  });
  if (found === undefined) throw new HarnessError(`there is no ${app}`);
  return found;
}

function describePod({ name, phase, reason, node, waitingFor }: PodState): string {
  return [name, phase, reason, `on ${node || "no node"}`, ...waitingFor].join(" ");
}
