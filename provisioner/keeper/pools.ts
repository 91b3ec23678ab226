import type { Random } from "../../common/runtime/random.ts";
import type { KeeperRefusal, PoolState } from "../protocol.ts";
import { NEW_POOL_FILE, POOL_FILE } from "./core/names.ts";
import { refuse } from "./core/refusal.ts";
import { type PoolSpace, spaceOf } from "./core/space.ts";
import type { NodeActions } from "./node-actions.ts";
import {
  deviceAt,
  openPoolFolder,
  type PoolFolder,
  type PoolImage,
  type PoolPlace,
  type PoolSources,
} from "./pool-folder.ts";

/** An initialized pool with the requested identity. */
export interface OpenPool extends PoolFolder {
  readonly name: string;
}

/** A pool; without a UUID, any initialized pool of this name. */
interface WantedPool {
  readonly pool: string;
  readonly poolId?: string;
}

/** The pools of this node. Each call reads the disk again. */
export interface Pools {
  readonly names: readonly string[];
  /** Opens the pool's folder: the caller closes it. */
  readonly open: (wanted: WantedPool) => Promise<{ readonly ok: true; readonly pool: OpenPool } | KeeperRefusal>;
  readonly space: (pool: Pick<PoolFolder, "device" | "at" | "isOwnMount">) => Promise<PoolSpace>;
  readonly state: (name: string) => Promise<PoolState>;
  /** Initializes an empty pool; an initialized one stays as it is. */
  readonly begin: (name: string) => Promise<PoolState>;
}

interface PoolParts extends PoolSources {
  readonly actions: NodeActions;
  readonly random: Random;
}

export interface PoolSettings {
  readonly pools: readonly PoolPlace[];
  /** What stays free of a filesystem that also contains other data. */
  readonly reservePercent: number;
}

const NO_SPACE: PoolSpace = { totalBytes: 0, freeBytes: 0 };

export function createPools(parts: PoolParts, settings: PoolSettings): Pools {
  const placeOf = (name: string): PoolPlace | undefined => settings.pools.find((place) => place.name === name);
  const space = async (pool: Pick<PoolFolder, "device" | "at" | "isOwnMount">): Promise<PoolSpace> => {
    const { blockBytes, blocks, availableBlocks } = await parts.files.statfs(pool.at("."));
    const reservePercent = pool.isOwnMount ? 0 : settings.reservePercent;
    const images = await imagesOn(pool.device, parts, settings.pools);
    return spaceOf({ blockBytes, blocks, availableBlocks }, { reservePercent, images });
  };
  const state = async (name: string): Promise<PoolState> => {
    const place = placeOf(name);
    if (place === undefined) return { name, state: "lost", ...NO_SPACE, why: "there is no such pool" };
    const folder = await openPoolFolder(parts, place);
    if (!("at" in folder)) return { name, ...NO_SPACE, ...folder.identity };
    await using pool = folder;
    return { name, ...(pool.identity.state === "lost" ? NO_SPACE : await space(pool)), ...pool.identity };
  };
  return {
    names: settings.pools.map(({ name }) => name),
    space,
    state,
    open: (wanted) => open(parts, wanted, placeOf(wanted.pool)),
    begin: async (name) => {
      const place = placeOf(name);
      if (place !== undefined) await begin(place, parts);
      return await state(name);
    },
  };
}

async function open(
  sources: PoolSources,
  { pool: name, poolId }: WantedPool,
  place: PoolPlace | undefined,
): ReturnType<Pools["open"]> {
  if (place === undefined) return refuse("pool-lost", `this node has no pool ${name}`);
  const folder = await openPoolFolder(sources, place);
  const why = whyNot(folder.identity, poolId);
  if (why === undefined && "at" in folder) return { ok: true, pool: { ...folder, name } };
  if ("at" in folder) await folder[Symbol.asyncDispose]();
  return refuse("pool-lost", `pool ${name} at ${place.path}: ${why}`);
}

function whyNot(identity: PoolFolder["identity"], poolId: string | undefined): string | undefined {
  if (identity.state === "lost") return identity.why;
  if (identity.state === "empty") return "the folder is empty: its disk is not mounted, or it is a new one";
  if (poolId === undefined || identity.id === poolId) return undefined;
  return `it is another pool, ${identity.id}: the request names ${poolId}`;
}

async function begin(place: PoolPlace, parts: PoolParts): Promise<void> {
  const { actions, random } = parts;
  const folder = await openPoolFolder(parts, place);
  if (!("at" in folder)) return;
  await using pool = folder;
  if (pool.identity.state === "lost") return;
  if (pool.identity.state === "empty") {
    await actions.writeFile(pool.at(NEW_POOL_FILE), `${JSON.stringify({ id: random.id() })}\n`);
    await actions.rename(pool.at(NEW_POOL_FILE), pool.at(POOL_FILE));
  }
  await actions.sync(pool.at("."));
}

/** The images of all pools on one filesystem: they share its room. */
async function imagesOn(
  device: string,
  sources: PoolSources,
  places: readonly PoolPlace[],
): Promise<readonly PoolImage[]> {
  const images: PoolImage[] = [];
  for (const place of places) {
    // Checked before the folder is opened: a hanging disk must affect only its own pool.
    if ((await deviceAt(sources.files, place.path)) !== device) continue;
    const folder = await openPoolFolder(sources, place);
    if (!("at" in folder)) continue;
    await using pool = folder;
    if (pool.device === device) images.push(...(await pool.images()));
  }
  return images;
}
