import type { WriteOutcome } from "../common/kube/apply.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { MooringError } from "../common/runtime/errors.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Random } from "../common/runtime/random.ts";
import type { CapacityPublisher } from "./capacity-publisher.ts";
import type { Keeper } from "./core/keeper.ts";
import type { NodeStorage } from "./node-storage.ts";
import type { OperationMetrics } from "./operation-metrics.ts";
import type { Recorder } from "./recorder.ts";
import type { ClaimWriter } from "./sinks/claim-writer.ts";
import type { VolumeWriter } from "./sinks/volume-writer.ts";
import type { Cluster } from "./sources/cluster.ts";
import type { Live } from "./sources/live.ts";

/** What the work on one volume needs. */
export interface WorkParts {
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly keeper: Keeper;
  readonly storage: NodeStorage;
  readonly cluster: Cluster;
  readonly live: Live;
  readonly volumes: VolumeWriter;
  readonly claims: ClaimWriter;
  readonly capacity: Pick<CapacityPublisher, "publish">;
  readonly recorder: Recorder;
  readonly operationMetrics: OperationMetrics;
  /** The API server's clock. */
  readonly nowMs: () => number;
  /** Evaluates the volume again, at once or after some time. Milliseconds. */
  readonly again: (volume: string, afterMs?: number) => void;
  /** The room of this node has changed. */
  readonly onSpaceChange: () => void;
  /** What an administrator must decide about on this node has changed. */
  readonly onFindings: () => void;
}

/** A failure of the keeper or of its request. The work queue retries. */
export function keeperFailure({ message }: { readonly message: string }): MooringError {
  return new MooringError("keeper-failed", message);
}

/** Throws where a write was not made, so that the work decides again. A deleted object needs no write. */
export function requireApplied(outcome: WriteOutcome): void {
  if (outcome.kind === "conflict" || outcome.kind === "refused")
    throw new MooringError("api-rejected", outcome.message);
}
