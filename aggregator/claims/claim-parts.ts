import type { QueueObserver } from "../../common/kube/work-queue.ts";
import type { ProtectionMode, RemovalCause } from "../core/claims/deletion.ts";
import type { Unobserved } from "../core/claims/gap.ts";
import type { UpstreamPolicy } from "../core/claims/write.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Barrier } from "../pod-watch/barrier.ts";
import type { EndedPods } from "../pod-watch/ended-pods.ts";
import type { SharedParts } from "../sources/cluster.ts";
import type { ClaimWriterParts } from "../writing/claim-writer.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";

/** What the work on the claims of a leader session needs. */
export interface ClaimParts extends SharedParts, Omit<ClaimWriterParts, "onWritten"> {
  readonly fleet: FleetState;
  readonly barrier: Pick<Barrier, "pendingNode" | "onUnwatched">;
  readonly agentStates: Pick<AgentStates, "of" | "lookFor" | "assumedEnd">;
  readonly unstored: UnstoredClaims;
  readonly ends: Pick<EndedPods, "of" | "isOpen" | "isIncluded">;
  readonly policy: () => UpstreamPolicy;
  readonly queues: Readonly<Record<"claims", QueueObserver>>;
  /** Runs before each decision, so that the decision takes into account that pods were listed anew. */
  readonly onDecision: () => void;
  /** When a claim with this volume may have been used unobserved. */
  readonly unobservedOf: (volume: Volume | undefined) => Unobserved;
  /** What the cluster's policies do with a deleted claim that is mounted. */
  readonly protection: ProtectionMode;
  /** A claim is gone while a node has it mounted. */
  readonly onRemoved: (cause: RemovalCause) => void;
}
