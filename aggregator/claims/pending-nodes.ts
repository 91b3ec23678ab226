import { waitsToBeUnused } from "../core/claim-status.ts";

/** The nodes that a claim waited for when it was last decided. */
interface Wait {
  readonly nodes: readonly string[];
  /** The claim would be unused but for them. Otherwise only its message would change. */
  readonly isBlocked: boolean;
}

/** Which claims wait for a report of which nodes. */
export class PendingNodes {
  readonly #waits = new Map<string, Wait>();
  readonly #byNode = new Map<string, Set<string>>();
  readonly #behindBarrier = new Set<string>();

  /** A claim was decided: from now on it waits for these nodes. */
  put(claimKey: string, facts: Parameters<typeof waitsToBeUnused>[0]): void {
    this.forget(claimKey);
    const { pendingNodes } = facts;
    if (facts.isUnwatched) this.#behindBarrier.add(claimKey);
    if (pendingNodes.length === 0) return;
    const nodes = pendingNodes.filter(({ why }) => why !== undefined).map(({ node }) => node);
    this.#waits.set(claimKey, { nodes, isBlocked: waitsToBeUnused(facts) });
    if (nodes.length < pendingNodes.length) this.#behindBarrier.add(claimKey);
    for (const node of nodes) this.#byNode.set(node, (this.#byNode.get(node) ?? new Set()).add(claimKey));
  }

  forget(claimKey: string): void {
    for (const node of this.#waits.get(claimKey)?.nodes ?? []) {
      const keys = this.#byNode.get(node);
      keys?.delete(claimKey);
      if (keys?.size === 0) this.#byNode.delete(node);
    }
    this.#behindBarrier.delete(claimKey);
    this.#waits.delete(claimKey);
  }

  /** Keys of the claims that wait for the node. */
  waitingFor(node: string): readonly string[] {
    return [...(this.#byNode.get(node) ?? [])];
  }

  /** The same, and forgets them: their next decision says what they wait for. */
  takeWaitingFor(node: string): readonly string[] {
    const keys = this.waitingFor(node);
    this.#byNode.delete(node);
    return keys;
  }

  /** Keys of the claims that waited for the barrier, and forgets them: their next decision says what they wait for. */
  takeBehindBarrier(): readonly string[] {
    const keys = [...this.#behindBarrier];
    this.#behindBarrier.clear();
    return keys;
  }

  /** How many claims would be unused but for a pending node. */
  get blocked(): number {
    return [...this.#waits.values()].filter(({ isBlocked }) => isBlocked).length;
  }
}
