import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { ErrorRecorder } from "../../common/runtime/internal-errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { ImageState, KeeperRefusal, KeeperRequest, KeeperVerb, PoolState, ReplyOf } from "../protocol.ts";
import { fileOf } from "./core/names.ts";
import { refuse } from "./core/refusal.ts";
import type { Kernel } from "./kernel.ts";
import { Locks } from "./locks.ts";
import { createLoopDevices } from "./loop-devices.ts";
import type { NodeActions } from "./node-actions.ts";
import type { NodeFiles } from "./node-files.ts";
import { createPools, type OpenPool, type PoolSettings } from "./pools.ts";
import { systemCode } from "./system-error.ts";
import { attach, grow, make, publish } from "./volume-images.ts";
import { createVolumeLinks } from "./volume-link.ts";
import { type RemovalParts, remove } from "./volume-removal.ts";

export type KeeperReply = ReplyOf<KeeperVerb> | KeeperRefusal;

/** Carries out requests on the node. */
export interface Keeper {
  /** Never rejects. Requests for one volume run one after the other. */
  readonly answer: (request: KeeperRequest) => Promise<KeeperReply>;
  /** The present state of the pools. */
  readonly pools: () => Promise<readonly PoolState[]>;
}

export interface KeeperParts {
  readonly kernel: Kernel;
  readonly files: NodeFiles;
  readonly actions: NodeActions;
  readonly mountInfo: MountInfoSource;
  readonly random: Random;
  readonly logger: Logger;
  readonly errors: ErrorRecorder;
}

export interface KeeperSettings extends PoolSettings {
  /** Folder with the links by which the kubelet finds volumes. */
  readonly links: string;
  /** UID of the keeper's own pod: the node's mount table shows its token. Without it any table counts as the node's. */
  readonly podUid: string | undefined;
}

/** A provisioner that gave up a request sends it again, and on a hanging disk none of them ends: so the number is limited. */
const MOST_OF_A_VOLUME = 3;

type VolumeRequest = Extract<KeeperRequest, { readonly volume: string }>;

export function createKeeper(parts: KeeperParts, settings: KeeperSettings): Keeper {
  const removal: RemovalParts = {
    ...parts,
    podUid: settings.podUid,
    pools: createPools(parts, settings),
    loops: createLoopDevices(parts),
    links: createVolumeLinks(parts, settings.links),
    locks: new Locks(),
  };
  return {
    pools: () => poolStates(removal),
    answer: async (request) => {
      const key = "volume" in request ? request.volume : request.verb;
      try {
        const reply = await dispatch(removal, request);
        parts.errors.clear(key);
        logReply(parts.logger, request, reply);
        return reply;
      } catch (error) {
        return failure(error, { key, errors: parts.errors });
      }
    },
  };
}

async function dispatch(parts: RemovalParts, request: KeeperRequest): Promise<KeeperReply> {
  switch (request.verb) {
    case "pools":
      return { ok: true, pools: [...(await poolStates(parts))] };
    case "volumes":
      return { ok: true, images: await images(parts) };
    case "begin":
      return await parts.locks.run(`pool ${request.pool}`, () => begin(parts, request.pool));
    default:
      // Each waiting request occupies a connection that other volumes need.
      if (parts.locks.length(request.volume) >= MOST_OF_A_VOLUME)
        return refuse("failed", "earlier requests about this volume are still under way");
      return await parts.locks.run(request.volume, () => withPool(parts, request));
  }
}

async function withPool(parts: RemovalParts, request: VolumeRequest): Promise<KeeperReply> {
  const opened = await parts.pools.open(request);
  if (!opened.ok) return opened;
  await using pool = opened.pool;
  switch (request.verb) {
    case "make":
      return await make(parts, request, pool);
    case "publish":
      return await publish(parts, request, pool);
    case "attach":
      return await attach(parts, request, pool);
    case "grow":
      return await grow(parts, request, pool);
    case "remove":
      return await remove(parts, request, pool);
  }
}

async function poolStates({ pools }: RemovalParts): Promise<readonly PoolState[]> {
  return await Promise.all(pools.names.map(pools.state));
}

async function begin({ pools }: RemovalParts, name: string): Promise<KeeperReply> {
  const pool = await pools.begin(name);
  return pool.state === "ready" ? { ok: true, pool } : refuse("pool-lost", `pool ${name}: ${pool.why ?? pool.state}`);
}

async function images(parts: RemovalParts): Promise<ImageState[]> {
  const all: ImageState[] = [];
  for (const name of parts.pools.names) {
    const opened = await parts.pools.open({ pool: name });
    // The content of a lost pool is unknown: the pool's state says so.
    if (!opened.ok) continue;
    await using pool = opened.pool;
    all.push(...(await imagesIn(pool, parts)));
  }
  return all;
}

/** An image that is attached but has no link, because the keeper was stopped in between, must be attached again. */
async function imagesIn(pool: OpenPool, { loops, links }: RemovalParts): Promise<readonly ImageState[]> {
  const found = await pool.images();
  const devices = await loops.devices(found.map((image) => ({ volume: image.volume, path: pool.at(fileOf(image)) })));
  const states = found.map(async ({ volume, state, bytes }) => {
    const device = devices.get(volume);
    const isLinked = device !== undefined && (await links.leadsTo(volume, device));
    return { volume, pool: pool.name, bytes, state, ...(isLinked && { device }) };
  });
  return await Promise.all(states);
}

/** A failed system call is reported to the caller; anything else that was thrown is a bug, which affects this request only. */
function failure(error: unknown, { key, errors }: { key: string; errors: ErrorRecorder }): KeeperRefusal {
  const code = systemCode(error);
  if (code === "ENOSPC" || code === "EDQUOT") return refuse("no-space", messageOf(error));
  if (code !== undefined || error instanceof MooringError) return refuse("failed", messageOf(error));
  errors.note(key, error);
  return refuse("failed", `internal error: ${messageOf(error)}`);
}

/** Requests that change nothing when repeated; the provisioner repeats them for every volume from time to time. */
const QUIET: readonly KeeperVerb[] = ["pools", "volumes", "attach"];

/** The keeper logs changes of the node; the provisioner reports refusals. */
function logReply(logger: Logger, request: KeeperRequest, reply: KeeperReply): void {
  const { verb } = request;
  const { volume, pool } = { volume: undefined, pool: undefined, ...request };
  const fields = { verb, volume, pool };
  if (!reply.ok) logger.debug({ ...fields, reason: reply.code, why: reply.message }, "request refused");
  else if (QUIET.includes(verb) || ("removed" in reply && !reply.removed)) logger.debug(fields, "request answered");
  else logger.info(fields, "request done");
}
