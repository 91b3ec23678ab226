import * as v from "valibot";
import type { Position } from "../core/paging.ts";

const schema = v.pipe(
  v.strictTuple([v.string(), v.string(), v.nullable(v.pipe(v.number(), v.finite()))]),
  v.transform(([order, key, sinceMs]) => ({ order, position: { key, ...(sinceMs !== null && { sinceMs }) } })),
);

/** A place in a list as callers carry it: opaque, so that what is in it can change. `order` names the list and its order. */
export function writeToken(order: string, { key, sinceMs }: Position): string {
  return Buffer.from(JSON.stringify([order, key, sinceMs ?? null])).toString("base64url");
}

/** The place that a token tells of, or nothing when it is none of this order. */
export function readToken(order: string, token: string): Position | undefined {
  const result = v.safeParse(schema, parseJson(Buffer.from(token, "base64url").toString("utf8")));
  return result.success && result.output.order === order ? result.output.position : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
