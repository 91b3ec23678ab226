import type { Owner } from "../rig/process/owner.ts";
import type { Mortal } from "./process.ts";
import type { Kill, Victim } from "./record.ts";

const LOOK_MS = 50;

/** Who is who at the moment; nothing where nobody is to be killed: nobody leads, or he is down already. */
export type Cast = (victim: Victim) => Mortal | undefined;

/** How somebody is killed. */
export interface Sentence {
  /** How long whoever was down may run before, milliseconds. */
  readonly lateMs: number;
  /** Resolves when he may come back. */
  readonly over: () => Promise<void>;
}

/** Kills processes and lets them come back. Whoever is down is waited for and killed then: in the middle of his start, too. */
export class Killer {
  readonly #owner: Pick<Owner, "clock" | "signal">;
  readonly #cast: Cast;
  readonly #onKill: (kill: Kill) => void;
  readonly #running = new Set<Promise<void>>();
  readonly #dying = new Set<Mortal>();
  #failure: unknown;

  constructor(
    owner: Pick<Owner, "clock" | "signal">,
    { cast, onKill }: { readonly cast: Cast; readonly onKill: (kill: Kill) => void },
  ) {
    this.#owner = owner;
    this.#cast = cast;
    this.#onKill = onKill;
  }

  /**
   * Kills all at once, and starts all when `over` resolves; returns when they are killed. Where one was down, all wait `lateMs` more from
   * the moment at which all run again: a start has many moments to be killed at.
   */
  async kill(victims: readonly Victim[], { lateMs, over }: Sentence): Promise<void> {
    const { clock, signal } = this.#owner;
    let found = this.#find(victims);
    while (found === undefined && !signal.aborted) {
      await clock.sleep(LOOK_MS, signal);
      if (this.#find(victims) === undefined) continue;
      await clock.sleep(lateMs, signal);
      found = this.#find(victims);
    }
    if (found === undefined) return;
    // Whoever waits for one of them, too, waits on: nobody dies twice at a time.
    for (const { mortal } of found) this.#dying.add(mortal);
    // All are signalled before one is waited for.
    const killed = await Promise.all(found.map(({ mortal }) => mortal.kill()));
    found.forEach(({ victim, mortal: { name } }, index) => {
      this.#onKill({ victim, name, atMs: killed[index] ?? clock.wallMs() });
    });
    for (const { mortal } of found) this.#dying.delete(mortal);
    const mortals = found.map(({ mortal }) => mortal);
    this.#keep(over().then(async () => void (await Promise.all(mortals.map((mortal) => this.#restart(mortal))))));
  }

  /** Does something without waiting for it; `settled` does, and tells of its failure. */
  inBackground(task: Promise<void>): void {
    this.#keep(task);
  }

  /** Waits until all that was begun is done. Rejects when something of it failed. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #keep(task: Promise<void>): void {
    const kept: Promise<void> = task
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .then(() => void this.#running.delete(kept));
    this.#running.add(kept);
  }

  async #restart(mortal: Mortal): Promise<void> {
    if (!this.#owner.signal.aborted) await mortal.start();
  }

  /** All of them, each another one; nothing as long as one is missing. */
  #find(victims: readonly Victim[]): readonly { readonly victim: Victim; readonly mortal: Mortal }[] | undefined {
    const found = victims.flatMap((victim) => {
      const mortal = this.#cast(victim);
      return mortal?.isRunning() === true && !this.#dying.has(mortal) ? [{ victim, mortal }] : [];
    });
    return found.length === victims.length ? found : undefined;
  }
}
