import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import type { Published } from "../judge/published.ts";
import type { Span, StoredState, TrueUse } from "./record.ts";

/** The states in which Mooring had published something. */
export function writesOf(
  states: readonly StoredState[],
): readonly { readonly seenMs: number; readonly published: Published }[] {
  return states.flatMap(({ seenMs, published }) => (published === undefined ? [] : [{ seenMs, published }]));
}

/** The published status at a moment. */
export function publishedAt(states: readonly StoredState[], atMs: number): Published | undefined {
  return states.findLast(({ seenMs }) => seenMs <= atMs)?.published;
}

/** A lower bound of the use's end; infinity while it lasts. */
export function earliestEnd({ unmounted }: TrueUse): number {
  return unmounted?.fromMs ?? Number.POSITIVE_INFINITY;
}

/** The use that ended last. */
export function lastOf(uses: readonly TrueUse[]): TrueUse | undefined {
  return uses.reduce<TrueUse | undefined>(
    (last, use) => (last === undefined || earliestEnd(use) > earliestEnd(last) ? use : last),
    undefined,
  );
}

/** The intersection of the lists of spans; no span is empty. */
export function common(...lists: readonly (readonly Span[])[]): readonly Span[] {
  const [first = [], ...others] = lists;
  return others.reduce(
    (found, list) =>
      found.flatMap((one) =>
        list.flatMap((other) => {
          const fromMs = Math.max(one.fromMs, other.fromMs);
          const toMs = Math.min(one.toMs, other.toMs);
          return fromMs < toMs ? [{ fromMs, toMs }] : [];
        }),
      ),
    first,
  );
}

/** Time of day with milliseconds, UTC. */
export function clockTime(ms: number): string {
  return Number.isFinite(ms) ? formatMillisecondsUp(ms).slice(11, 23) : "-";
}
