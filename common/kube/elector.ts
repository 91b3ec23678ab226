import type { Clock } from "../runtime/clock.ts";
import { type Instant, instantOf } from "../runtime/instant.ts";
import { runTogether } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { formatMicroTime } from "../runtime/micro-time.ts";
import { jitter, type Random } from "../runtime/random.ts";
import { type ElectionTiming, longestMs, msUntilFree, type Sighting, sight } from "./election.ts";
import type { Lease, LeaseChange, LeaseStore } from "./lease.ts";
import { LeaseTries } from "./lease-tries.ts";

/** Who takes part in an election, and how. */
export interface ElectorOptions {
  /** Of this process and no other, also no earlier one of its name. */
  readonly identity: string;
  readonly timing: ElectionTiming;
  /** What is written to the Lease for people to read, milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** What a successor has to know; written with each renewal and at the end. */
  readonly handOver?: () => Readonly<Record<string, string>>;
  /** Told of each look at the Lease, and of each write. */
  readonly onSeen?: (lease: Lease) => void;
  /** For how long this process leaves a Lease that is free to others, by what its last holder has left. Milliseconds; none unless told. */
  readonly hesitatesMs?: (lease: Lease) => number;
}

interface ElectorParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly leases: LeaseStore;
}

/** What the Lease's annotations said before it was taken. */
export interface Inheritance {
  readonly annotations: Readonly<Record<string, string>>;
}

/** What one leads with, until the signal is aborted: then all acting must end. */
export type Lead = (inherited: Inheritance, signal: AbortSignal) => Promise<void>;

/** What is known of the election, for people. */
export interface ElectionView {
  readonly isLeading: boolean;
  /** Nobody when empty, or when nothing was read yet. */
  readonly holder: string;
  /** Since when, by the holder's clock. */
  readonly heldSince: string | undefined;
  /** How long ago its last renewal was seen; nothing before the first look. Milliseconds. */
  readonly renewalAgeMs: number | undefined;
  /** Why the last try to read or write the Lease failed. */
  readonly problem: string | undefined;
  /** How many tries to read or write it have ended: there is one every few seconds, whoever leads. */
  readonly tries: number;
}

/** The Lease as this process holds it. */
interface Tenure {
  lease: Lease;
  /** When the last renewal that the API server has confirmed was sent. */
  since: Instant;
  readonly stop: AbortController;
  readonly inherited: Inheritance;
}

/** The field has 32 bits: nobody could take a Lease whose number is the largest already. */
const MOST_TRANSITIONS = 2 ** 31 - 1;
/** Clean ends are to be quick: a Lease that could not be given back in this time runs out. Milliseconds. */
const RELEASE_LIMIT_MS = 2_000;
/** Waits differ by a fifth in either direction, so that standbys do not ask in step. */
const JITTER = 0.2;
/** A standby looks this often while a holder renews once: it is to see within a second or so that a Lease was given back. */
const LOOKS_PER_RENEWAL = 2;

/**
 * Lets one of several processes act at a time, by a Lease, as client-go's leaderelection does, with what that one leaves out: whoever
 * asks whether it may act reads the clock, so that a process that was stopped or a machine that slept does not act before it knows
 * better; the time that counts begins when a renewal is sent; and a Lease is given back only when all acting has ended.
 *
 * Bound: clocks that differ by less than a fifth in their rates, and nobody else who writes or deletes the Lease. What an API server
 * does late of what was sent in time is for the writes' own preconditions.
 */
export class Elector {
  readonly #parts: ElectorParts;
  readonly #options: ElectorOptions;
  #tenure: Tenure | undefined;
  #seen: Sighting | undefined;
  /** The Lease has been seen in other hands since it last was ours. */
  #hadHolder = false;
  /** Since when the Lease has been free, as far as this process has seen. Monotonic. */
  #freeSinceMs: number | undefined;
  readonly #tries: LeaseTries;
  #lastTimeMs = 0;

  constructor(parts: ElectorParts, options: ElectorOptions) {
    this.#parts = parts;
    this.#tries = new LeaseTries(parts);
    this.#options = options;
  }

  /** Whether this process may act at this very moment: to be asked right before each act. */
  mayAct(): boolean {
    if (this.isLeading) return true;
    // Who is about to act first after a pause ends what was going on.
    this.#tenure?.stop.abort("the lease was not renewed in time");
    return false;
  }

  /** The same for who only looks: it changes nothing. */
  get isLeading(): boolean {
    const tenure = this.#tenure;
    return tenure !== undefined && !tenure.stop.signal.aborted && this.#leftMs(tenure) > 0;
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
    while (!signal.aborted) {
      const tenure = await this.#compete(signal);
      if (tenure !== undefined) await this.#serve(tenure, lead, signal);
      await this.#parts.clock.sleep(this.#restMs(), signal);
    }
  }

