import * as v from "valibot";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import { list } from "../../common/kube/list.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import {
  CONDITION_TYPE,
  FIELD_MANAGER,
  LAST_USE,
  MOUNTED_ON,
  STAGED_TYPE,
  UNUSED_SINCE,
} from "../../common/storage/claim-status.ts";
import { ownersOf } from "../../common/storage/managed-fields.ts";
import { UPSTREAM_TYPE } from "../../common/storage/upstream-unused.ts";
import type { Removal } from "./removal.ts";
import { volumeRemovalFrom } from "./volume-traces.ts";

/** Where to look for traces, and how to find them. */
const COLLECTIONS = [
  { path: "/api/v1/persistentvolumeclaims", removalFrom },
  { path: "/api/v1/persistentvolumes", removalFrom: volumeRemovalFrom },
] as const;
const PAGE = "500";
/** Number of concurrent requests. */
const WIDTH = 8;
const ROUNDS = 10;
const PAUSE_MS = 2_000;

/** What the removal needs. */
export interface RemovalPorts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

const Condition = v.object({ type: v.string() });
const Claim = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    uid: v.pipe(v.string(), v.minLength(1)),
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
    deletionTimestamp: v.optional(v.string()),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
    managedFields: v.optional(v.unknown()),
  }),
  status: v.nullish(v.object({ conditions: v.nullish(v.array(v.looseObject(Condition.entries)), []) }), {
    conditions: [],
  }),
});

/**
 * What to remove from a claim, given as the raw API object; undefined when it has no trace of Mooring. Removes our condition and
 * annotations also if another field manager owns them now, since no program will correct them any more. Removes Kubernetes' own condition
 * only where Mooring alone owns it: an earlier version wrote it where no controller did.
 */
export function removalFrom(object: unknown): Removal | undefined {
  const { metadata, status } = v.parse(Claim, object);
  const { namespace, name, uid, resourceVersion } = metadata;
  const conditions = status?.conditions ?? [];
  const ours = [CONDITION_TYPE, STAGED_TYPE, ...(isUpstreamOurs(metadata.managedFields) ? [UPSTREAM_TYPE] : [])];
  const types = ours.filter((one) => conditions.some(({ type }) => type === one));
  const present = [UNUSED_SINCE, MOUNTED_ON, LAST_USE].filter((key) => Object.hasOwn(metadata.annotations ?? {}, key));
  if (types.length + present.length === 0) return undefined;
  const annotations = Object.fromEntries(present.map((key) => [key, null]));
  return {
    namespace,
    claim: name,
    path: `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}/status`,
    isDeleting: metadata.deletionTimestamp !== undefined,
    body: {
      metadata: { uid, resourceVersion, annotations },
      status: { conditions: types.map((type) => ({ type, $patch: "delete" })) },
    },
  };
}

const UPSTREAM_ITEM = ["f:status", "f:conditions", `k:${JSON.stringify({ type: UPSTREAM_TYPE })}`];

function isUpstreamOurs(managedFields: unknown): boolean {
  const owners = ownersOf(managedFields, UPSTREAM_ITEM);
  return owners.length > 0 && owners.every(({ manager, isApply }) => manager === FIELD_MANAGER && isApply);
}

/**
 * Removes everything that Mooring wrote from all claims and volumes, and repeats until nothing is left. Throws `MooringError` "traces-left"
 * when something is left after ten rounds: then an aggregator is running.
 */
export async function removeTraces({ client, clock, logger }: RemovalPorts, signal: AbortSignal): Promise<void> {
  for (let round = 1; round <= ROUNDS && !signal.aborted; round += 1) {
    const removals = await removalsIn(client, signal);
    if (removals.length === 0) return logger.info({}, "no claim and no volume has a trace of mooring");
    const volumes = removals.filter(({ volume }) => volume !== undefined).length;
    logger.info({ claims: removals.length - volumes, volumes }, "removing what mooring wrote to claims and volumes");
    for (let begin = 0; begin < removals.length; begin += WIDTH) {
      await Promise.all(
        removals.slice(begin, begin + WIDTH).map((one) => remove({ client, clock, logger }, one, signal)),
      );
    }
    if (round > 1) await clock.sleep(PAUSE_MS, signal);
  }
  throw new MooringError(
    "traces-left",
    "claims or volumes are written again and again: is an aggregator still running?",
  );
}

async function removalsIn(client: KubeClient, signal: AbortSignal): Promise<readonly Removal[]> {
  const removals: Removal[] = [];
  for (const { path, removalFrom: traceIn } of COLLECTIONS) {
    const collection = { path, listsFrom: "quorum" } as const;
    await list(client, { collection, query: { limit: PAGE }, signal }, (items) => {
      for (const item of items) removals.push(...[traceIn(item) ?? []].flat());
    });
  }
  // A write makes kube-controller-manager retry at once to release a deleted claim that protection kept: its back-off may have reached a
  // quarter of an hour.
  return removals.toSorted((one, other) => Number(other.isDeleting === true) - Number(one.isDeleting === true));
}

/** A refused object is read again in the next round: it changed meanwhile, is gone, or the server was overloaded. */
async function remove({ client, logger }: RemovalPorts, removal: Removal, signal: AbortSignal): Promise<void> {
  const { path, body, ...object } = removal;
  const request = { method: "PATCH", path, body, contentType: "application/strategic-merge-patch+json" } as const;
  try {
    await client.request(request, signal);
  } catch (error) {
    if (!(error instanceof MooringError)) throw error;
    // A missing permission will be missing in the next round as well.
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) throw error;
    logger.debug({ ...object, err: error }, "a claim or volume is looked at again");
  }
}
