import type { Clock } from "../runtime/clock.ts";
import { type Instant, instantOf } from "../runtime/instant.ts";
import { runTogether } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { formatMicroTime } from "../runtime/micro-time.ts";
import { jitter, type Random } from "../runtime/random.ts";
import { type ElectionTiming, type LeaseObservation, longestMs, msUntilFree, observeLease } from "./election.ts";
import type { Lease, LeaseChange, LeaseStore } from "./lease.ts";
import { LeaseTries } from "./lease-tries.ts";

/** The identity and options of a candidate. */
export interface ElectorOptions {
  /** Unique to this process; an earlier process with the same name has another identity. */
  readonly identity: string;
  readonly timing: ElectionTiming;
  /** The time that is written to the Lease for people to read, milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Annotations for the successor; written with each renewal and at the end. */
  readonly handOver?: () => Readonly<Record<string, string>>;
  /** Called after each read and each write of the Lease. */
  readonly onSeen?: (lease: Lease) => void;
  /**
   * How long this process leaves a free Lease to other candidates, depending on the annotations of its last holder. Milliseconds; default:
   * no wait.
   */
  readonly takeDelayMs?: (lease: Lease) => number;
  /** Resolves when this process can lead. Until then it only observes the Lease, as one that a dead leader left has to expire first. */
  readonly untilReady?: (signal: AbortSignal) => Promise<void>;
}

interface ElectorParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly leases: LeaseStore;
}

/** The Lease's annotations before this process took it. */
export interface Inheritance {
  readonly annotations: Readonly<Record<string, string>>;
}

/** Runs while this process leads. When the signal is aborted, it must stop acting. */
export type Lead = (inherited: Inheritance, signal: AbortSignal) => Promise<void>;

/** State of the election, for people. */
export interface ElectionView {
  readonly isLeading: boolean;
  /** Empty when there is no holder, or before the first read. */
  readonly holder: string;
  /** Since when, by the holder's clock. */
  readonly heldSince: string | undefined;
  /** Age of the last observed renewal; undefined before the first read. Milliseconds. */
  readonly renewalAgeMs: number | undefined;
  /** Why the last read or write of the Lease failed. */
  readonly problem: string | undefined;
  /** Number of finished reads and writes of the Lease: leader and standby make one every few seconds. */
  readonly tries: number;
}

/** The Lease as this process holds it. */
interface HeldLease {
  lease: Lease;
  /** When the last confirmed renewal was sent. */
  since: Instant;
  readonly stop: AbortController;
  readonly inherited: Inheritance;
}

/** The field has 32 bits: a Lease at the maximum could never be taken again. */
const MOST_TRANSITIONS = 2 ** 31 - 1;
/** A clean stop must be quick: a Lease that cannot be given back in this time expires. Milliseconds. */
const RELEASE_LIMIT_MS = 2_000;
/** Waits vary by a fifth in either direction, so that standbys do not send requests in step. */
const JITTER = 0.2;
/** A standby reads the Lease this often per renewal interval, so that it notices within about a second that a Lease was given back. */
const READS_PER_RENEWAL = 2;

/**
 * Leader election by a Lease, like client-go's leaderelection but stricter:
 * - `mayAct` reads the clock, so that a process that was stopped, or a machine that slept, does not act on an expired Lease;
 * - the leader's time counts from when a renewal is sent;
 * - the leader gives the Lease back only after all its acting has ended.
 *
 * Assumes that the clocks' rates differ by less than a fifth, and that no other program writes or deletes the Lease. The API server may
 * carry out a write late that was sent in time: the write's own preconditions guard against that.
 */
export class Elector {
  readonly #parts: ElectorParts;
  readonly #options: ElectorOptions;
  #held: HeldLease | undefined;
  #seen: LeaseObservation | undefined;
  /** Another process has held the Lease since this process last held it. */
  #hadOtherHolder = false;
  /** Since when the Lease has been free, as far as this process has observed. Monotonic. */
  #freeSinceMs: number | undefined;
  readonly #tries: LeaseTries;
  #lastTimeMs = 0;

  constructor(parts: ElectorParts, options: ElectorOptions) {
    this.#parts = parts;
    this.#tries = new LeaseTries(parts);
    this.#options = options;
  }

