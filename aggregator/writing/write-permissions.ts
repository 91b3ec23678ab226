import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import { type Attempts, nextAttempts, restBefore } from "../core/write-back-off.ts";

interface PermissionParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** These claims may be written now. */
  readonly retry: (keys: Iterable<string>) => void;
}

/** What is missing, for people. */
export interface MissingPermission {
  readonly namespaces: readonly string[];
  /** As the API server puts it. */
  readonly message: string;
}

/** A namespace in which a write was forbidden. */
interface Denied {
  /** The one claim that is tried. */
  probe: string;
  attempts: Attempts;
  /** The others, which wait until that one is written. */
  readonly waiting: Set<string>;
}

/**
 * Namespaces in which our account may not write. A missing role is no fault of a claim, so claims get no warning, and one claim is the
 * probe of its namespace: it alone is tried, at growing intervals. A namespace without a role therefore delays no other.
 */
export class WritePermissions {
  readonly #parts: PermissionParts;
  readonly #denied = new Map<string, Denied>();
  #message = "";

  constructor(parts: PermissionParts) {
    this.#parts = parts;
  }

  /** Undefined while no write is forbidden. */
  missing(): MissingPermission | undefined {
    return this.#denied.size === 0 ? undefined : { namespaces: [...this.#denied.keys()], message: this.#message };
  }

  /** How many milliseconds are left until the claim's write may be tried; undefined where another claim is the probe of its namespace. */
  restBefore(key: string): number | undefined {
    const denied = this.#denied.get(namespaceOf(key));
    if (denied === undefined) return 0;
    if (denied.probe === key) return restBefore(denied.attempts, this.#parts.clock.monotonicMs());
    denied.waiting.add(key);
    return undefined;
  }

  /** The API server forbade a write. */
  deny(key: string, message: string): void {
    const { clock, random, logger } = this.#parts;
    const namespace = namespaceOf(key);
    if (this.#denied.size === 0) logger.error({ namespace, err: message }, "no permission to write claim status");
    this.#message = message;
    const denied = this.#denied.get(namespace);
    // Its write was under way when the probe's was forbidden.
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

  /** The API server permitted a write: it permits the others of the namespace, too. */
  grant(key: string): void {
    const namespace = namespaceOf(key);
    const denied = this.#denied.get(namespace);
    if (denied === undefined) return;
    this.#denied.delete(namespace);
    if (this.#denied.size === 0) this.#parts.logger.info({ namespace }, "claim status may be written again");
    this.#parts.retry([denied.probe, ...denied.waiting]);
  }

  /** The claim needs no write any more. If it was the probe, the next one takes its place. */
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
