import * as v from "valibot";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import type { StoredUse, StoredWords } from "./record.ts";

/**
 * Reads what Mooring has stored of a claim, without Mooring's own reading: who judges by the code that he judges does not see its
 * mistakes. Throws for anything that cannot be read: nothing is taken for silence that is none.
 */
export function readStored(object: unknown): StoredWords | undefined {
  const { metadata, status } = v.parse(claim, object);
  const condition = status.conditions.find(({ type }) => type === "mooring.dev/Unused");
  if (condition === undefined) return undefined;
  return {
    unused: v.parse(v.picklist(["True", "False"]), condition.status) === "True",
    reason: condition.reason,
    message: condition.message,
    sinceMs: instantOf(condition.lastTransitionTime),
    lastUse: readUse(metadata.annotations["mooring.dev/last-use"], metadata.uid),
  };
}

/** The claim's name, and the UID that tells it from another one of the name. */
export function readClaimIdentity(object: unknown): { readonly name: string; readonly uid: string } {
  return v.parse(claim, object).metadata;
}

const claim = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    annotations: v.optional(v.record(v.string(), v.string()), {}),
  }),
  status: v.optional(
    v.object({
      conditions: v.optional(
        v.array(
          v.object({
            type: v.string(),
            status: v.string(),
            reason: v.optional(v.string(), ""),
            message: v.optional(v.string(), ""),
            lastTransitionTime: v.string(),
          }),
        ),
        [],
      ),
    }),
    {},
  ),
});

const use = v.object({
  claimUID: v.string(),
  podUID: v.optional(v.string()),
  releasedAt: v.string(),
  uncertaintyMs: v.nullable(v.number()),
});
/** Of a claim whose last use nobody saw, if there was one. */
const gap = v.object({
  claimUID: v.string(),
  releasedAt: v.optional(v.undefined()),
  blindGap: v.object({ to: v.string() }),
});

function readUse(text: string | undefined, claimUid: string): StoredUse | undefined {
  if (text === undefined) return undefined;
  const told = v.parse(v.union([use, gap]), JSON.parse(text));
  if (told.claimUID !== claimUid || told.releasedAt === undefined) return undefined;
  const { podUID, releasedAt, uncertaintyMs } = told;
  return { podUid: podUID, releasedAtMs: instantOf(releasedAt), uncertaintyMs: uncertaintyMs ?? undefined };
}

function instantOf(text: string): number {
  const ms = parseTimestamp(text);
  if (ms === undefined) throw new TypeError(`no time: ${text}`);
  return ms;
}
