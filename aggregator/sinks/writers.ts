import * as v from "valibot";
import { applyObject, patchObject, type WriteOutcome, type WriteTarget } from "../../common/kube/apply.ts";
import { ApiError, type KubeParts } from "../../common/kube/client.ts";
import type { Stored } from "../../common/kube/store.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { Counter, Metrics } from "../../common/runtime/metrics.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { type ClaimStatus, FIELD_MANAGER, writeClaimStatus, writeStaged } from "../../common/storage/claim-status.ts";
import type { Volume } from "../core/cluster-objects.ts";

export type WriteResult =
  /** The claim after the write. */
  | { readonly kind: "written"; readonly claim: Claim }
  /** The claim has changed since, is gone or was re-created: decide again. */
  | { readonly kind: "stale"; readonly message: string }
  /** The API server rejects the content. */
  | { readonly kind: "refused"; readonly reason: string; readonly message: string }
  /** Our account may not write here, or is not authenticated. `overloaded`, or no answer: the write may be stored. */
  | { readonly kind: "forbidden" | "overloaded" | "failed"; readonly message: string; readonly retryAfterMs: number };

export type WriteFailure = Exclude<WriteResult, { readonly kind: "written" }>;

/** Writes to exactly the claim, and the state of it, that was decided on. */
export type ClaimStatusWriter = ReturnType<typeof createClaimStatusWriter>;

/** What one write takes, on an idle API server and on one that queues requests. Seconds. */
const WRITE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

type WriterParts = Pick<KubeParts, "client" | "clock"> & { readonly metrics: Pick<Metrics, "counter" | "histogram"> };

export function createClaimStatusWriter({ client, clock, metrics }: WriterParts) {
  const writes = outcomes(metrics, "mooring_status_writes_total", "Writes of claim status.");
  const seconds = metrics.histogram({
    name: "mooring_status_write_seconds",
    help: "How long the API server took for a write.",
    buckets: WRITE_SECONDS,
  });
  const counted = async (write: () => Promise<WriteOutcome>, done: "written" | "cleaned"): Promise<WriteResult> => {
    const begunAtMs = clock.monotonicMs();
    const result = await attempt<WriteResult>(write, (object) => ({ kind: "written", claim: projectClaim(object) }));
    seconds.observe({}, (clock.monotonicMs() - begunAtMs) / 1000);
    writes.increment({ outcome: result.kind === "written" ? done : result.kind });
    return result;
  };
  return {
    /** One server-side apply. It removes what it leaves out and Mooring alone owns. */
    apply: (claim: Claim, status: ClaimStatus, signal: AbortSignal): Promise<WriteResult> => {
      const { condition, annotations } = writeClaimStatus(claim.uid, status);
      const conditions = [condition, ...writeStaged(status, claim.status)];
      const fields = { metadata: { annotations }, status: { conditions } };
      const apply = { target: targetOf(claim), fields, options: { fieldManager: FIELD_MANAGER, force: true } };
      return counted(() => applyObject(client, apply, signal), "written");
    },
    /** Removes annotations, also those that other managers own. */
    clean: (claim: Claim, annotations: readonly string[], signal: AbortSignal): Promise<WriteResult> => {
      const removed = Object.fromEntries(annotations.map((annotation) => [annotation, null]));
      const change = { target: targetOf(claim), patch: { metadata: { annotations: removed } } };
      return counted(() => patchObject(client, { ...change, fieldManager: FIELD_MANAGER }, signal), "cleaned");
    },
  };
}

function targetOf({ namespace, name, uid, resourceVersion }: Claim): WriteTarget {
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
  const identity = { path, subresource: "status", namespace, name, uid, resourceVersion } as const;
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", ...identity };
}

export type VolumeWriter = ReturnType<typeof createVolumeWriter>;

/** Changes annotations of exactly the volume, and the state of it, that was decided on; `null` removes one. */
export function createVolumeWriter({ client, metrics }: Omit<WriterParts, "clock">) {
  const writes = outcomes(metrics, "mooring_volume_writes_total", "Writes of annotations of PersistentVolumes.");
  type Changes = Readonly<Record<string, string | null>>;
  return async ({ key, uid, resourceVersion }: Volume & Stored, annotations: Changes, signal: AbortSignal) => {
    const path = `/api/v1/persistentvolumes/${key}`;
    // The subresource leaves the spec alone: a permission for it cannot move or free a volume.
    const identity = { path, subresource: "status", name: key, uid, resourceVersion } as const;
    const target = { apiVersion: "v1", kind: "PersistentVolume", ...identity };
    const patch = { metadata: { annotations } };
    // Unlike an apply it also removes an annotation that another manager owns, such as one from a backup.
    const write = () => patchObject(client, { target, patch, fieldManager: FIELD_MANAGER }, signal);
    const result = await attempt(write, () => ({ kind: "written" }) as const);
    writes.increment({ outcome: result.kind });
    return result;
  };
}

function outcomes(metrics: WriterParts["metrics"], name: `mooring_${string}`, help: string): Counter<"outcome"> {
  return metrics.counter({ name, help, labels: ["outcome"] });
}

/** 0: there was no answer. With 408 and 504 the server says that it got none in time. */
const OVERLOADED: ReadonlySet<number> = new Set([0, 408, 429, 503, 504]);

/** Makes a write. Refusals and failures are values, as the next step depends on them. Throws what is a bug. */
async function attempt<T>(write: () => Promise<WriteOutcome>, done: (object: unknown) => T): Promise<T | WriteFailure> {
  try {
    const outcome = await write();
    if (outcome.kind === "applied") return done(outcome.object);
    if (outcome.kind === "refused") return { ...outcome, reason: outcome.reason || String(outcome.status) };
    return { kind: "stale", message: outcome.message };
  } catch (error) {
    const message = messageOf(error);
    // Most likely the page of a proxy.
    if (v.isValiError(error)) return { kind: "failed", message: `the answer is no claim: ${message}`, retryAfterMs: 0 };
    if (!(error instanceof MooringError)) throw error;
    const { status, retryAfterMs = 0 } = error instanceof ApiError ? error : { status: 0, retryAfterMs: 0 };
    if (status === 401 || status === 403) return { kind: "forbidden", message, retryAfterMs };
    return { kind: OVERLOADED.has(status) ? "overloaded" : "failed", message, retryAfterMs };
  }
}
