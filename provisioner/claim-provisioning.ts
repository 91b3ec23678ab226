import { MooringError, messageOf } from "../common/runtime/errors.ts";
import { volumeNameOf } from "../common/storage/local-volumes.ts";
import type { Claim, ClaimMetadata } from "./core/objects.ts";
import { decideProvisioning, type Provision } from "./core/provisioning.ts";
import { volumeObject } from "./core/volume-object.ts";
import { isOwn } from "./core/volume-step.ts";
import type { ImageState } from "./protocol.ts";
import { keeperFailure, requireApplied, type WorkParts } from "./work.ts";

/** Waits before a claim is sent back to the scheduler again; the first time it is sent at once. Milliseconds. */
const RESCHEDULE = { firstMs: 5_000, maxMs: 300_000, forgetMs: 900_000, most: 10_000 } as const;
/** Wait until the watch delivers a PersistentVolume that a live read has found. Milliseconds. */
const COPY_MS = 1_000;
/** A change normally reports what is not known yet; after this time a missed change is made up for. Milliseconds. */
const UNKNOWN_MS = 10_000;

interface Reschedules {
  readonly times: number;
  readonly atMs: number;
}

/** Provisions volumes for claims whose selected node is this one. */
export class ClaimProvisioning {
  readonly #parts: WorkParts;
  readonly #reschedules = new Map<string, Reschedules>();

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  /** Whether this provisioner is responsible for the claim; false also if it turns out that it no longer is. */
  async work(metadata: ClaimMetadata, signal: AbortSignal): Promise<boolean> {
    const { live, cluster, storage, node, recorder, operationMetrics, again } = this.#parts;
    const volume = volumeNameOf(metadata.uid) ?? "";
    const claim = await live.claim(metadata, signal);
    if (claim === undefined) return false;
    const decision = decideProvisioning(claim, {
      nodeName: node,
      node: cluster.nodes.get(node),
      storageClass: cluster.classes.get(claim.storageClass ?? ""),
      pools: storage.images && storage.pools,
      image: storage.image(volume),
    });
    if (decision.kind === "ignore") return false;
    if (decision.kind === "wait") again(volume, UNKNOWN_MS);
    if (decision.kind === "refuse") {
      recorder.claim(claim, "not-provisioned", decision.why);
      operationMetrics.notProvisioned(claim.storageClass ?? "");
    }
    if (decision.kind === "reschedule") await this.#reschedule(claim, decision.why, signal);
    if (decision.kind === "provision") await this.#provision(claim, decision.provision, signal);
    return true;
  }

  async #provision(claim: Claim, provision: Provision, signal: AbortSignal): Promise<void> {
    const { clock, operationMetrics, recorder, onSpaceChange } = this.#parts;
    const beganAt = clock.monotonicMs();
    try {
      if (await this.#exists(claim, provision, signal)) return;
      const image = await this.#make(claim, provision, signal);
      if (image === undefined) return;
      onSpaceChange();
      await this.#create(claim, provision, signal);
      await this.#publish(provision, signal);
    } catch (error) {
      if (error instanceof MooringError && !signal.aborted) {
        recorder.claim(claim, "not-provisioned", messageOf(error));
        operationMetrics.notProvisioned(claim.storageClass ?? "");
      }
      throw error;
    }
    this.#reschedules.delete(claim.uid);
    recorder.forget(claim.uid);
    recorder.claim(claim, "provisioned", `Successfully provisioned volume ${provision.volume}`);
    operationMetrics.provisioned(claim.storageClass ?? "", clock.monotonicMs() - beganAt);
  }

