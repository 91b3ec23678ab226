import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accepted } from "../control-plane/api.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import type { Owner } from "../process/owner.ts";
import { createDirect, type Direct, readList } from "./direct.ts";
import { compact } from "./etcd.ts";
import { type Identity, readIdentity } from "./upstream.ts";

/** A real API server with its etcd, and what really happens to them. */
export interface World {
  /** The API server, as its administrator. */
  readonly identity: Identity;
  readonly direct: Direct;
  readonly plane: ControlPlane;
  /** Makes etcd forget all but the present state. */
  readonly compact: () => Promise<void>;
  /** Kills a part and starts it; resolves when it is ready again. */
  readonly restart: (part: "etcd" | "kube-apiserver") => Promise<void>;
  /** Makes a namespace; its objects need no controller. */
  readonly namespace: (name: string) => Promise<void>;
}

/**
 * Claims are not cached by this API server: their watches and lists come from etcd itself, so that a compaction shows at once.
 * Everything else is. Without controllers nothing would remove the finalizer that protects claims in use.
 */
const API_SERVER_ARGS = [
  "--watch-cache-sizes=persistentvolumeclaims#0",
  "--disable-admission-plugins=StorageObjectInUseProtection",
];

/** Starts a control plane of its own, which ends with its owner. */
export async function startWorld(owner: Owner, name = "faults"): Promise<World> {
  const plane = await startControlPlane(owner, { name, args: { "kube-apiserver": API_SERVER_ARGS } });
  const identity = readIdentity(plane.kubeconfig);
  const direct = createDirect(identity);
  owner.defer(() => direct.close());
  const read = (file: string): string => readFileSync(join(owner.folder, name, file), "utf8");
  return {
    identity,
    direct,
    plane,
    compact: async () => {
      const url = `https://127.0.0.1:${plane.part("etcd").port}`;
      const etcd = { url, ca: read("etcd-ca.crt"), certificate: read("etcd-client.crt"), key: read("etcd-client.key") };
      const now = await readList(direct, "/api/v1/namespaces?limit=1");
      await compact(etcd, now?.resourceVersion ?? "");
    },
    restart: async (part) => {
      await plane.part(part).kill();
      await plane.part(part).start();
    },
    namespace: async (namespace) => {
      const body = { metadata: { name: namespace } };
      await accepted(direct.call({ method: "POST", path: "/api/v1/namespaces", body }), `namespace ${namespace}`);
    },
  };
}
