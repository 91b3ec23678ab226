import * as v from "valibot";
import { applyObject, patchObject, type WriteOutcome, type WriteTarget } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { Counter, Histogram } from "../../common/runtime/metrics.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { type ClaimStatus, FIELD_MANAGER, writeClaimStatus, writeStaged } from "../../common/storage/claim-status.ts";
import { type UpstreamShare, writeUpstream } from "../../common/storage/upstream-unused.ts";

/** What became of a write. */
export type WriteResult =
  /** The claim as it is now. */
  | { readonly kind: "written"; readonly claim: Claim }
  /** It has changed since, or is gone or re-created: look again and decide again. */
  | { readonly kind: "stale"; readonly message: string }
  /** The API server will not take it, however often it is sent. */
  | { readonly kind: "refused"; readonly reason: string; readonly message: string }
  /** Our account may not write here, or not at all. */
  | { readonly kind: "forbidden"; readonly message: string }
  /** More than the API server takes, or no answer in time: whether it was written is not known. */
  | { readonly kind: "overloaded"; readonly message: string; readonly retryAfterMs: number }
  | { readonly kind: "failed"; readonly message: string; readonly retryAfterMs: number };

/** Every result but success. */
export type WriteFailure = Exclude<WriteResult, { readonly kind: "written" }>;

/** What is applied: our condition and annotations, and our share of Kubernetes' own condition. */
export interface AppliedStatus {
  readonly status: ClaimStatus;
  readonly upstream: UpstreamShare;
}

/** Writes to exactly the claim, in exactly the state, that was decided on. */
export interface ClaimStatusWriter {
  /** One server-side apply; what it leaves out and only we own is removed. */
  readonly apply: (claim: Claim, applied: AppliedStatus, signal: AbortSignal) => Promise<WriteResult>;
  /** Removes annotations, whoever owns them. */
  readonly clean: (claim: Claim, annotations: readonly string[], signal: AbortSignal) => Promise<WriteResult>;
}

interface WriterParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly writes: Counter<"outcome">;
  readonly seconds: Histogram;
}

export function createClaimStatusWriter(parts: WriterParts): ClaimStatusWriter {
  const { client, writes } = parts;
  const told = async (asked: Promise<WriteResult>, done: "written" | "cleaned"): Promise<WriteResult> => {
    const begunAtMs = parts.clock.monotonicMs();
    const result = await asked;
    parts.seconds.observe({}, (parts.clock.monotonicMs() - begunAtMs) / 1000);
    writes.increment({ outcome: result.kind === "written" ? done : result.kind });
    return result;
  };
  return {
    apply: (claim, applied, signal) => {
      const options = { fieldManager: FIELD_MANAGER, force: true };
      const apply = { target: targetOf(claim), fields: fieldsOf(claim, applied), options };
      return told(
        answered(async () => resultOf(await applyObject(client, apply, signal))),
        "written",
      );
    },
    clean: (claim, annotations, signal) => {
      const removed = Object.fromEntries(annotations.map((annotation) => [annotation, null]));
      const change = { target: targetOf(claim), patch: { metadata: { annotations: removed } } };
      const patch = { ...change, fieldManager: FIELD_MANAGER };
      return told(
        answered(async () => resultOf(await patchObject(client, patch, signal))),
        "cleaned",
      );
    },
  };
}

function targetOf({ namespace, name, uid, resourceVersion }: Claim): WriteTarget {
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
  const identity = { path, subresource: "status", namespace, name, uid, resourceVersion } as const;
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", ...identity };
}

function fieldsOf(
  { uid, status: stored }: Claim,
  { status, upstream }: AppliedStatus,
): Parameters<typeof applyObject>[1]["fields"] {
  const { condition, annotations } = writeClaimStatus(uid, status);
  return {
    metadata: { annotations },
    status: { conditions: [condition, ...writeStaged(status, stored), ...writeUpstream(status, upstream)] },
  };
}

function resultOf(outcome: WriteOutcome): WriteResult {
  return outcome.kind === "applied" ? { kind: "written", claim: projectClaim(outcome.object) } : refusalOf(outcome);
}

/** What the API server's no means. */
export function refusalOf(outcome: Exclude<WriteOutcome, { readonly kind: "applied" }>): WriteFailure {
  if (outcome.kind === "refused") return { ...outcome, reason: outcome.reason || String(outcome.status) };
  return { kind: "stale", message: outcome.message };
}

/** 408 and 504 are the server's own word for no answer in time. */
const OVERLOADED: ReadonlySet<number> = new Set([408, 429, 503, 504]);

/** Failures as values: what comes next depends on them. */
export async function answered<T extends WriteResult | { readonly kind: "written" }>(
  ask: () => Promise<T>,
): Promise<T | WriteFailure> {
  try {
    return await ask();
  } catch (error) {
    return failureOf(error);
  }
}

/** What an error means that came instead of an answer. Throws what is a bug. */
function failureOf(error: unknown): WriteFailure {
  const message = messageOf(error);
  // A proxy's page, most likely.
  if (v.isValiError(error)) return { kind: "failed", message: `the answer is no claim: ${message}`, retryAfterMs: 0 };
  if (error instanceof ApiError) {
    const { status, retryAfterMs = 0 } = error;
    if (status === 401 || status === 403) return { kind: "forbidden", message };
    return { kind: OVERLOADED.has(status) ? "overloaded" : "failed", message, retryAfterMs };
  }
  if (!(error instanceof MooringError)) throw error;
  return { kind: "overloaded", message, retryAfterMs: 0 };
}
