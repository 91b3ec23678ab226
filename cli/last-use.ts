import type * as v from "valibot";
import type { LastUse } from "../common/storage/claim-status.ts";
import type { claimEntry } from "../common/storage/list-lines.ts";

/** The last use in an entry of a list. */
export function lastUseIn(use: v.InferOutput<typeof claimEntry>["lastUse"]): LastUse | undefined {
  if (use === null) return undefined;
  const { release: id, releasedAt: byMs, uncertaintyMs, ...rest } = use;
  return { ...rest, id, byMs, widthMs: uncertaintyMs ?? undefined };
}
