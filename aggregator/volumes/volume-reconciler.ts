import type { Stored } from "../../common/kube/store.ts";
import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { type ClaimStatus, MOUNTED_ON } from "../../common/storage/claim-status.ts";
import { readCopiedUse, readVolumeMark, type VolumeAnnotations } from "../../common/storage/volume-annotations.ts";
import { type Fact, volumesOf } from "../core/claims/attribution.ts";
import type { ProtectionMode } from "../core/claims/deletion.ts";
import { usesIn } from "../core/claims/evidence.ts";
import { shownEnds, storedNodes } from "../core/claims/facts.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { changesTo, desiredAnnotations, isStillMounted, type VolumeFacts } from "../core/volumes/annotations.ts";
import { claimOfVolume, identitiesOf, mayMount, volumeUse } from "../core/volumes/use.ts";
import type { AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Barrier } from "../pod-watch/barrier.ts";
import type { VolumeWriter } from "../sinks/writers.ts";
import type { SharedParts } from "../sources/cluster.ts";
import { WriteGate } from "../writing/write-gate.ts";

interface VolumeReconcilerParts extends SharedParts {
  readonly fleet: Pick<FleetState, "view" | "shownOf">;
  readonly barrier: Pick<Barrier, "pendingNode">;
  readonly agentStates: Pick<AgentStates, "of" | "lookFor" | "assumedEnd">;
  readonly volumeWriter: VolumeWriter;
  readonly protection: ProtectionMode;
}

/** Writes under way at once: few are necessary. */
const WIDTH = 4;
/** A volume that waits for nodes is decided again so often. Milliseconds. */
const WAITING_MS = 10_000;

/**
 * Keeps two annotations of volumes: the nodes that mount one that is not Bound, and the last use of a Retain volume,
 * which would go with its claim. Level-based: a key names the volume. A Bound volume without a mark costs nothing.
 */
export class VolumeReconciler {
  readonly queue: WorkQueue;
  /** Names of the volumes that are mounted although they are not Bound. */
  readonly stillMounted = new Set<string>();
  readonly #parts: VolumeReconcilerParts;
  readonly #gate: WriteGate;
  /** By volume name: the claim that this leader saw go, until its last use is copied. */
  readonly #goneClaims = new Map<string, Claim>();

