import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { ErrorRecorder } from "../../common/runtime/internal-errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import { isStillMounted, type RemovalCause, type RemovedClaim } from "../core/deletion.ts";
import type { NodeView } from "../core/node-view.ts";
import type { ClaimWarnings } from "./claim-warnings.ts";

/** In an ordinary deletion the reports of unmount and unstage arrive within this. Milliseconds. */
const GRACE_MS = 10_000;

interface RemovedParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly errors: ErrorRecorder;
  readonly warnings: Pick<ClaimWarnings, "tell">;
  readonly viewOf: (node: string) => NodeView | undefined;
  readonly isReporting: (node: string) => boolean;
  readonly onRemoved: (cause: RemovalCause) => void;
}

/**
 * Claims that are gone although a node reported them mounted. The aggregator warns once, when a later scan of a reporting node still
 * shows the mount. What a node without reports has mounted is unknown.
 */
export class RemovedClaims {
  readonly #parts: RemovedParts;
  readonly #queue: WorkQueue;
  /** By UID. An entry goes when its nodes have reported, or no longer count as Reporting. */
  readonly #removed = new Map<string, RemovedClaim>();

  constructor(parts: RemovedParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue(parts);
  }

  add(removed: RemovedClaim): void {
    const { uid } = removed.claim;
    this.#removed.set(uid, removed);
    this.#queue.addAfter(uid, GRACE_MS);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(async (uid) => this.#look(uid), signal);
  }

  #look(uid: string): void {
    const removed = this.#removed.get(uid);
    if (removed === undefined) return;
    const { viewOf, isReporting, warnings, onRemoved } = this.#parts;
    const views = new Map(
      removed.mounts.filter(({ node }) => isReporting(node)).map(({ node }) => [node, viewOf(node)]),
    );
    const answers = new Map([...views].map(([node, view]) => [node, view && isStillMounted(removed, view)]));
    const mounts = removed.mounts.filter(({ node }) => answers.get(node) === true);
    if (mounts.length === 0 && [...answers.values()].includes(undefined)) {
      this.#queue.addAfter(uid, GRACE_MS);
      return;
    }
    this.#removed.delete(uid);
    if (mounts.length === 0) return;
    onRemoved(removed.cause);
    warnings.tell(removed.claim, { kind: "removed-while-mounted", mounts, cause: removed.cause });
  }
}
