import * as v from "valibot";
import { parseTimestamp } from "../common/storage/timestamp.ts";

/** How well the aggregator knows the cluster's nodes. */
export interface NodeCounts {
  readonly total: number;
  /** Their reports have stopped. */
  readonly silent: number;
  /** Not heard of since the aggregator started. */
  readonly unheard: number;
}

/** A page of one of the aggregator's lists. */
export interface Page<T> {
  /** UID of the cluster's namespace kube-system; nothing while the aggregator does not know it. */
  readonly cluster: string | undefined;
  /** The API server's clock, at the earliest. Milliseconds since the epoch. */
  readonly serverTimeMs: number;
  readonly nodes: NodeCounts;
  readonly items: readonly T[];
  /** Where the next page begins; nothing behind the last. */
  readonly next: string | undefined;
}

/** Parts of an answer, for the schemas of its items. */
export const text = v.string();
export const nullableText = v.pipe(
  v.nullable(text),
  v.transform((value) => value ?? undefined),
);
export const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
export const time = v.pipe(
  text,
  v.transform((value) => parseTimestamp(value)),
  v.number(),
);
export const nullableTime = v.pipe(
  v.nullable(time),
  v.transform((value) => value ?? undefined),
);

const pods = v.object({
  items: v.array(v.object({ uid: text, name: v.nullable(text), gone: v.boolean() })),
  omitted: count,
});
/** Nodes that have a volume mounted. */
export const heldOn = v.object({ items: v.array(v.object({ node: text, state: text, pods })), omitted: count });
/** Nodes that have a volume staged. */
export const stagedOn = v.object({ items: v.array(v.object({ node: text, state: text })), omitted: count });

export const lastUse = v.pipe(
  v.object({
    release: text,
    node: nullableText,
    pod: nullableText,
    podUid: nullableText,
    releasedAt: time,
    uncertaintyMs: v.nullable(v.number()),
    evidence: v.picklist(["mount-table", "pod-status", "node-gone"]),
  }),
  v.transform(({ release, releasedAt, uncertaintyMs, ...rest }) => ({
    ...rest,
    releaseId: release,
    releasedAtMs: releasedAt,
    uncertaintyMs: uncertaintyMs ?? undefined,
  })),
);

const head = v.object({
  apiVersion: v.literal("api.mooring.dev/v1"),
  kind: text,
  cluster: nullableText,
  serverTime: time,
  nodes: v.object({ total: count, silent: count, unheard: count }),
  continue: nullableText,
  items: v.array(v.unknown()),
});

/** Reads an answer; fields that are not known yet are left out. Nothing for what is no such list. `read` answers nothing for what is no item. */
export function decodePage<T extends {}>(
  body: unknown,
  { kind, read }: { readonly kind: string; readonly read: (item: unknown) => T | undefined },
): Page<T> | undefined {
  const result = v.safeParse(head, body);
  if (!result.success || result.output.kind !== kind) return undefined;
  const { cluster, serverTime, nodes, continue: next, items: raw } = result.output;
  const items = raw.map(read).filter((item) => item !== undefined);
  return items.length < raw.length ? undefined : { cluster, serverTimeMs: serverTime, nodes, items, next };
}
