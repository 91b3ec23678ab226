import * as v from "valibot";

/**
 * The contract between the two containers of the provisioner's pod: the provisioner, which has a token and no rights on the node, asks the
 * keeper, which has root and no token. One JSON object on a line is a request, one on a line its reply; a connection carries one request at
 * a time. Nothing in a request is a path: the keeper knows its pools, and a volume is named by the UID of its claim.
 */

/** A request or a reply is at most so long, bytes with the line feed. A reply lists every volume of a node. */
export const MAX_REQUEST_BYTES = 4_096;
export const MAX_REPLY_BYTES = 4 * 1024 * 1024;

/** Where the kubelet finds a volume: a symbolic link to its loop device. On tmpfs, so that none outlives a boot. */
export const LINK_FOLDER = "/run/mooring/volumes";

/** `pvc-` and the UID of the claim. */
const volume = v.pipe(v.string(), v.regex(/^pvc-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/));
/** A DNS label of at most 32 characters. */
const pool = v.pipe(v.string(), v.regex(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/));
/** Written into the pool when it was begun: another disk at its place has another one. */
const poolId = v.pipe(v.string(), v.uuid());
/** From 1 MiB to 64 TiB. */
const bytes = v.pipe(v.number(), v.safeInteger(), v.minValue(2 ** 20), v.maxValue(2 ** 46));
const size = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const place = { volume, pool, poolId };

const request = v.variant("verb", [
  /** The pools, and how much room each has. */
  v.strictObject({ verb: v.literal("pools") }),
  /** Every image of every pool, also those that are not whole. */
  v.strictObject({ verb: v.literal("volumes") }),
  /** Begins a pool in its empty folder. The provisioner asks for it only when no PersistentVolume names this pool of this node. */
  v.strictObject({ verb: v.literal("begin"), pool }),
  /** Reserves an image of this size and attaches it. The same again is no error; it is never done for a claim that has a PersistentVolume. */
  v.strictObject({ verb: v.literal("make"), ...place, bytes }),
  /** A PersistentVolume names the image from now on: it is never taken for a left-over again. */
  v.strictObject({ verb: v.literal("publish"), ...place }),
  /** Attaches an image that is there, after a reboot for example. Never makes one. */
  v.strictObject({ verb: v.literal("attach"), ...place }),
  /** Reserves room up to this size, and lets the device show it. Never makes one smaller. */
  v.strictObject({ verb: v.literal("grow"), ...place, bytes }),
  /** Detaches and deletes an image that nothing uses. One that is not there any more is no error. */
  v.strictObject({ verb: v.literal("remove"), ...place }),
]);

/** A pool of the node. `freeBytes` is what further images may take: the reserve is taken off. */
const poolState = v.strictObject({
  name: pool,
  /** `empty`: an empty folder that was never begun. `lost`: something is wrong with it, `why` says what; nothing is made in it. */
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
  /** `partial`: being made, or what a crash left of that or of a removal; it is never attached. `made`: whole, and no PersistentVolume is known to name it. */
  state: v.picklist(["partial", "made", "published"]),
  /** `/dev/loopN` while it is attached, which its link is a part of. */
  device: v.optional(v.string()),
});

/** Why a request was refused: none of these changed anything. */
const code = v.picklist([
  /** The request is no request. */
  "invalid",
  /** The pool has no room for it. */
  "no-space",
  /** There is no such pool, its folder or its disk is not there, or it is another one than the request names. */
  "pool-lost",
  /** There is no such image; it is not made anew. */
  "not-found",
  /** Something uses the volume: the message names it. */
  "in-use",
  /** Anything else: the message says what. */
  "failed",
]);

const refusal = v.strictObject({ ok: v.literal(false), code, message: v.pipe(v.string(), v.maxLength(1_024)) });

/** What each verb is answered. */
const replies = {
  pools: v.strictObject({ ok: v.literal(true), pools: v.array(poolState) }),
  volumes: v.strictObject({ ok: v.literal(true), images: v.array(image) }),
  begin: v.strictObject({ ok: v.literal(true), pool: poolState }),
  make: v.strictObject({ ok: v.literal(true), image }),
  publish: v.strictObject({ ok: v.literal(true), image }),
  attach: v.strictObject({ ok: v.literal(true), image }),
  grow: v.strictObject({ ok: v.literal(true), image }),
  /** Nothing where it was gone already. */
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

/** A reply to this verb; nothing where it is none. Never throws. */
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
