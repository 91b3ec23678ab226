import { jitter } from "../common/runtime/random.ts";
import { VOLUME_FINALIZER } from "../common/storage/local-volumes.ts";
import type { Claim, Volume } from "./core/objects.ts";
import { tryAgainMs } from "./core/retry-delay.ts";
import { isOwn, isToRemove, nextStep, placeOf, type VolumeStep } from "./core/volume-step.ts";
import { readVolume } from "./sources/read-objects.ts";
import { keeperFailure, requireApplied, type WorkParts } from "./work.ts";

/** Recheck interval of a claim that still exists although its volume is Released: another program wrote that status. Milliseconds. */
const CLAIM_THERE_MS = 60_000;

type Step<Kind extends VolumeStep["kind"]> = Extract<VolumeStep, { readonly kind: Kind }>;

/** A keeper's request for a volume with a PersistentVolume. */
type ImageRequest = Step<"publish"> | Step<"attach"> | Step<"grow">;

/** Keeps this node's images as their PersistentVolumes require, and deletes them with those. */
export class VolumeController {
  readonly #parts: WorkParts;
  /** PersistentVolumes whose data cannot be used here, and why. */
  readonly #unavailable = new Map<string, string>();
  /** Since when each deletion has waited. */
  readonly #deletions = new Map<string, number>();

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  /** PersistentVolumes of this node whose data cannot be used. */
  get unavailable(): ReadonlyMap<string, string> {
    return this.#unavailable;
  }

  /** How long the oldest waiting deletion has waited; 0 where none waits. Milliseconds. */
  get oldestDeletionMs(): number {
    const since = Math.min(...this.#deletions.values());
    return this.#deletions.size === 0 ? 0 : this.#parts.clock.monotonicMs() - since;
  }

  forget(volume: string): void {
    this.#deletions.delete(volume);
    this.#noteUnavailable(volume, undefined);
  }

  /** Why its data cannot be used; undefined where it can, or where that is unknown. */
  #noteUnavailable(volume: string, why: string | undefined): void {
    const wasKnown = this.#unavailable.has(volume);
    if (why === undefined) this.#unavailable.delete(volume);
    else this.#unavailable.set(volume, why);
    if (wasKnown !== (why !== undefined)) this.#parts.onFindings();
  }

  async work(volume: Volume, signal: AbortSignal): Promise<void> {
    const { node, storage, live } = this.#parts;
    if (!isOwn(volume, node)) return;
    const isBound = volume.phase === "Bound" && volume.claim !== undefined;
    const claim = isBound && volume.claim ? await live.claim(volume.claim, signal) : undefined;
    const step = nextStep(volume, { nodeName: node, pools: storage.pools, images: storage.images, claim });
    if (step.kind !== "leave") this.#noteUnavailable(volume.name, step.kind === "lost" ? step.why : undefined);
    // The reclaim policy may have changed meanwhile.
    if (step.kind !== "remove") this.#deletions.delete(volume.name);
    await this.#take(step, { volume, claim }, signal);
  }

  async #take(
    step: VolumeStep,
    { volume, claim }: { readonly volume: Volume; readonly claim: Claim | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { volumes, recorder, logger } = this.#parts;
    switch (step.kind) {
      case "nothing":
        return;
      case "leave":
        return logger.debug({ volume: volume.name, why: step.why }, "volume left as it is");
      case "lost":
        return recorder.volume(volume, "not-available", `The volume cannot be used: ${step.why}`);
      case "remove":
        return await this.#remove(volume, signal);
      case "add-finalizer":
        return requireApplied(await volumes.addFinalizer(volume, signal));
      case "drop-finalizer":
        return requireApplied(await volumes.dropFinalizer(volume, signal));
      case "record-capacity":
        return await this.#recordCapacity(volume, step.bytes, signal);
      case "report-resize":
        return claim && (await this.#reportResize(claim, step, signal));
      case "refuse-growth":
        return claim && recorder.claim(claim, "not-resized", step.why);
      default:
        return await this.#askKeeper(step, { volume, claim }, signal);
    }
  }

  async #askKeeper(
    step: ImageRequest,
    { volume, claim }: { readonly volume: Volume; readonly claim: Claim | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { keeper, storage, recorder, again, onSpaceChange } = this.#parts;
    const place = placeOf(volume);
    if (place === undefined) return;
    const request =
      step.kind === "grow" ? { ...place, verb: step.kind, bytes: step.bytes } : { ...place, verb: step.kind };
    const reply = await keeper.ask(request, signal);
    if (!reply.ok) {
      if (step.kind === "grow" && claim) recorder.claim(claim, "not-resized", reply.message);
      if (step.kind === "attach")
        recorder.volume(volume, "not-available", `The volume cannot be attached: ${reply.message}`);
      throw keeperFailure(reply);
    }
    storage.note(volume.name, reply.image);
    if (step.kind === "grow") onSpaceChange();
    again(volume.name);
  }

  /** The keeper replies once the image's new length is on the disk: the device's size alone may not survive a power failure. */
  async #recordCapacity(volume: Volume, bytes: number, signal: AbortSignal): Promise<void> {
    const { keeper, storage, volumes } = this.#parts;
    const place = placeOf(volume);
    if (place === undefined) return;
    const reply = await keeper.ask({ ...place, verb: "grow", bytes }, signal);
    if (!reply.ok) throw keeperFailure(reply);
    storage.note(volume.name, reply.image);
    requireApplied(await volumes.setCapacity(volume, bytes, signal));
  }

