import { createLogger } from "../../../common/runtime/logger.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import type { Owner } from "../../rig/process/owner.ts";
import type { LoadedCluster } from "../cluster/data-folder.ts";
import {
  agentPodOf,
  bootIdOf,
  type ClaimPlace,
  claimPlace,
  digestOf,
  nodeName,
  PODS_PER_NODE,
  podPlace,
} from "../cluster/layout.ts";
import { CSI_DRIVER } from "../cluster/volumes.ts";
import { bootClockAt } from "./boot-clock.ts";
import type { SimulatedMountedVolume } from "./node-story.ts";
import { type FleetParts, SimulatedAgent } from "./simulated-agent.ts";

/** The agents of all nodes of a cluster. */
export interface Fleet {
  readonly agentOf: (node: number) => SimulatedAgent;
  /** How many nodes have reported. */
  readonly reporting: () => number;
}

/** Heartbeats are spread over this time; so are the first reports of a fleet that did not start at once. Milliseconds. */
const SPREAD_MS = 30_000;

/** Starts a fleet whose agents report what the cluster's pods use, until the owner's run ends. */
export function startFleet(
  owner: Owner,
  cluster: LoadedCluster,
  { url, podsResourceVersion }: Pick<FleetParts, "url" | "podsResourceVersion">,
): Fleet {
  const { clock, signal } = owner;
  const random = createSystemRandom();
  const reports = createMetrics().counter({ name: "mooring_reports_total", help: "Reports.", labels: ["outcome"] });
  const bootClock = bootClockAt(
    { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() },
    cluster.index.writtenAtMs,
  );
  const { aheadMs, beganAtMs: now, mountedSinceMs: mountedSince } = bootClock;
  const parts = { clock, aheadMs, random, logger: createLogger("silent"), reports, url, podsResourceVersion };
  const agents = Array.from({ length: cluster.sizes.nodes }, (_, node) => {
    const podUid = cluster.index.podUids[agentPodOf(node)] ?? "";
    const identity = { node: nodeName(node), bootId: bootIdOf(node), podUid, now, mountedSince };
    return new SimulatedAgent(parts, { ...identity, mountedVolumes: mountedVolumesOf(node, cluster) });
  });
  for (const agent of agents) void agent.run(random.fraction() * SPREAD_MS, signal);
  return {
    agentOf: (node) => {
      const agent = agents[node];
      if (agent === undefined) throw new RangeError(`there is no node ${node}`);
      return agent;
    },
    reporting: () => agents.filter(({ hasReported }) => hasReported).length,
  };
}

/** A mounted volume for each claim that a pod of the node uses, and a staging mount for each on a block device. */
function mountedVolumesOf(node: number, { sizes, index }: LoadedCluster): readonly SimulatedMountedVolume[] {
  const pods = Array.from({ length: PODS_PER_NODE }, (_, slot) => podPlace(node * PODS_PER_NODE + slot, sizes));
  return pods.flatMap((pod) =>
    pod.claims.flatMap((claim): SimulatedMountedVolume[] => {
      const place = claimPlace(claim, sizes);
      const user = { podUid: index.podUids[pod.index] ?? "", pod: `${pod.namespace}/${pod.name}` };
      const use = { kind: "pod", volume: { by: "name", name: place.volume }, ...user } as const;
      return place.isStaged ? [use, stagingOf(place)] : [use];
    }),
  );
}

function stagingOf({ handle }: ClaimPlace): SimulatedMountedVolume {
  return { kind: "staging", volume: { by: "handle", driver: CSI_DRIVER, handleHash: digestOf(handle) } };
}
