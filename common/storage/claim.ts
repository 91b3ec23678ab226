import * as v from "valibot";
import { type ClaimStatus, CONDITION_TYPE, readClaimStatus, STAGED_TYPE } from "./claim-status.ts";
import { findStrays, type Stray } from "./claim-strays.ts";
import { parseTimestamp } from "./timestamp.ts";
import { readUpstream, UPSTREAM_TYPE, type UpstreamUnused } from "./upstream-unused.ts";

/** The few fields of a PersistentVolumeClaim that Mooring uses. */
export interface Claim {
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly phase: string;
  readonly isDeleting: boolean;
  /** Only while it is being deleted. */
  readonly deletion?: ClaimDeletion | undefined;
  /** When it was created, rounded down to seconds. */
  readonly createdAtMs?: number | undefined;
  /** UID of the object that controls it: of a generic ephemeral volume's claim, its pod. */
  readonly controllerUid?: string | undefined;
  readonly volume: string | undefined;
  readonly storageClass: string | undefined;
  /** Its actual size, as the API writes it: `10Gi`. */
  readonly capacity: string | undefined;
  /** The status that Mooring has written. */
  readonly status: ClaimStatus | undefined;
  /**
   * It has a condition of Mooring's without a valid status: a forged one, one from before its creation, or one whose partner was
   * removed.
   */
  readonly hasInvalidCondition?: boolean | undefined;
  /** Annotations that contradict the status; they are ignored. */
  readonly strays?: readonly Stray[] | undefined;
  /** Kubernetes' own `Unused` condition (KEP-5541). */
  readonly upstream: UpstreamUnused | undefined;
}

/** The deletion of a claim. */
export interface ClaimDeletion {
  /** When it was requested, rounded down to seconds. */
  readonly requestedAtMs: number | undefined;
  /** What follows the claim's UID in its annotation `mooring.dev/force-release`: the reason to let it go although it is in use. */
  readonly override?: string | undefined;
}

/** Lets a claim go although it is in use. Its value begins with so many characters of the claim's UID. */
export const FORCE_RELEASE = "mooring.dev/force-release";
const OVERRIDE_TOKEN = 8;
/** A reason is cut to this length. Characters. */
const LONGEST_REASON = 256;

const schema = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    creationTimestamp: v.optional(v.string()),
    deletionTimestamp: v.optional(v.string()),
    annotations: v.optional(v.record(v.string(), v.string()), {}),
    managedFields: v.optional(v.unknown()),
    ownerReferences: v.optional(v.array(v.object({ uid: v.string(), controller: v.nullish(v.boolean()) })), []),
  }),
  spec: v.optional(v.object({ volumeName: v.optional(v.string()), storageClassName: v.nullish(v.string()) }), {}),
  status: v.optional(
    v.object({
      phase: v.optional(v.string(), ""),
      capacity: v.nullish(v.object({ storage: v.optional(v.string()) })),
      conditions: v.optional(v.array(v.looseObject({ type: v.string() })), []),
    }),
    {},
  ),
});

/** Projects a claim from the API's JSON. Throws `ValiError` for what is no claim. */
export function projectClaim(object: unknown): Claim {
  const { metadata, spec, status } = v.parse(schema, object);
  const { namespace, name, uid, resourceVersion, deletionTimestamp, annotations, ownerReferences } = metadata;
  const { managedFields } = metadata;
  const conditionOf = (type: string): unknown => status.conditions.find((one) => one.type === type);
  const createdAtMs = parseTimestamp(metadata.creationTimestamp);
  const condition = conditionOf(CONDITION_TYPE);
  const staged = conditionOf(STAGED_TYPE);
  const own = readClaimStatus({ uid, createdAtMs, condition, staged, annotations });
  const strays = findStrays(own, { annotations, managedFields });
  return {
    key: `${namespace}/${name}`,
    uid,
    namespace,
    name,
    resourceVersion,
    phase: status.phase,
    isDeleting: deletionTimestamp !== undefined,
    deletion: deletionOf({ uid, deletionTimestamp, annotations }),
    createdAtMs,
    controllerUid: ownerReferences.find(({ controller }) => controller === true)?.uid,
    volume: spec.volumeName || undefined,
    storageClass: spec.storageClassName || undefined,
    capacity: status.capacity?.storage,
    status: own,
    hasInvalidCondition: (own === undefined && (condition ?? staged) !== undefined) || undefined,
    strays: strays.length === 0 ? undefined : strays,
    upstream: readUpstream(conditionOf(UPSTREAM_TYPE)),
  };
}

/** The policy `mooring-force-release` lets only users with the permission set the annotation. */
function deletionOf(of: {
  readonly uid: string;
  readonly deletionTimestamp: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}): ClaimDeletion | undefined {
  const { uid, deletionTimestamp, annotations } = of;
  if (deletionTimestamp === undefined) return undefined;
  const requestedAtMs = parseTimestamp(deletionTimestamp);
  const release = annotations[FORCE_RELEASE];
  if (release?.startsWith(uid.slice(0, OVERRIDE_TOKEN)) !== true) return { requestedAtMs };
  return { requestedAtMs, override: release.slice(OVERRIDE_TOKEN, OVERRIDE_TOKEN + LONGEST_REASON).trim() };
}
