import * as v from "valibot";

/**
 * The contract between the two containers of the provisioner's pod. The provisioner has a token and no rights on the node; the keeper runs
 * as root and has no token. A request is one JSON object on a line, and so is its reply; a connection carries one request at a time. No
 * request contains a path: the keeper knows its pools, and the UID of its claim identifies a volume.
 */

/** Longest request or reply, in bytes with the line feed. A reply lists every volume of a node. */
export const MAX_REQUEST_BYTES = 4_096;
export const MAX_REPLY_BYTES = 4 * 1024 * 1024;

/** Where the kubelet finds a volume: a symbolic link to its loop device. On tmpfs, so that no link survives a reboot. */
export const LINK_FOLDER = "/run/mooring/volumes";

/** `pvc-` and the UID of the claim. */
const volume = v.pipe(v.string(), v.regex(/^pvc-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/));
/** A DNS label of at most 32 characters. */
const pool = v.pipe(v.string(), v.regex(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/));
/** Written into the pool when it was initialized: another disk at its place has another UUID. */
const poolId = v.pipe(v.string(), v.uuid());
/** From 1 MiB to 64 TiB. */
const bytes = v.pipe(v.number(), v.safeInteger(), v.minValue(2 ** 20), v.maxValue(2 ** 46));
const size = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const place = { volume, pool, poolId };

const request = v.variant("verb", [
  /** The pools, and how much room each has. */
  v.strictObject({ verb: v.literal("pools") }),
  /** Every image of every pool, incomplete ones included. */
  v.strictObject({ verb: v.literal("volumes") }),
  /** Initializes a pool in its empty folder. The provisioner sends this only when no PersistentVolume names this pool of this node. */
  v.strictObject({ verb: v.literal("begin"), pool }),
  /** Reserves an image of this size and attaches it. A repetition is no error; never sent for a claim that has a PersistentVolume. */
  v.strictObject({ verb: v.literal("make"), ...place, bytes }),
  /** A PersistentVolume names the image from now on: it is never taken for a leftover again. */
  v.strictObject({ verb: v.literal("publish"), ...place }),
  /** Attaches an existing image, for example after a reboot. Never creates one. */
  v.strictObject({ verb: v.literal("attach"), ...place }),
  /** Reserves room up to this size, and extends the device. Never makes an image smaller. */
  v.strictObject({ verb: v.literal("grow"), ...place, bytes }),
  /** Detaches and deletes an image that nothing uses. A missing image is no error. */
  v.strictObject({ verb: v.literal("remove"), ...place }),
]);

/** A pool of the node. `freeBytes` is what further images may take, without the reserve. */
const poolState = v.strictObject({
  name: pool,
  /** `empty`: an empty folder that was never initialized. `lost`: something is wrong, and `why` says what; nothing is created in it. */
  state: v.picklist(["ready", "empty", "lost"]),
  id: v.optional(poolId),
  totalBytes: size,
  freeBytes: size,
  why: v.optional(v.string()),
});

const image = v.strictObject({
  volume,
  pool,
  bytes: size,
  /**
   * `partial`: being created, or left by a crash during creation or removal; it is never attached. `made`: whole, but no PersistentVolume
   * is known to name it.
   */
  state: v.picklist(["partial", "made", "published"]),
  /** `/dev/loopN` while it is attached, which includes its link. */
  device: v.optional(v.string()),
});

/** Why a request was refused: a refused request has changed nothing. */
const code = v.picklist([
  /** The request is invalid. */
  "invalid",
  /** The pool has no room for it. */
  "no-space",
  /** The pool does not exist, its folder or disk is missing, or its UUID is not the requested one. */
  "pool-lost",
  /** The image does not exist; it is not created again. */
  "not-found",
  /** A process uses the volume: the message names it. */
  "in-use",
  /** Anything else: the message says what. */
  "failed",
]);

const refusal = v.strictObject({ ok: v.literal(false), code, message: v.pipe(v.string(), v.maxLength(1_024)) });

/** The reply to each verb. */
const replies = {
  pools: v.strictObject({ ok: v.literal(true), pools: v.array(poolState) }),
  volumes: v.strictObject({ ok: v.literal(true), images: v.array(image) }),
  begin: v.strictObject({ ok: v.literal(true), pool: poolState }),
  make: v.strictObject({ ok: v.literal(true), image }),
  publish: v.strictObject({ ok: v.literal(true), image }),
  attach: v.strictObject({ ok: v.literal(true), image }),
  grow: v.strictObject({ ok: v.literal(true), image }),
  /** Undefined where it was gone already. */
  remove: v.strictObject({ ok: v.literal(true), removed: v.boolean() }),
} as const;

export type KeeperRequest = v.InferOutput<typeof request>;
export type KeeperVerb = KeeperRequest["verb"];
export type RequestOf<Verb extends KeeperVerb> = Extract<KeeperRequest, { readonly verb: Verb }>;
export type ReplyOf<Verb extends KeeperVerb> = v.InferOutput<(typeof replies)[Verb]>;
export type PoolState = v.InferOutput<typeof poolState>;
export type ImageState = v.InferOutput<typeof image>;
export type KeeperRefusal = v.InferOutput<typeof refusal>;
export type RefusalCode = KeeperRefusal["code"];

/** A request, or what is wrong with it. Never throws. */
export function decodeRequest(line: string): KeeperRequest | { readonly verb: "invalid"; readonly message: string } {
  const result = v.safeParse(request, parseJson(line));
  if (result.success) return result.output;
  const [issue] = result.issues;
  return { verb: "invalid", message: `${v.getDotPath(issue) ?? "request"}: ${issue.message}`.slice(0, 1_024) };
}

/** A reply to this verb; undefined where it is invalid. Never throws. */
export function decodeReply<Verb extends KeeperVerb>(
  verb: Verb,
  line: string,
): ReplyOf<Verb> | KeeperRefusal | undefined {
  const result = v.safeParse(v.union([replies[verb], refusal]), parseJson(line));
  return result.success ? result.output : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
