import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import { type Attempts, nextAttempts, restBefore } from "../core/write-back-off.ts";

interface PermissionParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The writes of these claims may be tried. */
  readonly retry: (keys: Iterable<string>) => void;
}

/** What is missing, for people. */
export interface MissingPermission {
  readonly namespaces: readonly string[];
  /** The API server's own words. */
  readonly message: string;
}

/** A namespace in which a write was forbidden. */
interface Denied {
  /** The one claim that is tried. */
  probe: string;
  attempts: Attempts;
  /** The others, which wait until that one is let through. */
  readonly waiting: Set<string>;
}

/**
 * Namespaces in which our account may not write. A missing role is no claim's own fault: nothing is said of each, and one claim stands for
 * its namespace. It alone is tried, at growing intervals, so that a namespace without a role delays no other.
 */
export class WritePermissions {
  readonly #parts: PermissionParts;
  readonly #denied = new Map<string, Denied>();
  #message = "";

  constructor(parts: PermissionParts) {
    this.#parts = parts;
  }

  /** Nothing when nothing is known to be missing. */
  missing(): MissingPermission | undefined {
    return this.#denied.size === 0 ? undefined : { namespaces: [...this.#denied.keys()], message: this.#message };
  }

  /** How many milliseconds are left until the claim's write may be tried; nothing where another one stands for its namespace. */
  restBefore(key: string): number | undefined {
    const denied = this.#denied.get(namespaceOf(key));
    if (denied === undefined) return 0;
    if (denied.probe === key) return restBefore(denied.attempts, this.#parts.clock.monotonicMs());
    denied.waiting.add(key);
    return undefined;
  }

  /** A write was forbidden. */
  deny(key: string, message: string): void {
    const { clock, random, logger } = this.#parts;
    const namespace = namespaceOf(key);
    if (this.#denied.size === 0) logger.error({ namespace, err: message }, "no permission to write claim status");
    this.#message = message;
    const denied = this.#denied.get(namespace);
    // It was under way when the first one was forbidden.
    if (denied !== undefined && denied.probe !== key) return;
    const now = {
      outcome: "forbidden",
      atMs: clock.monotonicMs(),
      retryAfterMs: 0,
      jitter: random.fraction(),
    } as const;
    const attempts = nextAttempts(denied?.attempts, now);
    this.#denied.set(namespace, { probe: key, attempts, waiting: denied?.waiting ?? new Set() });
  }

  /** A write was let through: the others of its namespace are, too. */
  grant(key: string): void {
    const namespace = namespaceOf(key);
    const denied = this.#denied.get(namespace);
    if (denied === undefined) return;
    this.#denied.delete(namespace);
    if (this.#denied.size === 0) this.#parts.logger.info({ namespace }, "claim status may be written again");
    this.#parts.retry([denied.probe, ...denied.waiting]);
  }

  /** Nothing has to be written for the claim any more: if it stood for its namespace, the next one does. */
  release(key: string): void {
    const namespace = namespaceOf(key);
    const denied = this.#denied.get(namespace);
    denied?.waiting.delete(key);
    if (denied?.probe !== key) return;
    const [next] = denied.waiting;
    if (next === undefined) return void this.#denied.delete(namespace);
    denied.waiting.delete(next);
    denied.probe = next;
    this.#parts.retry([next]);
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