  async #reportResize(claim: Claim, { bytes, isDone }: Step<"report-resize">, signal: AbortSignal): Promise<void> {
    const { claims, recorder, nowMs } = this.#parts;
    if (isDone) {
      requireApplied(await claims.finishResize(claim, bytes, signal));
      return recorder.claim(claim, "resized", "The volume has its new size");
    }
    requireApplied(await claims.askForResize(claim, { bytes, nowMs: nowMs() }, signal));
    recorder.claim(claim, "resize-pending", "The volume has its new size, the kubelet is to grow its filesystem");
  }

  /** The image first, the PersistentVolume last: as long as that exists, the image is known. */
  async #remove(known: Volume, signal: AbortSignal): Promise<void> {
    const { live, node, clock, operationMetrics, recorder, again, logger } = this.#parts;
    // The policy may just have been changed to Retain.
    const volume = await live.volume(known.name, signal);
    if (volume?.uid !== known.uid || !isOwn(volume, node) || !isToRemove(volume)) return;
    if (volume.claim !== undefined && (await live.claim(volume.claim, signal)) !== undefined) {
      recorder.volume(volume, "not-deleted", `It is ${volume.phase}, but its claim is still there`);
      return again(volume.name, CLAIM_THERE_MS);
    }
    const beganAt = this.#deletions.get(volume.name) ?? clock.monotonicMs();
    this.#deletions.set(volume.name, beganAt);
    if (!(await this.#removeImage(volume, { beganAt, signal }))) return;
    await this.#removeObject(volume, signal);
    this.forget(volume.name);
    operationMetrics.deleted(volume.storageClass, clock.monotonicMs() - beganAt);
    logger.info({ volume: volume.name }, "volume deleted");
  }

  /** False while the volume is in use. */
  async #removeImage(
    volume: Volume,
    { beganAt, signal }: { readonly beganAt: number; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const { clock, keeper, storage, random, operationMetrics, recorder, again, onSpaceChange } = this.#parts;
    const place = placeOf(volume);
    if (place === undefined) return false;
    const reply = await keeper.ask({ verb: "remove", ...place }, signal);
    if (reply.ok) {
      storage.note(volume.name, undefined);
      onSpaceChange();
      return true;
    }
    recorder.volume(volume, "not-deleted", reply.message);
    if (reply.code === "in-use") {
      again(volume.name, jitter(random, tryAgainMs(clock.monotonicMs() - beganAt), 0.2));
      return false;
    }
    operationMetrics.notDeleted(volume.storageClass);
    throw keeperFailure(reply);
  }

  async #removeObject(volume: Volume, signal: AbortSignal): Promise<void> {
    const { volumes } = this.#parts;
    const deleting = volume.isDeleting ? volume : await this.#deleted(volume, signal);
    if (deleting?.finalizers.includes(VOLUME_FINALIZER)) requireApplied(await volumes.dropFinalizer(deleting, signal));
  }

  /** Its present state while finalizers keep it; undefined when it is gone. */
  async #deleted(volume: Volume, signal: AbortSignal): Promise<Volume | undefined> {
    const outcome = await this.#parts.volumes.remove(volume, signal);
    requireApplied(outcome);
    if (outcome.kind !== "applied") return undefined;
    try {
      return readVolume(outcome.object);
    } catch {
      // The answer to a deletion may be a Status. The watch delivers what is left.
      return undefined;
    }
  }
}