  async #compete(signal: AbortSignal): Promise<Tenure | undefined> {
    const tenure = await this.#tries.attempt(this.#tryMs, signal, async (limited) => {
      const lease = await this.#parts.leases.read(limited);
      this.#note(lease);
      return this.#isForOthers(lease) ? undefined : await this.#take(lease, limited);
    });
    // An answer may have come too late to be worth anything.
    return tenure !== undefined && this.#leftMs(tenure) > 0 ? tenure : undefined;
  }

  /** Somebody has it, or it is free and somebody who can go on with less ado is to be first. */
  #isForOthers(lease: Lease | undefined): boolean {
    if (this.#untilFreeMs() > 0) {
      this.#freeSinceMs = undefined;
      return true;
    }
    const nowMs = this.#parts.clock.monotonicMs();
    this.#freeSinceMs ??= nowMs;
    return lease !== undefined && nowMs - this.#freeSinceMs < (this.#options.hesitatesMs?.(lease) ?? 0);
  }

  async #take(lease: Lease | undefined, signal: AbortSignal): Promise<Tenure | undefined> {
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

  async #serve(tenure: Tenure, lead: Lead, signal: AbortSignal): Promise<void> {
    const { logger } = this.#parts;
    this.#tenure = tenure;
    logger.info({ identity: this.#options.identity }, "leading from now on");
    const both = AbortSignal.any([signal, tenure.stop.signal]);
    let isLost = false;
    const keep = async (limited: AbortSignal): Promise<void> => {
      await this.#keep(tenure, limited);
      isLost = !limited.aborted;
    };
    try {
      await runTogether([keep, (limited) => lead(tenure.inherited, limited)], both);
    } finally {
      isLost ||= tenure.stop.signal.aborted;
      tenure.stop.abort();
      this.#tenure = undefined;
      if (isLost)
        logger.warn(
          { holder: this.#seen?.lease?.holder, err: this.#tries.problem },
          "no longer leading: the lease was lost",
        );
      else await this.#release(tenure);
    }
  }

  /** Renews until the signal is aborted, the time is over, or somebody else has the Lease. */
  async #keep(tenure: Tenure, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts;
    const { retryMs } = this.#options.timing;
    for (;;) {
      await clock.sleep(Math.min(jitter(random, retryMs, JITTER), this.#leftMs(tenure)), signal);
      if (signal.aborted || !this.mayAct()) return;
      const limitMs = Math.min(this.#tryMs, this.#leftMs(tenure));
      const isKept = await this.#tries.attempt(limitMs, signal, (limited) => this.#renew(tenure, limited));
      if (isKept === false) return;
    }
  }

  /** False when somebody else has it. */
  async #renew(tenure: Tenure, signal: AbortSignal): Promise<boolean> {
    let { since } = tenure;
    const change = (): LeaseChange => {
      since = instantOf(this.#parts.clock);
      return this.#change(this.#options.identity);
    };
    const isKept = await this.#write(tenure, change, signal);
    if (isKept) tenure.since = since;
    return isKept;
  }

  /** Writes as the holder, whoever else has written meanwhile; false when somebody else is the holder. */
  async #write(tenure: Tenure, change: () => LeaseChange, signal: AbortSignal): Promise<boolean> {
    const { leases } = this.#parts;
    const made = await leases.update(tenure.lease, change(), signal);
    // After a conflict: an earlier renewal whose answer was lost, or was not waited for; somebody's annotation; or a successor.
    const lease = made.kind === "written" ? made.lease : await leases.read(signal);
    this.#note(lease);
    if (made.kind !== "written") {
      if (lease?.uid !== tenure.lease.uid || lease.holder !== this.#options.identity) return false;
      tenure.lease = lease;
      return await this.#write(tenure, change, signal);
    }
    tenure.lease = made.lease;
    return true;
  }

  /** All acting has ended: the next one need not wait. */
  async #release(tenure: Tenure): Promise<void> {
    // The outer signal is aborted already.
    const { signal } = new AbortController();
    const change = (): LeaseChange => ({ ...this.#change(""), durationMs: 1_000 });
    const isReleased = await this.#tries.attempt(RELEASE_LIMIT_MS, signal, (limited) =>
      this.#write(tenure, change, limited),
    );
    this.#parts.logger.info({ isReleased: isReleased === true }, "no longer leading: the lease was given back");
  }

  #change(holder: string): LeaseChange {
    const { timing, handOver, nowMs } = this.#options;
    // Two renewals never look the same.
    this.#lastTimeMs = Math.max(Math.floor(nowMs()), this.#lastTimeMs + 1);
    const annotations = holder === "" || this.#tenure !== undefined ? handOver?.() : undefined;
    return { holder, durationMs: timing.durationMs, renewTime: formatMicroTime(this.#lastTimeMs), annotations };
  }

  #note(lease: Lease | undefined): void {
    const { holder } = lease ?? {};
    if (holder !== undefined) this.#hadHolder = holder !== "" && holder !== this.#options.identity;
    this.#seen = sight(this.#seen, lease, instantOf(this.#parts.clock));
    if (lease !== undefined) this.#options.onSeen?.(lease);
  }

  #untilFreeMs(): number {
    const { identity, timing } = this.#options;
    const rule = { identity, durationMs: timing.durationMs, hadHolder: this.#hadHolder };
    return this.#seen === undefined ? 0 : msUntilFree(this.#seen, rule, instantOf(this.#parts.clock));
  }

  /** Until the next look: at the latest when the Lease may be free. */
  #restMs(): number {
    const waitMs = jitter(this.#parts.random, this.#options.timing.retryMs / LOOKS_PER_RENEWAL, JITTER);
    const freeMs = this.#untilFreeMs();
    return freeMs > 0 ? Math.min(waitMs, freeMs) : waitMs;
  }

  #leftMs({ since }: Tenure): number {
    return this.#options.timing.renewDeadlineMs - longestMs(since, instantOf(this.#parts.clock));
  }

  /** A try must leave time for another one. */
  get #tryMs(): number {
    return this.#options.timing.renewDeadlineMs / 2;
  }
}
