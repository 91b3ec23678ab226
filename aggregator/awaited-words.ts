import type { Awaited } from "./core/claim-status.ts";

/** Which claims wait for the word of which nodes. */
export class AwaitedWords {
  readonly #byNode = new Map<string, Set<string>>();
  /** Claims that wait for whichever nodes have not been heard of since the start. */
  readonly #forAny = new Set<string>();

  /** The claim waits for the node, or for any that has not been heard of since the start. */
  await({ node, why }: Awaited, claimKey: string): void {
    const keys = why === undefined ? this.#forAny : (this.#byNode.get(node) ?? new Set());
    keys.add(claimKey);
    if (why !== undefined) this.#byNode.set(node, keys);
  }

  /** Some claim waits for the node's word. */
  isAwaited(node: string): boolean {
    return this.#byNode.has(node);
  }

  /** Keys of the claims that wait for the node's word. */
  waitingFor(node: string): readonly string[] {
    return [...(this.#byNode.get(node) ?? [])];
  }

  /** The same, and they do not any more: whoever looks at them again finds out whether they still do. */
  heard(node: string): readonly string[] {
    const keys = this.waitingFor(node);
    this.#byNode.delete(node);
    return keys;
  }

  /** Keys of the claims that waited for any node, and do not any more. */
  allHeard(): readonly string[] {
    const keys = [...this.#forAny];
    this.#forAny.clear();
    return keys;
  }

  /** Keys of all claims that wait, and of some that did a moment ago. */
  all(): ReadonlySet<string> {
    return new Set([...this.#forAny, ...[...this.#byNode.values()].flatMap((keys) => [...keys])]);
  }
}
