import { createBackOff } from "../../common/kube/back-off.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";

interface RightsParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What is missing, for people. */
export interface MissingRight {
  readonly namespaces: readonly string[];
  /** The API server's own words. */
  readonly message: string;
}

/** A role that is missing is made by somebody who waits for it to work: looked at once a minute at least. */
const PROBE = { firstMs: 1_000, maxMs: 60_000 };
const LONGEST_IDLE_MS = 3_600_000;

/**
 * Namespaces in which our account may not write, and the claims that wait there. No role is no claim's own fault: nothing is said
 * of each, and just one of them is tried at a time, at growing intervals, until one is let through.
 */
export class WriteRights {
  readonly #parts: RightsParts;
  readonly #retry: (key: string) => void;
  readonly #held = new Map<string, Set<string>>();
  #message = "";
  #probe: string | undefined;
  #woken = new AbortController();

  constructor(parts: RightsParts, retry: (key: string) => void) {
    this.#parts = parts;
    this.#retry = retry;
  }

  /** Nothing when nothing is known to be missing. */
  missing(): MissingRight | undefined {
    return this.#held.size === 0 ? undefined : { namespaces: [...this.#held.keys()], message: this.#message };
  }

  /** True when the claim has to wait: its namespace is one of those. */
  holds(key: string): boolean {
    if (key === this.#probe) return false;
    const held = this.#held.get(namespaceOf(key));
    held?.add(key);
    return held !== undefined;
  }

  /** A write was forbidden. */
  deny(key: string, message: string): void {
    const namespace = namespaceOf(key);
    if (this.#held.size === 0) this.#parts.logger.error({ namespace, err: message }, "no right to write claim status");
    this.#held.set(namespace, (this.#held.get(namespace) ?? new Set()).add(key));
    this.#message = message;
    this.#probe = undefined;
    this.#woken.abort();
  }

  /** A write was let through: where one is, the others may be as well. */
  grant(key: string): void {
    if (!this.#held.has(namespaceOf(key))) return;
    const keys = [...this.#held.values()].flatMap((held) => [...held]);
    this.#held.clear();
    this.#probe = undefined;
    this.#parts.logger.info({ claims: keys.length }, "claim status may be written again");
    for (const one of keys) this.#retry(one);
  }

  /** Nothing has to be written for the claim any more. */
  release(key: string): void {
    const namespace = namespaceOf(key);
    const held = this.#held.get(namespace);
    held?.delete(key);
    if (held?.size === 0) this.#held.delete(namespace);
    if (this.#probe === key) this.#probe = undefined;
  }

  /** Tries one claim at a time as long as any wait, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts;
    const backOff = createBackOff(random, PROBE);
    while (!signal.aborted) {
      this.#woken = new AbortController();
      const held = this.#held.values().next().value;
      if (held === undefined) {
        backOff.reset();
        await clock.sleep(LONGEST_IDLE_MS, AbortSignal.any([signal, this.#woken.signal]));
        continue;
      }
      await clock.sleep(backOff.next(undefined), signal);
      this.#tryOne();
    }
  }

  #tryOne(): void {
    const first = this.#held.entries().next().value;
    if (first === undefined) return;
    const [namespace, keys] = first;
    // The next time it is another namespace's turn: roles may be bound in some of them only. And another claim's: this one may have
    // nothing to write any more.
    this.#held.delete(namespace);
    this.#held.set(namespace, keys);
    const probe = keys.values().next().value;
    this.#probe = probe;
    if (probe === undefined) return;
    keys.delete(probe);
    keys.add(probe);
    this.#retry(probe);
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
