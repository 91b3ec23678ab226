import type { Clock } from "../common/runtime/clock.ts";
import { MooringError } from "../common/runtime/errors.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Keeper } from "./core/keeper.ts";
import type { Volume } from "./core/objects.ts";
import { planPools } from "./core/pools.ts";
import type { ImageState, PoolState } from "./protocol.ts";

interface StorageParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keeper: Keeper;
  /** The volumes of this node, from the cache and from the API server itself. */
  readonly knownVolumes: () => Iterable<Pick<Volume, "name" | "pool">>;
  readonly liveVolumes: (signal: AbortSignal) => Promise<readonly Volume[]>;
}

/** Called when the state of the pools changes. */
export interface StorageListener {
  /** The room in pools has changed. */
  readonly onSpaceChange: () => void;
  /** These images have changed. */
  readonly onImages: (volumes: readonly string[]) => void;
  /** The state is known again, or a pool's state has changed: every volume may be affected. */
  readonly onAll: () => void;
}

/** How often the keeper is asked. It runs on the same node and answers from memory. Milliseconds. */
const POOLS_EVERY_MS = 5_000;
const IMAGES_EVERY_MS = 60_000;
/** Wait after a pool could not be initialized. Milliseconds. */
const INITIALIZE_AGAIN_MS = 60_000;

/** Pools and images of this node as the keeper last reported them; undefined while they are unknown. */
export class NodeStorage {
  readonly #parts: StorageParts;
  readonly #listener: StorageListener;
  #pools: readonly PoolState[] | undefined;
  #images: ReadonlyMap<string, ImageState> | undefined;
  #imagesAt = Number.NEGATIVE_INFINITY;
  /** Rises with each change that was noted here: a list that was requested earlier is then outdated. */
  #changes = 0;
  #problem: string | undefined = "the keeper has not been asked yet";
  readonly #notBegun = new Map<string, { readonly why: string; readonly againAt: number }>();
  #turns = 0;

  constructor(parts: StorageParts, listener: StorageListener) {
    this.#parts = parts;
    this.#listener = listener;
  }

  get pools(): readonly PoolState[] | undefined {
    return this.#pools;
  }

  get images(): readonly ImageState[] | undefined {
    return this.#images && [...this.#images.values()];
  }

  /** Why the pools are unknown; undefined while they are known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Rises with each turn of the loop. */
  get turns(): number {
    return this.#turns;
  }

  image(volume: string): ImageState | undefined {
    return this.#images?.get(volume);
  }

  /** The keeper has reported the image's present state; undefined when it is gone. */
  note(volume: string, image: ImageState | undefined): void {
    this.#changes += 1;
    if (this.#images === undefined) return;
    const images = new Map(this.#images);
    if (image === undefined) images.delete(volume);
    else images.set(volume, image);
    this.#images = images;
  }

  run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      this.#turns += 1;
      await this.refresh(signal);
      await this.#parts.clock.sleep(POOLS_EVERY_MS, signal);
    }
  };

  /** Asks for the pools, and for the images when they are due. */
  async refresh(signal: AbortSignal): Promise<void> {
    const reply = await this.#parts.keeper.ask({ verb: "pools" }, signal);
    if (signal.aborted) return;
    if (!reply.ok) return this.#lose(reply.message);
    const pools = await this.#begun(reply.pools, signal);
    const before = this.#pools;
    this.#pools = pools;
    if (statesOf(pools) !== statesOf(before)) this.#listener.onAll();
    else if (spaceOf(pools) !== spaceOf(before)) this.#listener.onSpaceChange();
    const isDue = this.#parts.clock.monotonicMs() >= this.#imagesAt + IMAGES_EVERY_MS;
    if (this.#images === undefined || isDue) await this.#readImages(signal);
    if (this.#problem !== undefined && this.#images !== undefined) {
      this.#parts.logger.info({}, "the keeper answers");
      this.#problem = undefined;
    }
  }

  async #readImages(signal: AbortSignal): Promise<void> {
    const before = this.#changes;
    const reply = await this.#parts.keeper.ask({ verb: "volumes" }, signal);
    if (signal.aborted) return;
    if (!reply.ok) return this.#lose(reply.message);
    // The next turn asks again.
    if (before !== this.#changes) return;
    const known = this.#images;
    const images = new Map(reply.images.map((image) => [image.volume, image]));
    this.#images = images;
    this.#imagesAt = this.#parts.clock.monotonicMs();
    if (known === undefined) this.#listener.onAll();
    else this.#listener.onImages(changedImages(known, images));
  }

  #lose(why: string): void {
    if (this.#problem !== why) this.#parts.logger.warn({ why }, "the keeper does not answer");
    this.#problem = why;
    this.#pools = undefined;
    this.#images = undefined;
  }

  /** Initializes the pools in empty folders that no PersistentVolume names. */
  async #begun(pools: readonly PoolState[], signal: AbortSignal): Promise<readonly PoolState[]> {
    const known = planPools(pools, [...this.#parts.knownVolumes()]);
    const now = this.#parts.clock.monotonicMs();
    const due = known.begin.filter((name) => (this.#notBegun.get(name)?.againAt ?? 0) <= now);
    for (const name of due) await this.#begin(name, signal);
    if (due.length === 0) return known.pools.map((pool) => this.#withReason(pool));
    const reply = await this.#parts.keeper.ask({ verb: "pools" }, signal);
    const after = reply.ok ? reply.pools : pools;
    return planPools(after, [...this.#parts.knownVolumes()]).pools.map((pool) => this.#withReason(pool));
  }

  async #begin(pool: string, signal: AbortSignal): Promise<void> {
    const { clock, keeper, logger } = this.#parts;
    const why = await this.#beginProblem(pool, { keeper, signal });
    if (why === undefined) {
      this.#notBegun.delete(pool);
      logger.info({ pool }, "pool begun");
      return;
    }
    if (this.#notBegun.get(pool)?.why !== why) logger.warn({ pool, why }, "pool not begun");
    this.#notBegun.set(pool, { why, againAt: clock.monotonicMs() + INITIALIZE_AGAIN_MS });
  }

  async #beginProblem(
    pool: string,
    { keeper, signal }: { readonly keeper: Keeper; readonly signal: AbortSignal },
  ): Promise<string | undefined> {
    try {
      const volumes = await this.#parts.liveVolumes(signal);
      const named = volumes.find((volume) => volume.pool === pool);
      if (named !== undefined)
        return `its folder is empty, but PersistentVolume ${named.name} names it: is its disk mounted?`;
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      // Unknown: the pool stays as it is until the next turn.
      return error.message;
    }
    const reply = await keeper.ask({ verb: "begin", pool }, signal);
    return reply.ok ? undefined : reply.message;
  }

  #withReason(pool: PoolState): PoolState {
    const why = pool.state === "empty" ? this.#notBegun.get(pool.name)?.why : undefined;
    return why === undefined ? pool : { ...pool, state: "lost", freeBytes: 0, why };
  }
}

function statesOf(pools: readonly PoolState[] | undefined): string {
  return JSON.stringify(pools?.map(({ name, state, id }) => [name, state, id]));
}

function spaceOf(pools: readonly PoolState[] | undefined): string {
  return JSON.stringify(pools?.map(({ name, totalBytes, freeBytes }) => [name, totalBytes, freeBytes]));
}

function changedImages(
  before: ReadonlyMap<string, ImageState>,
  after: ReadonlyMap<string, ImageState>,
): readonly string[] {
  const all = new Set([...before.keys(), ...after.keys()]);
  return [...all].filter((volume) => JSON.stringify(before.get(volume)) !== JSON.stringify(after.get(volume)));
}
