import * as v from "valibot";
import { MooringError } from "../runtime/errors.ts";
import { patchObject, type WriteOutcome } from "./apply.ts";
import { ApiError, type KubeClient } from "./client.ts";

/** A Lease (coordination.k8s.io/v1) by which processes agree on a leader. Its times come from the writers' clocks and are for people. */
export interface Lease {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The holder's identity; empty when the Lease was given back, or never taken. */
  readonly holder: string;
  /** Other candidates leave the Lease alone for this time after they last saw it change. Milliseconds. */
  readonly durationMs: number | undefined;
  readonly acquireTime: string | undefined;
  /** Changes with each renewal. */
  readonly renewTime: string | undefined;
  /** How often the Lease has changed hands. */
  readonly transitions: number;
}

/** The fields to write; omitted fields stay as they are. */
export interface LeaseChange {
  readonly holder: string;
  readonly durationMs: number;
  /** As `formatMicroTime` writes it. */
  readonly acquireTime?: string;
  readonly renewTime: string;
  readonly transitions?: number;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Outcome of a write. After a conflict, another client has written: read the Lease and decide again. */
export type LeaseWrite = { readonly kind: "written"; readonly lease: Lease } | { readonly kind: "conflict" };

/**
 * One Lease on the API server. Rejects with `MooringError` when no answer comes, or the answer is no success. Then the write may or may not
 * have been made.
 */
export interface LeaseStore {
  /** The present Lease, never from a cache; undefined when there is none. */
  readonly read: (signal: AbortSignal) => Promise<Lease | undefined>;
  /** Conflicts when the Lease exists. */
  readonly create: (change: LeaseChange, signal: AbortSignal) => Promise<LeaseWrite>;
  /** Conflicts when the Lease is no longer in exactly that state. */
  readonly update: (lease: Lease, change: LeaseChange, signal: AbortSignal) => Promise<LeaseWrite>;
}

const optionalTime = v.nullish(v.string());
const leaseSchema = v.object({
  metadata: v.object({
    uid: v.pipe(v.string(), v.minLength(1)),
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
    annotations: v.nullish(v.record(v.string(), v.string())),
  }),
  spec: v.nullish(
    v.object({
      holderIdentity: v.nullish(v.string()),
      leaseDurationSeconds: v.nullish(v.number()),
      acquireTime: optionalTime,
      renewTime: optionalTime,
      leaseTransitions: v.nullish(v.number()),
    }),
  ),
});

/** Decodes a Lease. Throws `MooringError` "transport-failed" for anything else: a proxy's page, most likely. */
export function projectLease(object: unknown): Lease {
  const decoded = v.safeParse(leaseSchema, object);
  if (!decoded.success) throw new MooringError("transport-failed", "the answer is no Lease");
  const { metadata, spec } = decoded.output;
  const seconds = spec?.leaseDurationSeconds ?? 0;
  return {
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    annotations: metadata.annotations ?? {},
    holder: spec?.holderIdentity ?? "",
    durationMs: seconds > 0 ? seconds * 1000 : undefined,
    acquireTime: spec?.acquireTime ?? undefined,
    renewTime: spec?.renewTime ?? undefined,
    transitions: spec?.leaseTransitions ?? 0,
  };
}

/** The Lease with this name, written as `fieldManager`, with the UID and the resource version of the state that was read. */
export function createLeaseStore(
  client: KubeClient,
  {
    namespace,
    name,
    fieldManager,
  }: { readonly namespace: string; readonly name: string; readonly fieldManager: string },
): LeaseStore {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const identity = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", path: `${leases}/${name}`, namespace, name };
  return {
    read: async (signal) => {
      const found = await orOn(404, client.request({ method: "GET", path: identity.path }, signal));
      return found === NONE ? undefined : projectLease(found);
    },
    create: async (change, signal) => {
      const { metadata, spec } = fieldsOf(change);
      const body = { apiVersion: identity.apiVersion, kind: identity.kind, metadata: { ...metadata, name }, spec };
      const made = await orOn(
        409,
        client.request({ method: "POST", path: leases, query: { fieldManager }, body }, signal),
      );
      return made === NONE ? { kind: "conflict" } : { kind: "written", lease: projectLease(made) };
    },
    update: async ({ uid, resourceVersion }, change, signal) => {
      const target = { ...identity, uid, resourceVersion };
      return writeOf(await patchObject(client, { target, patch: fieldsOf(change), fieldManager }, signal));
    },
  };
}

const NONE = Symbol("none");

/** The answer, or `NONE` for the one refusal that is an answer, too. */
async function orOn(status: number, answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    // A proxy, and a group that is not served, answer 404 without naming the object.
    if (error instanceof ApiError && error.status === status && error.details.name !== "") return NONE;
    throw error;
  }
}

function fieldsOf({ holder, durationMs, acquireTime, renewTime, transitions, annotations }: LeaseChange) {
  return {
    ...(annotations === undefined ? {} : { metadata: { annotations } }),
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      renewTime,
      ...(acquireTime === undefined ? {} : { acquireTime }),
      ...(transitions === undefined ? {} : { leaseTransitions: transitions }),
    },
  };
}

function writeOf(outcome: WriteOutcome): LeaseWrite {
  if (outcome.kind === "applied") return { kind: "written", lease: projectLease(outcome.object) };
  if (outcome.kind === "refused") {
    const { status, reason, message } = outcome;
    throw new ApiError(`the lease was refused: ${message}`, { status, reason, retryAfterMs: undefined });
  }
  return { kind: "conflict" };
}
