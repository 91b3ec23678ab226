import type { Owner } from "../rig/process/owner.ts";
import { watchStarvation } from "../rig/process/starvation.ts";
import type { StandInKubelet } from "../rig/stand-in/kubelet.ts";
import { type Program, runClaimsCommand } from "../rig/stand-in/mooring.ts";
import { applyProtection, ENFORCING } from "../rig/stand-in/protection.ts";
import { buildCluster, makeClaims, NAMESPACE, type Stage, startMooring, volumeOf } from "../rig/stand-in/stage.ts";
import type { Printer } from "./print.ts";
import { CLAIMS } from "./story.ts";
import type { MooringPart, NewPod, PodInUse, World } from "./world.ts";

const LIMIT_MS = 90_000;

/** A cluster with stand-in kubelets, and Mooring as processes of this machine. */
export async function openStandInWorld(owner: Owner, printer: Printer): Promise<World> {
  const cluster = await buildCluster(owner);
  const { plane, api, kubelets } = cluster;
  printer.line("ok", `API server, etcd and controller manager at ${plane.url}`);
  for (const { node } of kubelets)
    printer.line("ok", `${node}: a mount namespace of its own, mounts made as a kubelet makes them`);
  await applyProtection(plane);
  const mooring = await startMooring(owner, cluster, ENFORCING);
  printer.line("ok", "Mooring: one aggregator, an agent on each node; protection is enforced");
  await makeClaims({ owner, api, kubelets }, CLAIMS);
  printer.line("ok", `claims ${CLAIMS.join(", ")}: bound by the controller manager`);
  const stage: Stage = { owner, ...cluster, ...mooring };
  return {
    owner,
    plane,
    api,
    nodes: [kubelets[0].node, kubelets[1].node],
    limitMs: LIMIT_MS,
    starvation: watchStarvation(owner),
    runPod: (pod) => runPod(kubelets[pod.on], pod),
    aggregator: partOf(mooring.aggregator),
    agents: [partOf(mooring.agents[0]), partOf(mooring.agents[1])],
    // Its aggregator runs on neither node.
    spareNode: async () => 0,
    power: undefined,
    poolNodes: [],
    listClaims: () => runClaimsCommand(owner, ["--kubeconfig", plane.kubeconfig, ...aboutClaims(stage)]),
    inspectCommands: async () => inspectCommands(stage),
  };
}

async function runPod(kubelet: StandInKubelet, { name, claim }: NewPod): Promise<PodInUse> {
  const pod = await kubelet.runPod({ namespace: NAMESPACE, name, claim, volume: volumeOf(claim) });
  return {
    forceDelete: () => kubelet.forceDelete(pod),
    isWriting: async () => undefined,
    unmount: () => kubelet.unmount(pod),
  };
}

function partOf({ child, start, ready }: Program): MooringPart {
  return {
    kill: () => child.kill(),
    back: async () => {
      await start();
      await ready();
    },
  };
}

function aboutClaims({ aggregator }: Stage): readonly string[] {
  return ["--aggregator", aggregator.url, "--namespace", NAMESPACE];
}

function inspectCommands(stage: Stage): readonly string[] {
  const { plane, aggregator, agents } = stage;
  return [
    `export KUBECONFIG=${plane.kubeconfig}`,
    `${plane.kubectl} -n ${NAMESPACE} describe pvc orders`,
    `npm run claims -- ${aboutClaims(stage).join(" ")}`,
    ...[aggregator, ...agents].map(
      ({ child, url }) => `curl ${url}/readyz?verbose   # ${child.name}, log: ${child.logFile}`,
    ),
  ];
}
