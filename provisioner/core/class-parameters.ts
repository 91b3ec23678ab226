import type { StorageClass } from "./objects.ts";

const FS_TYPES: readonly string[] = ["ext4", "xfs"];
const POOL = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const POOL_KEY = "pool";
const FS_TYPE_KEY = "csi.storage.k8s.io/fstype";
export const DEFAULT_POOL = "default";
const DEFAULT_FS_TYPE = "ext4";

/** The parameters of a StorageClass, or what is wrong with them. */
export type ClassParameters =
  | { readonly ok: true; readonly pool: string; readonly fsType: string }
  | { readonly ok: false; readonly why: string };

/** Reads the parameters. An unknown parameter is an error: ignoring it would silently not do what it asks for. */
export function readParameters({ name, parameters }: Pick<StorageClass, "name" | "parameters">): ClassParameters {
  const wrong = (why: string): ClassParameters => ({ ok: false, why: `StorageClass ${name}: ${why}` });
  const unknown = Object.keys(parameters).find((key) => key !== POOL_KEY && key !== FS_TYPE_KEY);
  if (unknown !== undefined)
    return wrong(`parameter "${short(unknown)}" is not known; use ${POOL_KEY} and ${FS_TYPE_KEY}`);
  const pool = parameters[POOL_KEY] ?? DEFAULT_POOL;
  if (!POOL.test(pool))
    return wrong(`${POOL_KEY} "${short(pool)}" is no name of a pool: use at most 32 of a-z, 0-9 and -`);
  const fsType = parameters[FS_TYPE_KEY] ?? DEFAULT_FS_TYPE;
  if (!FS_TYPES.includes(fsType)) return wrong(`${FS_TYPE_KEY} "${short(fsType)}" is not ${FS_TYPES.join(" or ")}`);
  return { ok: true, pool, fsType };
}

const LONGEST = 80;

function short(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
