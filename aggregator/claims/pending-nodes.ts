import { waitsToBeUnused } from "../core/claims/decide.ts";

/** Stands for the nodes behind the barrier, and for `UNWATCHED`. */
const BARRIER = "";

/** Which claims wait for a report of which nodes. Keeps nothing of claims that wait for none: nearly all of a large cluster. */
export class PendingNodes {
  /** By node, keys of the claims that waited for it when they were decided. Some may wait no longer: they are decided once more. */
  readonly #waiting = new Map<string, Set<string>>();
  /** Keys of the claims that would be unused but for a pending node. For the others only the message would change. */
  readonly #blocked = new Set<string>();

  /** A claim was decided: from now on it waits for these nodes. */
  put(claimKey: string, facts: Parameters<typeof waitsToBeUnused>[0]): void {
    const nodes = facts.pendingNodes.map(({ node, why }) => (why === undefined ? BARRIER : node));
    for (const node of nodes) this.#waiting.set(node, (this.#waiting.get(node) ?? new Set()).add(claimKey));
    this.#blocked[waitsToBeUnused(facts) ? "add" : "delete"](claimKey);
  }

  forget(claimKey: string): void {
    for (const keys of this.#waiting.values()) keys.delete(claimKey);
    this.#blocked.delete(claimKey);
  }

  /** Keys of the claims that wait for the node. */
  waitingFor(node: string): Iterable<string> {
    return this.#waiting.get(node) ?? [];
  }

  /** The same, and forgets them: their next decision says what they wait for. Without a node, those that wait for the barrier. */
  take(node = BARRIER): Iterable<string> {
    const keys = this.waitingFor(node);
    this.#waiting.delete(node);
    return keys;
  }

  get blocked(): number {
    return this.#blocked.size;
  }
}