  /** No image is created where a PersistentVolume exists: its data could be elsewhere. */
  async #exists(claim: Claim, { volume, pool, poolId }: Provision, signal: AbortSignal): Promise<boolean> {
    const { live, node, again } = this.#parts;
    const found = await live.volume(volume, signal);
    if (found === undefined) return false;
    const isOfClaim = isOwn(found, node) && found.claim?.uid === claim.uid;
    if (!isOfClaim || found.pool !== pool || found.poolId !== poolId)
      throw new MooringError(
        "api-rejected",
        `PersistentVolume ${volume} exists and is not of this claim, this node and pool "${pool}"`,
      );
    again(volume, COPY_MS);
    return true;
  }

  /** Undefined where this node cannot provide the volume: then the claim is sent back to the scheduler. */
  async #make(claim: Claim, provision: Provision, signal: AbortSignal): Promise<ImageState | undefined> {
    const { keeper, storage, recorder } = this.#parts;
    const { volume, pool, poolId, bytes } = provision;
    if (storage.image(volume) === undefined)
      recorder.claim(
        claim,
        "provisioning",
        `Provisioning volume ${volume} in pool "${pool}" of node ${this.#parts.node}`,
      );
    const reply = await keeper.ask({ verb: "make", volume, pool, poolId, bytes }, signal);
    if (reply.ok) {
      storage.note(volume, reply.image);
      return reply.image;
    }
    if (reply.code !== "no-space" && reply.code !== "pool-lost") throw keeperFailure(reply);
    await storage.refresh(signal);
    await this.#reschedule(claim, `node ${this.#parts.node}: ${reply.message}`, signal);
    return undefined;
  }

  async #create(claim: Claim, provision: Provision, signal: AbortSignal): Promise<void> {
    const { cluster, volumes, node: nodeName } = this.#parts;
    const storageClass = cluster.classes.get(claim.storageClass ?? "");
    if (storageClass === undefined) throw new MooringError("api-rejected", "the class has been deleted meanwhile");
    const object = volumeObject(provision, { claim, storageClass, nodeName });
    const outcome = await volumes.create(object, signal);
    if (outcome.kind === "conflict" && (await this.#exists(claim, provision, signal))) return;
    requireApplied(outcome);
  }

  async #publish({ volume, pool, poolId }: Provision, signal: AbortSignal): Promise<void> {
    const { keeper, storage, again } = this.#parts;
    const reply = await keeper.ask({ verb: "publish", volume, pool, poolId }, signal);
    if (reply.ok) storage.note(volume, reply.image);
    // The PersistentVolume exists: the remaining steps belong to it.
    else again(volume, COPY_MS);
  }

  async #reschedule(claim: Claim, why: string, signal: AbortSignal): Promise<void> {
    const { claims, capacity, recorder, operationMetrics, again } = this.#parts;
    const waitMs = this.#waitMs(claim.uid);
    if (waitMs > 0) return again(volumeNameOf(claim.uid) ?? "", waitMs);
    recorder.claim(claim, "not-provisioned", `${why}; asked the scheduler for another node`);
    operationMetrics.notProvisioned(claim.storageClass ?? "");
    // First, so that the scheduler does not choose this node again.
    await capacity.publish(true, signal);
    requireApplied(await claims.dropSelectedNode(claim, signal));
    this.#noteReschedule(claim.uid);
  }

  #waitMs(uid: string): number {
    const { clock } = this.#parts;
    const last = this.#reschedules.get(uid);
    if (last === undefined) return 0;
    const restMs = Math.min(RESCHEDULE.maxMs, RESCHEDULE.firstMs * 2 ** (last.times - 1));
    return Math.max(0, last.atMs + restMs - clock.monotonicMs());
  }

  #noteReschedule(uid: string): void {
    const atMs = this.#parts.clock.monotonicMs();
    const last = this.#reschedules.get(uid);
    const isRecent = last !== undefined && atMs - last.atMs < RESCHEDULE.forgetMs;
    this.#reschedules.delete(uid);
    this.#reschedules.set(uid, { times: isRecent ? last.times + 1 : 1, atMs });
    for (const oldest of this.#reschedules.keys()) {
      if (this.#reschedules.size <= RESCHEDULE.most) return;
      this.#reschedules.delete(oldest);
    }
  }
}
