import type { Keeper, KeeperAway } from "../../provisioner/core/keeper.ts";
import type { ImageState, KeeperRefusal, KeeperRequest, PoolState, ReplyOf } from "../../provisioner/protocol.ts";

/** A pool in memory. */
export interface FakePool {
  readonly name: string;
  readonly totalBytes: number;
  readonly id: string;
}

/** A keeper without a disk. What it is asked for it does in memory, by the protocol. */
export interface FakeKeeper extends Keeper {
  readonly requests: readonly KeeperRequest[];
  readonly images: ReadonlyMap<string, ImageState>;
  /** The bytes of a pool that no image reserves. To reserve more than that is an error. */
  readonly freeBytes: (pool: string) => number;
  /** A process uses the volume, until `release`. */
  readonly use: (volume: string, holder?: string) => void;
  readonly release: (volume: string) => void;
  /** As after a boot: nothing is attached. */
  readonly reboot: () => void;
  readonly setState: (pool: string, state: PoolState["state"], why?: string) => void;
  /** Puts a left-over there. */
  readonly put: (image: ImageState) => void;
  /** Sets a hook that runs before each request: it may delay the request or answer in its place. */
  readonly intercept: (hook: ((request: KeeperRequest) => Promise<KeeperAway | undefined>) | undefined) => void;
}

export const FAKE_POOL_ID = "6f1c1b1e-5d0e-4c56-9f7c-3a6f3b2f0a11";

type Refusal = KeeperRefusal;

interface State {
  readonly pools: Map<string, FakePool & { readonly state: PoolState["state"]; readonly why: string | undefined }>;
  readonly images: Map<string, ImageState>;
  readonly uses: Map<string, string>;
  loops: number;
}

export function createFakeKeeper(pools: readonly Partial<FakePool>[] = [{}]): FakeKeeper {
  const state: State = { pools: new Map(), images: new Map(), uses: new Map(), loops: 0 };
  for (const { name = "default", totalBytes = 10 * 2 ** 30, id = FAKE_POOL_ID } of pools)
    state.pools.set(name, { name, totalBytes, id, state: "ready", why: undefined });
  const requests: KeeperRequest[] = [];
  let hook: Parameters<FakeKeeper["intercept"]>[0];
  return {
    requests,
    images: state.images,
    freeBytes: (pool) => freeOf(state, pool),
    use: (volume, holder = "mounted by pid 1") => void state.uses.set(volume, holder),
    release: (volume) => void state.uses.delete(volume),
    reboot: () => {
      for (const [volume, { device: _, ...image }] of state.images) state.images.set(volume, image);
    },
    setState: (name, next, why) => {
      const pool = state.pools.get(name);
      if (pool !== undefined) state.pools.set(name, { ...pool, state: next, why });
    },
    put: (image) => void state.images.set(image.volume, image),
    intercept: (next) => {
      hook = next;
    },
    ask: async (request) => {
      requests.push(request);
      const away = await hook?.(request);
      if (away !== undefined) return away;
      return answer(state, request);
    },
  };
}

/** The reply to each verb has the verb's own type, which a union of all of them does not show. */
function answer<Request extends KeeperRequest>(
  state: State,
  request: Request,
): ReplyOf<Request["verb"]> | KeeperRefusal;
function answer(state: State, request: KeeperRequest): unknown {
  switch (request.verb) {
    case "pools":
      return { ok: true, pools: [...state.pools.keys()].map((name) => poolState(state, name)) };
    case "volumes":
      return { ok: true, images: [...state.images.values()] };
    case "begin":
      return begin(state, request.pool);
    default:
      return onImage(state, request);
  }
}

type ImageRequest = Extract<KeeperRequest, { readonly volume: string }>;

function onImage(state: State, request: ImageRequest): object {
  const pool = state.pools.get(request.pool);
  if (pool === undefined || pool.state !== "ready" || pool.id !== request.poolId)
    return refusal("pool-lost", `pool ${request.pool} is not there`);
  const image = state.images.get(request.volume);
  if (request.verb === "make") return make(state, { image, request });
  if (request.verb === "remove") return remove(state, request.volume);
  if (image === undefined) return refusal("not-found", `there is no image of ${request.volume}`);
  if (request.verb === "publish") return kept(state, { ...image, state: "published" });
  if (request.verb === "attach") return kept(state, { ...image, device: image.device ?? nextLoop(state) });
  if (request.bytes - image.bytes > freeOf(state, pool.name)) return refusal("no-space", `pool ${pool.name} is full`);
  return kept(state, { ...image, bytes: Math.max(image.bytes, request.bytes) });
}

function make(
  state: State,
  {
    image,
    request,
  }: { readonly image: ImageState | undefined; readonly request: Extract<KeeperRequest, { readonly verb: "make" }> },
): object {
  const { volume, pool, bytes } = request;
  if (image !== undefined && image.state !== "partial") return { ok: true, image };
  if (bytes > freeOf(state, pool)) return refusal("no-space", `pool "${pool}" has no room for ${bytes} bytes`);
  return kept(state, { volume, pool, bytes, state: "made", device: nextLoop(state) });
}

function remove({ images, uses }: State, volume: string): object {
  const holder = uses.get(volume);
  if (holder !== undefined && images.has(volume)) return refusal("in-use", `${volume} is in use: ${holder}`);
  return { ok: true, removed: images.delete(volume) };
}

function begin(state: State, name: string): object {
  const pool = state.pools.get(name);
  if (pool?.state !== "empty") return refusal("pool-lost", `pool ${name} is not empty`);
  state.pools.set(name, { ...pool, state: "ready", why: undefined });
  return { ok: true, pool: poolState(state, name) };
}

function kept({ images }: State, image: ImageState): object {
  images.set(image.volume, image);
  return { ok: true, image };
}

function nextLoop(state: State): string {
  state.loops += 1;
  return `/dev/loop${state.loops}`;
}

function refusal(code: Refusal["code"], message: string): Refusal {
  return { ok: false, code, message };
}

function freeOf({ pools, images }: State, name: string): number {
  const used = [...images.values()].filter(({ pool }) => pool === name).reduce((sum, { bytes }) => sum + bytes, 0);
  return (pools.get(name)?.totalBytes ?? 0) - used;
}

function poolState(state: State, name: string): PoolState {
  const pool = state.pools.get(name);
  const { totalBytes = 0, id = "", why } = pool ?? {};
  const isReady = pool?.state === "ready";
  return {
    name,
    state: pool?.state ?? "lost",
    totalBytes,
    freeBytes: isReady ? freeOf(state, name) : 0,
    ...(pool?.state === "empty" ? {} : { id }),
    ...(why === undefined ? {} : { why }),
  };
}
