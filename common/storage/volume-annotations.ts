import * as v from "valibot";
import {
  type ClaimStatus,
  LAST_USE,
  MAX_NODES,
  MOUNTED_ON,
  type MountedOn,
  parseJson,
  readGap,
  readLastUse,
} from "./claim-status.ts";

/** Mooring's two annotations of a PersistentVolume, as stored. */
export interface VolumeAnnotations {
  /** `mooring.dev/mounted-on`, JSON: the nodes that have it mounted although it is not Bound. */
  readonly mountedOn: string | undefined;
  /** `mooring.dev/last-use`, JSON: the last use by the claim that the volume was bound to, copied from that claim. */
  readonly lastUse: string | undefined;
}

export const NO_ANNOTATIONS: VolumeAnnotations = { mountedOn: undefined, lastUse: undefined };

/** The annotations of a volume by their names. */
export const VOLUME_ANNOTATIONS = { mountedOn: MOUNTED_ON, lastUse: LAST_USE } as const;

/** More than the longest that Mooring writes: 32 nodes. Characters. */
const LONGEST = 16_384;

/** Mooring's annotations among all of a volume; one that Mooring cannot have written is kept as an empty text. */
export function volumeAnnotations(
  all: Readonly<{ [name in typeof MOUNTED_ON | typeof LAST_USE]?: string | undefined }>,
): VolumeAnnotations | undefined {
  const [mountedOn, lastUse] = [all[MOUNTED_ON], all[LAST_USE]].map(bounded);
  return mountedOn === undefined && lastUse === undefined ? undefined : { mountedOn, lastUse };
}

function bounded(text: string | undefined): string | undefined {
  return text !== undefined && text.length > LONGEST ? "" : text;
}

const mountedOnSchema = v.object({
  volumeUID: v.string(),
  nodes: v.pipe(v.array(v.pipe(v.string(), v.maxLength(253))), v.maxLength(MAX_NODES)),
  more: v.optional(v.boolean(), false),
});

/** The nodes in the mark of the volume with that UID; undefined where it is another volume's, such as one from a backup, or invalid. */
export function readVolumeMark(uid: string, text: string | undefined): MountedOn | undefined {
  const result = v.safeParse(mountedOnSchema, parseJson(text));
  if (!result.success || result.output.volumeUID !== uid) return undefined;
  const { nodes, more } = result.output;
  return { nodes, more };
}

/** The mark of the volume with that UID. The policy checks the UID in it. */
export function volumeMarkText(uid: string, nodes: readonly string[]): string {
  const more = nodes.length > MAX_NODES;
  return JSON.stringify({ volumeUID: uid, nodes: nodes.slice(0, MAX_NODES), ...(more ? { more } : {}) });
}

/** The copied last use of the claim with that UID; undefined where it is an earlier claim's, or invalid. */
export function readCopiedUse(
  claimUid: string,
  text: string | undefined,
): Pick<ClaimStatus, "lastUse" | "gap"> | undefined {
  const found = { lastUse: readLastUse(claimUid, text), ...readGap(claimUid, text) };
  return found.lastUse === undefined && found.gap === undefined ? undefined : found;
}
