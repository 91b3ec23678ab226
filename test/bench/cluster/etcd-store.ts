import { readFileSync } from "node:fs";
import { join } from "node:path";
import { array, minLength, object, parse, pipe, string } from "valibot";
import { readText } from "../../../common/kube/transport.ts";
import { createUndiciTransport } from "../../../common/kube/undici-transport.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";

/** One object as the API server stores it. */
export interface Entry {
  readonly key: string;
  readonly bytes: Buffer;
}

/** A control plane's etcd, over its JSON gateway: past the API server, which would take a hundred times as long. */
export interface EtcdStore {
  /** Throws a HarnessError when there is no such key. */
  readonly get: (key: string) => Promise<Buffer>;
  /** At most 128, all at once: etcd's own limit. */
  readonly put: (entries: readonly Entry[]) => Promise<void>;
}

/** etcd takes no more in one transaction. */
export const MOST_ENTRIES = 128;

const found = object({ kvs: pipe(array(object({ value: string() })), minLength(1)) });

/** The folder is the control plane's, below its owner's: its etcd's client certificate is there. */
export function createEtcdStore(
  owner: Owner,
  { plane, folder }: { readonly plane: ControlPlane; readonly folder: string },
): EtcdStore {
  const pem = (name: string): string => readFileSync(join(owner.folder, folder, name), "utf8");
  const transport = createUndiciTransport({
    origin: `https://127.0.0.1:${plane.part("etcd").port}`,
    ca: pem("etcd-ca.crt"),
    certificate: pem("etcd-client.crt"),
    key: pem("etcd-client.key"),
  });
  owner.defer(() => transport.close());
  const ask = async (path: string, question: unknown): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", path, headers, body: JSON.stringify(question) } as const;
    const response = await transport.send(request, owner.signal);
    const text = await readText(response);
    if (response.status >= 300) throw new HarnessError(`etcd answered ${path} with ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  return {
    get: async (key) => {
      const { kvs } = parse(found, await ask("/v3/kv/range", { key: base64(key) }));
      return Buffer.from(kvs[0]?.value ?? "", "base64");
    },
    put: async (entries) => {
      const success = entries.map(({ key, bytes }) => ({
        requestPut: { key: base64(key), value: bytes.toString("base64") },
      }));
      await ask("/v3/kv/txn", { success });
    },
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
