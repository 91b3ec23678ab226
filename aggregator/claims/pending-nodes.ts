import { IndexMap } from "../../common/kube/index-map.ts";
import { waitsToBeUnused } from "../core/claims/decide.ts";

/** Which claims wait for a report of which nodes. Keeps nothing of claims that wait for none: nearly all of a large cluster. */
export class PendingNodes {
  /** By claim key, the nodes that it waited for when it was last decided, and the other way round. */
  readonly #nodes = new Map<string, readonly string[]>();
  readonly #byNode = new IndexMap();
  #behindBarrier = new Set<string>();
  /** Keys of the claims that would be unused but for a pending node. For the others only the message would change. */
  readonly #blocked = new Set<string>();

  /** A claim was decided: from now on it waits for these nodes. */
  put(claimKey: string, facts: Parameters<typeof waitsToBeUnused>[0]): void {
    this.forget(claimKey);
    const { pendingNodes, isUnwatched = false } = facts;
    const nodes = pendingNodes.filter(({ why }) => why !== undefined).map(({ node }) => node);
    if (nodes.length > 0) this.#nodes.set(claimKey, nodes);
    for (const node of nodes) this.#byNode.add(node, claimKey);
    if (isUnwatched || nodes.length < pendingNodes.length) this.#behindBarrier.add(claimKey);
    if (pendingNodes.length > 0 && waitsToBeUnused(facts)) this.#blocked.add(claimKey);
  }

  forget(claimKey: string): void {
    for (const node of this.#nodes.get(claimKey) ?? []) this.#byNode.remove(node, claimKey);
    this.#nodes.delete(claimKey);
    this.#behindBarrier.delete(claimKey);
    this.#blocked.delete(claimKey);
  }

  /** Keys of the claims that wait for the node. */
  waitingFor(node: string): readonly string[] {
    return [...this.#byNode.get(node)];
  }

  /** Keys of the claims that waited for the barrier, and forgets them: their next decision says what they wait for. */
  takeBehindBarrier(): Iterable<string> {
    const keys = this.#behindBarrier;
    this.#behindBarrier = new Set();
    return keys;
  }

  get blocked(): number {
    return this.#blocked.size;
  }
}