  constructor(parts: VolumeReconcilerParts) {
    this.#parts = parts;
    this.queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("volumes") }, WIDTH);
    this.#gate = new WriteGate(parts);
  }

  run(signal: AbortSignal): Promise<void> {
    const volumes = Iterator.from(this.#parts.cluster.allVolumes());
    this.queue.addAll(volumes.map((volume) => (isOfInterest(volume) ? volume.key : undefined)));
    const claims = Iterator.from(this.#parts.cluster.claims());
    this.queue.addAll(claims.map(({ isDeleting, volume }) => (isDeleting ? volume : undefined)));
    return this.queue.run((name, limited) => this.#reconcile(name, limited), signal);
  }

  /** These volumes have changed, or a node has reported something new of them. */
  onVolumes(names: readonly string[]): void {
    for (const name of names) {
      const volume = this.#parts.cluster.volumeByName(name);
      const isKnown = this.stillMounted.has(name) || this.#goneClaims.has(name);
      if (volume === undefined || isOfInterest(volume) || isKnown) this.queue.add(name);
    }
  }

  /** The last use of a claim that is being deleted may have to be copied to its volume. */
  onClaim(key: string): void {
    const { isDeleting, volume } = this.#parts.cluster.claim(key) ?? {};
    if (isDeleting && volume !== undefined) this.queue.add(volume);
  }

  onClaimGone(claim: Claim): void {
    const { uid, volume: name, status } = claim;
    if (name === undefined || status === undefined) return;
    const volume = this.#parts.cluster.volumeByName(name);
    if (volume?.reclaimPolicy !== "Retain" || volume.claim?.uid !== uid) return;
    this.#goneClaims.set(name, claim);
    this.queue.add(name);
  }

  namesOf(facts: readonly Fact[]): readonly string[] {
    return facts.flatMap(({ volume }) => volumesOf(volume, this.#parts.cluster)).map(({ key }) => key);
  }

  onAgentState(node: string): void {
    this.onVolumes(this.namesOf(this.#parts.fleet.view(node)?.mountedVolumes ?? []));
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const volume = this.#parts.cluster.volumeByName(name);
    if (volume === undefined) return this.#forget(name);
    const gone = this.#goneClaims.get(name);
    const facts = volumeFacts(volume, gone?.uid === volume.claim?.uid ? gone?.status : undefined, this.#parts);
    this.stillMounted[isStillMounted(volume, facts.mounts.all) ? "add" : "delete"](name);
    const desired = desiredAnnotations(facts);
    if (changesTo(volume, desired) === undefined && isCopied(volume, facts)) this.#goneClaims.delete(name);
    const againMs = await this.#bring(volume, desired, signal);
    if (againMs !== undefined) this.queue.addAfter(name, againMs);
    if (facts.isPending || facts.unanswered.length > 0) this.queue.addAfter(name, WAITING_MS);
  }

  #forget(name: string): void {
    this.stillMounted.delete(name);
    this.#goneClaims.delete(name);
    this.#gate.rest(name);
  }

  /** One attempt, if one is due. Answers in how many milliseconds to come again; undefined when all is written. */
  async #bring(volume: Volume & Stored, desired: VolumeAnnotations, signal: AbortSignal): Promise<number | undefined> {
    const changes = changesTo(volume, desired);
    if (changes === undefined) return void this.#gate.rest(volume.key);
    const { key, uid, resourceVersion } = volume;
    const attempt = { key, uid, resourceVersion, content: JSON.stringify(desired), isNews: false };
    const waitMs = this.#gate.restBefore(attempt);
    if (waitMs > 0) return waitMs;
    const { logger, volumeWriter } = this.#parts;
    const result = await volumeWriter(volume, changes, signal);
    if (signal.aborted) return undefined;
    const fields = { volume: `name/${key}` };
    if (result.kind === "written") {
      this.#gate.written(attempt, "");
      logger.info(fields, MOUNTED_ON in changes ? "mark of a volume written" : "last use written to a volume");
      return undefined;
    }
    const { kind, message: err } = result;
    // A missing permission is tried again as slowly as a refusal.
    const outcome = kind === "forbidden" ? "refused" : kind;
    const isNew = this.#gate.failed(attempt, outcome, "retryAfterMs" in result ? result.retryAfterMs : 0);
    const restMs = this.#gate.restBefore(attempt);
    const level = kind === "stale" || !isNew ? "debug" : "warn";
    const failure = { ...fields, outcome: kind, err, waitMs: Math.round(restMs) };
    logger[level](failure, "volume not written, will be tried again");
    return restMs;
  }
}

function isOfInterest({ phase, annotations }: Volume): boolean {
  return phase !== "Bound" || annotations?.mountedOn !== undefined;
}

/** Nothing is left to copy from the claim that is gone: it was unused, or the volume has its last use. */
function isCopied({ claim, annotations }: Volume, { statusAtEnd }: VolumeFacts): boolean {
  if (statusAtEnd === undefined || statusAtEnd.unused) return true;
  return claim !== undefined && readCopiedUse(claim.uid, annotations?.lastUse) !== undefined;
}

function volumeFacts(volume: Volume, statusAtEnd: ClaimStatus | undefined, parts: VolumeReconcilerParts): VolumeFacts {
  const { barrier, cluster, fleet, agentStates, protection } = parts;
  const isOwn = (fact: Fact): boolean => mayMount(fact, volume, cluster);
  const shown = fleet.shownOf(identitiesOf(volume.key, volume.csi), isOwn);
  const use = volumeUse(shown.filter(({ view }) => agentStates.assumedEnd(view.node) === undefined));
  const used = use.used.map(({ node }) => node);
  const mountedOn = readVolumeMark(volume.uid, volume.annotations?.mountedOn);
  return {
    volume,
    claim: claimOfVolume(volume, cluster.claim),
    statusAtEnd,
    mounts: { used, all: [...new Set([...used, ...use.staged])] },
    // No report is no absence: the mark keeps a node until it has reported, or is Gone.
    unanswered: storedNodes({ mountedOn }, cluster).filter(
      (node) => fleet.view(node) === undefined && agentStates.lookFor(node).kind !== "Gone",
    ),
    isPending: barrier.pendingNode(volume) !== undefined,
    ends: shownEnds({ unmountRecords: shown.flatMap((one) => one.unmountRecords), uses: usesIn(shown) }, parts),
    isProtecting: protection !== "off",
  };
}
