import * as v from "valibot";
import { parseJson } from "./claim-status.ts";

/** An image whose PersistentVolume is gone. */
export interface OrphanedImage {
  readonly volume: string;
  readonly pool: string;
  readonly bytes: number;
}

/** What a provisioner finds on its node and people have to decide about. */
export interface Findings {
  readonly orphans: readonly OrphanedImage[];
  /** Names of PersistentVolumes whose data cannot be used there. */
  readonly unavailable: readonly string[];
}

export const NO_FINDINGS: Findings = { orphans: [], unavailable: [] };

/** So many of each kind are named; the others are counted. */
export const MOST_FINDINGS = 20;
/** More than the longest text that a provisioner writes. Characters. */
const LONGEST = 8_192;
const name = v.pipe(v.string(), v.maxLength(253));
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const schema = v.object({
  orphans: v.array(v.object({ volume: name, pool: name, bytes: count })),
  unavailable: v.array(name),
  more: v.optional(count, 0),
});

/** Findings as the text of an annotation, the same for the same findings; undefined where there are none. */
export function findingsText({ orphans, unavailable }: Findings): string | undefined {
  if (orphans.length + unavailable.length === 0) return undefined;
  const named = {
    orphans: orphans
      .toSorted((one, other) => (one.volume < other.volume ? -1 : 1))
      .slice(0, MOST_FINDINGS)
      .map(({ volume, pool, bytes }) => ({ volume, pool, bytes })),
    unavailable: unavailable.toSorted().slice(0, MOST_FINDINGS),
  };
  const more = orphans.length + unavailable.length - named.orphans.length - named.unavailable.length;
  return JSON.stringify({ ...named, ...(more === 0 ? {} : { more }) });
}

/** The findings in an annotation, and how many more there are; undefined for a text that no provisioner writes. */
export function readFindings(text: string | undefined): (Findings & { readonly more: number }) | undefined {
  if (text === undefined || text.length > LONGEST) return undefined;
  const result = v.safeParse(schema, parseJson(text));
  return result.success ? result.output : undefined;
}
