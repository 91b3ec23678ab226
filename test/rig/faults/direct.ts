import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import * as v from "valibot";
import type { ApiCall } from "../control-plane/api.ts";
import type { Identity } from "./upstream.ts";

/** What the harness asks of the API server itself, past every proxy, over connections that are kept. */
export interface Direct {
  /** Rejects when no answer comes within 10 s. */
  readonly call: ApiCall;
  readonly close: () => void;
}

const LIMIT_MS = 10_000;

export function createDirect({ url, ca, certificate, key }: Identity): Direct {
  const agent = new Agent({ keepAlive: true, maxSockets: 6, ca, cert: certificate, key });
  return {
    call: ({ method = "GET", path, body, contentType = "application/json" }) =>
      new Promise((resolve, reject) => {
        const headers = body === undefined ? {} : { "content-type": contentType };
        const call = request(new URL(path, url), { agent, method, headers, signal: AbortSignal.timeout(LIMIT_MS) });
        call.on("error", reject).on("response", (answer) => {
          text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, text: body }), reject);
        });
        call.end(body === undefined ? undefined : JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
}

/** An object as far as the harness looks at it. */
export interface Seen {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

const metadata = v.object({
  namespace: v.optional(v.string()),
  name: v.string(),
  uid: v.string(),
  resourceVersion: v.string(),
});
const seen = v.object({ metadata });
const listOf = v.object({ metadata: v.object({ resourceVersion: v.string() }), items: v.nullish(v.array(seen), []) });

/** Reads an object's identity. Throws when it has none. */
export function readSeen(object: unknown): Seen {
  return toSeen(v.parse(seen, object));
}

/** A whole list with its resource version; nothing when the server does not give it (any more, or just now). */
export async function readList(
  { call }: Direct,
  path: string,
): Promise<{ readonly resourceVersion: string; readonly objects: readonly Seen[] } | undefined> {
  const answer = await call({ path }).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  const { metadata, items } = v.parse(listOf, JSON.parse(answer.text));
  return { resourceVersion: metadata.resourceVersion, objects: (items ?? []).map(toSeen) };
}

function toSeen({ metadata: { namespace, name, uid, resourceVersion } }: v.InferOutput<typeof seen>): Seen {
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}
