import * as v from "valibot";
import type { ApiRequest } from "../../rig/control-plane/api.ts";
import type { ClusterApi } from "../../rig/stand-in/cluster-api.ts";
import { NOBODY, RBAC } from "./refusal.ts";

/** Whose token is used. */
export type Identity =
  | "agent"
  | "agent of node-2"
  | "agent without a pod"
  | "agent without a node"
  | "aggregator"
  | "administrator";

/** Something that an account must not be able to do. */
export interface Attack {
  /** What it would do, as a sentence goes on: "fails a pod of another node". */
  readonly name: string;
  readonly by: Identity;
  readonly ask: ApiRequest;
  /** The begin of what `whoRefused` says. */
  readonly refusedBy: string;
  /** The same once the account may do everything that RBAC can give. */
  readonly refusedEvenThen: string;
  /** The object that a deletion names in full: its UID and the state that it is in are put into it before it is sent. */
  readonly aim?: string;
}

const FENCES = {
  agent: "mooring-fence: an agent must not write anything but",
  aggregator: "mooring-fence: the aggregator must not write anything but",
} as const;
type Account = keyof typeof FENCES;

/** What no role allows, and what the fence refuses where one does. */
export function write(by: Account, name: string, ask: ApiRequest): Attack {
  return { name, by, ask, refusedBy: RBAC, refusedEvenThen: FENCES[by] };
}

/** What no role allows, and what a rule of the fence of its own refuses where one does. */
export function fenced(
  by: Account,
  name: string,
  { ask, rule }: { readonly ask: ApiRequest; readonly rule: string },
): Attack {
  return { name, by, ask, refusedBy: RBAC, refusedEvenThen: `mooring-fence: ${rule}` };
}

/** What admission never sees: there RBAC stands alone. */
export function unseen(by: Account, name: string, ask: ApiRequest): Attack {
  return { name, by, ask, refusedBy: RBAC, refusedEvenThen: NOBODY };
}

/** What RBAC allows or cannot distinguish, and a rule refuses. */
export function ruled(
  by: Identity,
  name: string,
  { ask, rule }: { readonly ask: ApiRequest; readonly rule: string },
): Attack {
  return { name, by, ask, refusedBy: rule, refusedEvenThen: rule };
}

const TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

export function patch(path: string, body: unknown, type: keyof typeof TYPES = "merge"): ApiRequest {
  const query = type === "apply" ? `${path.includes("?") ? "&" : "?"}fieldManager=attack&force=true` : "";
  return { method: "PATCH", path: `${path}${query}`, body, contentType: TYPES[type] };
}

export function create(path: string, body: unknown): ApiRequest {
  return { method: "POST", path, body };
}

export function get(path: string): ApiRequest {
  return { path };
}

export function remove(path: string): ApiRequest {
  return { method: "DELETE", path };
}

/** The same without consequences; admission is asked all the same. */
export function dry(ask: ApiRequest): ApiRequest {
  if (ask.method === undefined || ask.method === "GET") return ask;
  // Options that come in a body replace those of the query.
  if (ask.method === "DELETE" && typeof ask.body === "object")
    return { ...ask, body: { ...ask.body, dryRun: ["All"] } };
  return { ...ask, path: `${ask.path}${ask.path.includes("?") ? "&" : "?"}dryRun=All` };
}

const aimedAt = v.object({ metadata: v.object({ uid: v.string(), resourceVersion: v.string() }) });

/** The request of an attack, complete. */
export async function aimed({ get: read }: Pick<ClusterApi, "get">, { ask, aim }: Attack): Promise<ApiRequest> {
  if (aim === undefined) return ask;
  const { metadata: preconditions } = v.parse(aimedAt, await read(aim));
  return { ...ask, body: { apiVersion: "v1", kind: "DeleteOptions", preconditions } };
}
