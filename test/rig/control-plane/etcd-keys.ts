import { array, fallback, object, optional, parse, string } from "valibot";
import { type ApiCall, accepted, createApiCall } from "./api.ts";
import type { Core } from "./control-plane.ts";
import { lasting, type StoredEntry, type StoredKey, type Undoing, undoing } from "./first-state.ts";
import { origin } from "./plans.ts";

/** etcd takes no more steps in one transaction. */
const MOST_STEPS = 128;
/** Everything that the API server stores. */
const ALL = { key: base64("/registry/"), range_end: base64("/registry0") } as const;

const headed = object({ header: object({ revision: string() }) });
const listed = object({
  kvs: optional(
    array(
      object({ key: string(), mod_revision: string(), value: fallback(string(), ""), lease: fallback(string(), "0") }),
    ),
    [],
  ),
});

/** What a control plane's etcd held once, and the way back to it. */
export interface FirstState {
  /** Deletes every key that was not there, puts back every other; answers the keys that it took. */
  readonly restore: () => Promise<readonly string[]>;
}

/** Asks etcd at its JSON gateway, past the API server: it would neither take back a deletion nor delete without finalizers. */
export function etcdCall({ etcd, pki }: Pick<Core, "etcd" | "pki">): ApiCall {
  return createApiCall({ url: origin("127.0.0.1", etcd.port), ca: pki.etcdCa }, pki.etcdClient);
}

/** The revision of the last write. */
export async function lastRevision(call: ApiCall): Promise<string> {
  return parse(headed, await ask(call, "range", { ...ALL, count_only: true })).header.revision;
}

/** Takes down all that etcd holds now. */
export async function readFirstState(call: ApiCall): Promise<FirstState> {
  const first = new Map(lasting(await list(call, {})));
  return {
    restore: async () => {
      const steps = undoing(first, await list(call, { keys_only: true }));
      for (let from = 0; from < steps.length; from += MOST_STEPS) {
        const some = steps.slice(from, from + MOST_STEPS);
        const { revision } = parse(headed, await ask(call, "txn", { success: some.map(operation) })).header;
        // It is the value of before, but as of now.
        for (const { key } of some) {
          const entry = first.get(key);
          if (entry !== undefined) first.set(key, { ...entry, revision });
        }
      }
      return steps.map(({ key }) => key);
    },
  };
}

async function list(
  call: ApiCall,
  how: { readonly keys_only?: boolean },
): Promise<readonly (StoredEntry & StoredKey)[]> {
  const { kvs } = parse(listed, await ask(call, "range", { ...ALL, ...how }));
  return kvs.map(({ key, mod_revision: revision, value, lease }) => ({
    key: Buffer.from(key, "base64").toString("utf8"),
    revision,
    value,
    isLeased: lease !== "0",
  }));
}

function operation({ key, value }: Undoing): object {
  if (value === undefined) return { request_delete_range: { key: base64(key) } };
  return { request_put: { key: base64(key), value } };
}

async function ask(call: ApiCall, what: string, body: object): Promise<unknown> {
  const path = `/v3/kv/${what}`;
  return JSON.parse(await accepted(call({ method: "POST", path, body }), `etcd ${path}`));
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
