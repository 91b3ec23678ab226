import { jitter } from "../common/runtime/random.ts";
import { claimUidOf } from "../common/storage/local-volumes.ts";
import { decideOrphan } from "./core/orphans.ts";
import { keeperFailure, type WorkParts } from "./work.ts";

/** An image is checked again after this time, while requests of an earlier run may still be in progress. Milliseconds. */
const AGAIN_MS = 5_000;
const IN_USE_MS = 10_000;

/** Deletes images that never had a PersistentVolume and will never get one, and reports the others. */
export class OrphanController {
  readonly #parts: WorkParts;
  /** Whether all requests of an earlier run of this provisioner have ended, and every claim of that time is in the cache. */
  readonly #earlierRequestsEnded: () => boolean;
  readonly #reported = new Set<string>();

  constructor(parts: WorkParts, earlierRequestsEnded: () => boolean) {
    this.#parts = parts;
    this.#earlierRequestsEnded = earlierRequestsEnded;
  }

  /** Images whose PersistentVolume is gone. */
  get reported(): ReadonlySet<string> {
    return this.#reported;
  }

  forget(volume: string): void {
    if (this.#reported.delete(volume)) this.#parts.onFindings();
  }

  async work(volume: string, signal: AbortSignal): Promise<void> {
    const { storage, cluster, live, node, logger, again } = this.#parts;
    const image = storage.image(volume);
    if (image === undefined) return this.forget(volume);
    if (!this.#earlierRequestsEnded()) return again(volume, AGAIN_MS);
    const [metadata] = cluster.claims.by("uid", claimUidOf(volume) ?? "");
    const claim = metadata && (await live.claim(metadata, signal));
    const known = await live.volume(volume, signal);
    const isElsewhere = known?.node !== undefined && known.node !== node;
    const step = decideOrphan(image, { nodeName: node, hasVolume: known !== undefined, isElsewhere, claim });
    if (step.kind === "remove") return await this.#remove(volume, image.pool, signal);
    if (step.kind === "report" && !this.#reported.has(volume)) {
      this.#reported.add(volume);
      this.#parts.onFindings();
      logger.warn({ volume, pool: image.pool, why: step.why }, "image without a volume");
    }
    if (step.kind === "keep") this.forget(volume);
  }

  async #remove(volume: string, pool: string, signal: AbortSignal): Promise<void> {
    const { storage, keeper, random, logger, again, onSpaceChange } = this.#parts;
    const poolId = storage.pools?.find(({ name }) => name === pool)?.id;
    if (poolId === undefined) return again(volume, AGAIN_MS);
    const reply = await keeper.ask({ verb: "remove", volume, pool, poolId }, signal);
    if (!reply.ok && reply.code === "in-use") return again(volume, jitter(random, IN_USE_MS, 0.2));
    if (!reply.ok) throw keeperFailure(reply);
    storage.note(volume, undefined);
    onSpaceChange();
    logger.info({ volume, pool }, "image deleted that never had a volume");
  }
}
