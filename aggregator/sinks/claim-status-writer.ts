import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { type ClaimStatus, writeClaimStatus } from "../../common/storage/claim-status.ts";

/** The field manager that owns our condition and annotations. */
export const FIELD_MANAGER = "mooring-aggregator";

/** Writes a claim's status. */
export interface ClaimStatusWriter {
  /**
   * Applies the status to exactly the claim that it was decided for; answers the claim as it is now, or nothing when it is gone
   * or was re-created. Throws `ApiError` 409 when the claim has changed since: then decide again.
   */
  readonly apply: (claim: Claim, status: ClaimStatus, signal: AbortSignal) => Promise<Claim | undefined>;
}

interface WriterParts {
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly writes: Counter<"outcome">;
}

export function createClaimStatusWriter({ client, logger, writes }: WriterParts): ClaimStatusWriter {
  return {
    apply: async (claim, status, signal) => {
      try {
        const written = projectClaim(await client.request(applyRequest(claim, status), signal));
        writes.increment({ outcome: "written" });
        return written;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        writes.increment({ outcome: String(error.status) });
        // Gone, or another claim of that name by now: its own events bring it back here.
        if (error.status === 404 || error.status === 422) {
          logger.info(
            { claim: claim.key, status: error.status, err: error.message },
            "claim is no longer the one decided for",
          );
          return undefined;
        }
        throw error;
      }
    },
  };
}

/**
 * A server-side apply with the UID and the resource version that the decision was made on: without them it would land on a
 * re-created claim, or overwrite what somebody newer wrote.
 */
function applyRequest(
  { namespace, name, uid, resourceVersion }: Claim,
  status: ClaimStatus,
): Parameters<KubeClient["request"]>[0] {
  const { condition, annotations } = writeClaimStatus(uid, status);
  return {
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}/status`,
    query: { fieldManager: FIELD_MANAGER, force: "true" },
    contentType: "application/apply-patch+yaml",
    body: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { namespace, name, uid, resourceVersion, annotations },
      status: { conditions: [condition] },
    },
  };
}