  /** Whether this process may act at this moment. Callers check it right before each act. */
  mayAct(): boolean {
    if (this.isLeading) return true;
    // After a pause in which the Lease expired, the first check ends the leader session.
    this.#held?.stop.abort("the lease was not renewed in time");
    return false;
  }

  /** Like `mayAct`, but for readers: it changes nothing. */
  get isLeading(): boolean {
    const held = this.#held;
    return held !== undefined && !held.stop.signal.aborted && this.#leftMs(held) > 0;
  }

  view(): ElectionView {
    const { lease, since } = this.#seen ?? {};
    return {
      isLeading: this.isLeading,
      holder: lease?.holder ?? "",
      heldSince: lease?.acquireTime,
      renewalAgeMs: since && longestMs(since, instantOf(this.#parts.clock)),
      problem: this.#tries.problem,
      tries: this.#tries.ended,
    };
  }

  /** Competes, and leads whenever it wins, until the signal is aborted. Rejects as soon as `lead` does. */
  async run(lead: Lead, signal: AbortSignal): Promise<void> {
    await this.#observeUntilReady(signal);
    while (!signal.aborted) {
      const held = await this.#compete(signal);
      if (held !== undefined) await this.#serve(held, lead, signal);
      await this.#parts.clock.sleep(this.#restMs(), signal);
    }
  }

  async #observeUntilReady(signal: AbortSignal): Promise<void> {
    const { untilReady } = this.#options;
    if (untilReady === undefined) return;
    const ready = new AbortController();
    const observe = async (limited: AbortSignal): Promise<void> => {
      const both = AbortSignal.any([limited, ready.signal]);
      while (!both.aborted) {
        await this.#tries.attempt(this.#tryMs, both, async (one) => this.#note(await this.#parts.leases.read(one)));
        await this.#parts.clock.sleep(this.#options.timing.retryMs / READS_PER_RENEWAL, both);
      }
    };
    await runTogether([(limited) => untilReady(limited).finally(() => ready.abort()), observe], signal);
  }

  async #compete(signal: AbortSignal): Promise<HeldLease | undefined> {
    const held = await this.#tries.attempt(this.#tryMs, signal, async (limited) => {
      const lease = await this.#parts.leases.read(limited);
      this.#note(lease);
      return this.#isForOthers(lease) ? undefined : await this.#take(lease, limited);
    });
    // An answer may have come too late to be of use.
    return held !== undefined && this.#leftMs(held) > 0 ? held : undefined;
  }

  /** Another process holds the Lease; or it is free, but this process waits first for a candidate that can continue with less work. */
  #isForOthers(lease: Lease | undefined): boolean {
    if (this.#untilFreeMs() > 0) {
      this.#freeSinceMs = undefined;
      return true;
    }
    const nowMs = this.#parts.clock.monotonicMs();
    this.#freeSinceMs ??= nowMs;
    return lease !== undefined && nowMs - this.#freeSinceMs < (this.#options.takeDelayMs?.(lease) ?? 0);
  }

  async #take(lease: Lease | undefined, signal: AbortSignal): Promise<HeldLease | undefined> {
    const { leases, clock } = this.#parts;
    const { identity } = this.#options;
    const since = instantOf(clock);
    const base = this.#change(identity);
    const { holder = "", transitions = 0 } = lease ?? {};
    const isOther = holder !== identity && lease?.acquireTime !== undefined;
    const change = {
      ...base,
      acquireTime: base.renewTime,
      transitions: Math.min(transitions + (isOther ? 1 : 0), MOST_TRANSITIONS),
    };
    const made = await (lease === undefined ? leases.create(change, signal) : leases.update(lease, change, signal));
    if (made.kind === "conflict") return undefined;
    this.#note(made.lease);
    const inherited = { annotations: lease?.annotations ?? {} };
    return { lease: made.lease, since, stop: new AbortController(), inherited };
  }

  async #serve(held: HeldLease, lead: Lead, signal: AbortSignal): Promise<void> {
    const { logger } = this.#parts;
    this.#held = held;
    logger.info({ identity: this.#options.identity }, "leading from now on");
    const both = AbortSignal.any([signal, held.stop.signal]);
    let isLost = false;
    const renewLoop = async (limited: AbortSignal): Promise<void> => {
      await this.#renewLoop(held, limited);
      isLost = !limited.aborted;
    };
    try {
      await runTogether([renewLoop, (limited) => lead(held.inherited, limited)], both);
    } finally {
      isLost ||= held.stop.signal.aborted;
      held.stop.abort();
      this.#held = undefined;
      if (isLost)
        logger.warn(
          { holder: this.#seen?.lease?.holder, err: this.#tries.problem },
          "no longer leading: the lease was lost",
        );
      else await this.#release(held);
    }
  }

  /** Renews until the signal is aborted, the time is over, or another process holds the Lease. */
  async #renewLoop(held: HeldLease, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts;
    const { retryMs } = this.#options.timing;
    for (;;) {
      await clock.sleep(Math.min(jitter(random, retryMs, JITTER), this.#leftMs(held)), signal);
      if (signal.aborted || !this.mayAct()) return;
      const limitMs = Math.min(this.#tryMs, this.#leftMs(held));
      const isHeld = await this.#tries.attempt(limitMs, signal, (limited) => this.#renew(held, limited));
      if (isHeld === false) return;
    }
  }

  /** False when another process holds the Lease. */
  async #renew(held: HeldLease, signal: AbortSignal): Promise<boolean> {
    let { since } = held;
    const change = (): LeaseChange => {
      since = instantOf(this.#parts.clock);
      return this.#change(this.#options.identity);
    };
    const isHeld = await this.#write(held, change, signal);
    if (isHeld) held.since = since;
    return isHeld;
  }

  /** Writes as the holder, also after another client has changed the Lease; false when another process is the holder. */
  async #write(held: HeldLease, change: () => LeaseChange, signal: AbortSignal): Promise<boolean> {
    const { leases } = this.#parts;
    const made = await leases.update(held.lease, change(), signal);
    // A conflict has one of three causes: an earlier renewal whose answer was lost or came late, an annotation by another client, or a
    // successor.
    const lease = made.kind === "written" ? made.lease : await leases.read(signal);
    this.#note(lease);
    if (made.kind !== "written") {
      if (lease?.uid !== held.lease.uid || lease.holder !== this.#options.identity) return false;
      held.lease = lease;
      return await this.#write(held, change, signal);
    }
    held.lease = made.lease;
    return true;
  }

  /** All acting has ended, so the successor need not wait. */
  async #release(held: HeldLease): Promise<void> {
    // The outer signal is aborted already.
    const { signal } = new AbortController();
    const change = (): LeaseChange => ({ ...this.#change(""), durationMs: 1_000 });
    const isReleased = await this.#tries.attempt(RELEASE_LIMIT_MS, signal, (limited) =>
      this.#write(held, change, limited),
    );
    this.#parts.logger.info({ isReleased: isReleased === true }, "no longer leading: the lease was given back");
  }

  #change(holder: string): LeaseChange {
    const { timing, handOver, nowMs } = this.#options;
    // Two renewals always differ.
    this.#lastTimeMs = Math.max(Math.floor(nowMs()), this.#lastTimeMs + 1);
    const annotations = holder === "" || this.#held !== undefined ? handOver?.() : undefined;
    return { holder, durationMs: timing.durationMs, renewTime: formatMicroTime(this.#lastTimeMs), annotations };
  }

  #note(lease: Lease | undefined): void {
    const { holder } = lease ?? {};
    if (holder !== undefined) this.#hadOtherHolder = holder !== "" && holder !== this.#options.identity;
    this.#seen = observeLease(this.#seen, lease, instantOf(this.#parts.clock));
    if (lease !== undefined) this.#options.onSeen?.(lease);
  }

  #untilFreeMs(): number {
    const { identity, timing } = this.#options;
    const rule = { identity, durationMs: timing.durationMs, hadOtherHolder: this.#hadOtherHolder };
    return this.#seen === undefined ? 0 : msUntilFree(this.#seen, rule, instantOf(this.#parts.clock));
  }

  /** Time until the next read: at the latest when the Lease may be free. */
  #restMs(): number {
    const waitMs = jitter(this.#parts.random, this.#options.timing.retryMs / READS_PER_RENEWAL, JITTER);
    const freeMs = this.#untilFreeMs();
    return freeMs > 0 ? Math.min(waitMs, freeMs) : waitMs;
  }

  #leftMs({ since }: HeldLease): number {
    return this.#options.timing.renewDeadlineMs - longestMs(since, instantOf(this.#parts.clock));
  }

  /** Leaves time for a second try before the deadline. */
  get #tryMs(): number {
    return this.#options.timing.renewDeadlineMs / 2;
  }
}
