import { MooringError } from "../common/runtime/errors.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Findings } from "../common/storage/findings.ts";
import { type CapacityChanges, capacityChanges, desiredCapacities } from "./core/capacity.ts";
import type { LocalNode } from "./core/objects.ts";
import type { NodeStorage } from "./node-storage.ts";
import type { CapacityWriter } from "./sinks/capacity-writer.ts";
import type { Cluster } from "./sources/cluster.ts";

interface PublisherParts {
  readonly logger: Logger;
  readonly cluster: Cluster;
  readonly storage: Pick<NodeStorage, "pools">;
  readonly writer: CapacityWriter;
  readonly findings: () => Findings;
  readonly node: string;
}

/** Publishes this node's free room for the scheduler. What is not known stays as it was published. */
export class CapacityPublisher {
  readonly #parts: PublisherParts;
  #last: Promise<void> = Promise.resolve();

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /**
   * Writes changed objects; with `isExact` also small differences. Calls run one after the other, so that the newest state is written last.
   */
  publish(isExact: boolean, signal: AbortSignal): Promise<void> {
    const next = this.#last.then(() => this.#publish(isExact, signal));
    // A failure belongs to its own caller, not to the next one.
    this.#last = next.catch(() => {});
    return next;
  }

  async #publish(isExact: boolean, signal: AbortSignal): Promise<void> {
    const { cluster, storage, node: name } = this.#parts;
    const node = cluster.nodes.get(name);
    const { classes, capacities } = cluster;
    if (storage.pools === undefined || node === undefined) return;
    if (!classes.hasSynced() || !capacities.hasSynced()) return;
    const input = { classes: [...classes.all()], pools: storage.pools, findings: this.#parts.findings() };
    const desired = desiredCapacities(node, input);
    const changes = capacityChanges([...capacities.all()], desired, isExact);
    await this.#write(changes, node, signal);
  }

  async #write({ create, update, remove }: CapacityChanges, node: LocalNode, signal: AbortSignal): Promise<void> {
    const { writer, logger } = this.#parts;
    const writes = [
      ...remove.map((one) => () => writer.remove(one, signal)),
      ...create.map((one) => () => writer.create(one, node, signal)),
      ...update.map(
        ({ stored, want }) =>
          () =>
            writer.update(stored, want, signal),
      ),
    ];
    for (const write of writes) {
      const outcome = await write();
      // After a conflict, or for a deleted object, the watch delivers the present state.
      if (outcome.kind === "refused") throw new MooringError("api-rejected", outcome.message);
      logger.debug({ outcome: outcome.kind }, "capacity written");
    }
  }
}
