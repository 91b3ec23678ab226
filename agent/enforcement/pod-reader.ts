import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type {
  AffinityFacts,
  LiveJob,
  LiveNode,
  LiveRead,
  MountFacts,
  PodVolume,
  VolumeFacts,
} from "../core/affinity/facts.ts";
import { type AffinityVerdict, affinityVerdict } from "../core/affinity/verdict.ts";
import type { RootRule } from "../core/mounted-volumes.ts";
import { isOfEarlierBoot, type NodeState } from "../core/node-state.ts";
import type { ReadPod } from "../sources/affinity-pod.ts";
import type { AffinityReads } from "../sources/affinity-reads.ts";
import { scanConfirmed } from "../sources/mount-table.ts";

/** The pod to check. */
export interface PodName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A pod as it was read for one decision, and what follows from that. */
export interface PodEvidence {
  readonly pod: LiveRead<ReadPod>;
  readonly node: LiveRead<LiveNode>;
  /** Of a pod whose controller is a Job. */
  readonly job: LiveRead<LiveJob> | undefined;
  readonly verdict: AffinityVerdict;
  /** When the first of its reads began, by `Clock.uptimeMs`: no part of the decision is newer. */
  readonly begunAt: number;
}

interface PodReaderParts {
  readonly clock: Clock;
  readonly reads: AffinityReads;
  readonly mountInfo: MountInfoSource;
  /** The node's mounts; a second scan has to confirm an absence. */
  readonly nodeState: () => NodeState;
  /** UID of the Node object that the agent watches; undefined before it has seen one. */
  readonly nodeUid: () => string | undefined;
}

/** Reads pods of one node. */
export interface PodReader {
  /** Everything live, and the mount table scanned after it: what a rejection needs. */
  readonly withMounts: (pod: PodName, signal: AbortSignal) => Promise<PodEvidence>;
  /** The same without the mount table, for pods that are left alone whatever it shows. */
  readonly withoutMounts: (pod: PodName, signal: AbortSignal) => Promise<PodEvidence>;
}

export function createPodReader(
  parts: PodReaderParts,
  { node, rule }: { readonly node: string; readonly rule: RootRule },
): PodReader {
  const readPod = async (
    pod: PodName,
    mounts: () => Promise<MountFacts | undefined>,
    signal: AbortSignal,
  ): Promise<PodEvidence> => {
    const begunAt = parts.clock.uptimeMs();
    const { job, ...read } = await readFacts(parts.reads, { pod, node }, signal);
    const readsEndedAt = parts.clock.monotonicMs();
    const self = { nodeName: node, nodeUid: parts.nodeUid() };
    const all: AffinityFacts = { self, ...read, readsEndedAt, mounts: await mounts() };
    return { pod: read.pod, node: read.node, job, verdict: affinityVerdict(all), begunAt };
  };
  return {
    withMounts: (pod, signal) => readPod(pod, () => readMounts(parts, rule), signal),
    withoutMounts: (pod, signal) => readPod(pod, async () => remembered(parts), signal),
  };
}

interface Facts extends Pick<AffinityFacts, "volumes" | "node" | "csiNode"> {
  readonly pod: LiveRead<ReadPod>;
  readonly job: LiveRead<LiveJob> | undefined;
}

async function readFacts(
  reads: AffinityReads,
  { pod, node }: { readonly pod: PodName; readonly node: string },
  signal: AbortSignal,
): Promise<Facts> {
  const [found, ownNode] = await Promise.all([readOwn(reads, pod, signal), reads.node(node, signal)]);
  if (found.kind !== "value") return { pod: found, volumes: [], node: ownNode, csiNode: undefined, job: undefined };
  const { namespace, owner, volumes: named } = found.value;
  const isJob = owner?.kind === "Job" && owner.apiVersion.startsWith("batch/");
  const [volumes, job] = await Promise.all([
    Promise.all(named.map((volume) => readVolume(reads, { namespace, volume }, signal))),
    isJob ? readJob(reads, { namespace, name: owner.name, uid: owner.uid }, signal) : undefined,
  ]);
  const isCsi = volumes.some(({ pv }) => pv?.kind === "value" && pv.value.source.kind === "csi");
  const csiNode = isCsi ? await reads.csiNode(node, signal) : undefined;
  return { pod: found, volumes, node: ownNode, csiNode, job };
}

/** Another pod of that name is not this one. */
async function readOwn(
  reads: AffinityReads,
  { namespace, name, uid }: PodName,
  signal: AbortSignal,
): Promise<LiveRead<ReadPod>> {
  const read = await reads.pod(namespace, name, signal);
  return read.kind === "value" && read.value.uid !== uid ? { kind: "missing" } : read;
}

async function readJob(
  reads: AffinityReads,
  { namespace, name, uid }: PodName,
  signal: AbortSignal,
): Promise<LiveRead<LiveJob>> {
  const read = await reads.job(namespace, name, signal);
  return read.kind === "value" && read.value.uid !== uid ? { kind: "missing" } : read;
}

/** From the claim to its PV to its driver; a volume that no container uses is not read. */
async function readVolume(
  reads: AffinityReads,
  { namespace, volume }: { readonly namespace: string; readonly volume: PodVolume },
  signal: AbortSignal,
): Promise<VolumeFacts> {
  const nothing = { volume, claim: undefined, pv: undefined, driver: undefined };
  if (!volume.isMounted && !volume.isMapped) return nothing;
  const claim = await reads.claim(namespace, volume.claim, signal);
  if (claim.kind !== "value" || claim.value.volume === undefined) return { ...nothing, claim };
  const pv = await reads.volume(claim.value.volume, signal);
  if (pv.kind !== "value" || pv.value.source.kind !== "csi") return { ...nothing, claim, pv };
  return { volume, claim, pv, driver: await reads.csiDriver(pv.value.source.driver, signal) };
}

/** Undefined when the table cannot be read: then nothing is proven. */
async function readMounts({ mountInfo, nodeState }: PodReaderParts, rule: RootRule): Promise<MountFacts | undefined> {
  try {
    const scan = await scanConfirmed(mountInfo, nodeState(), rule);
    return { ...scan, mountedVolumes: [...scan.mountedVolumes, ...remembered({ nodeState }).mountedVolumes] };
  } catch (error) {
    if (!(error instanceof MooringError)) throw error;
    return undefined;
  }
}

/** What the observer knows. It may be older than the reads beside it, so its absences prove nothing. */
function remembered({ nodeState }: Pick<PodReaderParts, "nodeState">): MountFacts {
  const { mountedVolumes, scan } = nodeState();
  return {
    beganAt: scan?.beganAt ?? 0,
    incomplete: "the mount table was not read for this",
    // A mount that only an earlier boot is known to have had counts when a scan shows it.
    mountedVolumes: [...mountedVolumes.values()].flatMap((known) =>
      isOfEarlierBoot(known) ? [] : [known.mountedVolume],
    ),
  };
}
