import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import * as v from "valibot";
import type { ControlPlane, ControlPlaneOptions } from "../rig/control-plane/control-plane.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";

/** Settings that make the API server's store readable without it: JSON instead of protobuf, and no compaction. */
export const READABLE: NonNullable<ControlPlaneOptions["args"]> = {
  "kube-apiserver": ["--storage-media-type=application/json", "--etcd-compaction-interval=0"],
};

/** A write of the API server, read from its store. */
export interface StoreEvent {
  /** `/registry/pods/shop/one` */
  readonly key: string;
  /** Undefined for a deletion. */
  readonly object: unknown;
  /** An upper bound of the time at which it was stored. Wall clock, milliseconds. */
  readonly seenMs: number;
}

const event = v.object({
  type: v.picklist(["PUT", "DELETE"]),
  kv: v.object({ key: v.instance(Uint8Array), value: v.instance(Uint8Array) }),
});
const response = v.object({
  created: v.boolean(),
  canceled: v.boolean(),
  cancel_reason: v.string(),
  events: v.array(event),
});

/**
 * Calls back for every write below a prefix, in the order of the store, from the first one: a watch of the API server would miss some
 * whenever the server is killed. The owner's control plane has to run with `READABLE`.
 */
export async function followStore(
  owner: Owner,
  { plane, folder = "control-plane" }: { readonly plane: ControlPlane; readonly folder?: string },
  { prefix, onEvent }: { readonly prefix: string; readonly onEvent: (event: StoreEvent) => void },
): Promise<void> {
  const pem = (name: string): Buffer => readFileSync(join(owner.folder, folder, name));
  const identity = credentials.createSsl(pem("etcd-ca.crt"), pem("etcd-client.key"), pem("etcd-client.crt"));
  // An IP address is no server name: Node.js refuses it (RFC 6066).
  const names = { "grpc.ssl_target_name_override": "localhost", "grpc.default_authority": "localhost" };
  const client = new Client(`127.0.0.1:${plane.part("etcd").port}`, identity, names);
  const stream = openWatch(client);
  let isFollowed = false;
  let failure: string | undefined;
  stream.on("error", (error) => {
    failure ??= error.message;
    // The judge's record is incomplete from now on.
    if (!owner.signal.aborted) owner.say(`the watch of the store ended: ${error.message}`);
  });
  stream.on("data", (raw: unknown) => {
    const { created, canceled, cancel_reason: why, events } = v.parse(response, raw);
    if (canceled) stream.destroy(new HarnessError(why));
    isFollowed ||= created;
    for (const one of events) onEvent(readEvent(one, owner.clock.wallMs()));
  });
  owner.defer(() => {
    stream.cancel();
    client.close();
  });
  const range = { key: Buffer.from(prefix), range_end: endOf(prefix), start_revision: 1 };
  stream.write({ create_request: range });
  await waitUntil(owner, {
    what: `the watch of ${prefix}`,
    limitMs: 10_000,
    check: async () => {
      if (!isFollowed) throw new HarnessError(failure ?? "etcd has not answered");
    },
  });
}

function openWatch(client: Client): ClientDuplexStream<object, unknown> {
  const definitions = loadSync(new URL("proto/etcd-watch.proto", import.meta.url).pathname, {
    keepCase: true,
    enums: String,
    longs: String,
    defaults: true,
  });
  const service = definitions["etcdserverpb.Watch"];
  const method = service !== undefined && "Watch" in service ? service.Watch : undefined;
  if (method === undefined || typeof method !== "object" || !("path" in method))
    throw new TypeError("no service Watch in the definitions");
  return client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
}

function readEvent({ type, kv }: v.InferOutput<typeof event>, seenMs: number): StoreEvent {
  const key = Buffer.from(kv.key).toString("utf8");
  return { key, object: type === "PUT" ? JSON.parse(Buffer.from(kv.value).toString("utf8")) : undefined, seenMs };
}

/** The first key after all keys with this prefix: etcd's form of a prefix range. */
function endOf(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  const last = end.length - 1;
  end.writeUInt8(end.readUInt8(last) + 1, last);
  return end;
}
