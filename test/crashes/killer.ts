import type { Owner } from "../rig/process/owner.ts";
import type { KillableProcess } from "./process.ts";
import type { Kill, Victim } from "./record.ts";

const POLL_MS = 50;

/** The present process of a role; undefined where no replica leads, or the process is down already. */
export type FindVictim = (victim: Victim) => KillableProcess | undefined;

/** The times of a kill. */
export interface KillOptions {
  /** A process that was down runs this long before the kill. Milliseconds. */
  readonly lateMs: number;
  /** Resolves when the process may restart. */
  readonly over: () => Promise<void>;
}

/** Kills processes and restarts them. It waits for a process that is down and then kills it, also during its start. */
export class Killer {
  readonly #owner: Pick<Owner, "clock" | "signal">;
  readonly #findVictim: FindVictim;
  readonly #onKill: (kill: Kill) => void;
  readonly #running = new Set<Promise<void>>();
  readonly #dying = new Set<KillableProcess>();
  #failure: unknown;

  constructor(
    owner: Pick<Owner, "clock" | "signal">,
    { findVictim, onKill }: { readonly findVictim: FindVictim; readonly onKill: (kill: Kill) => void },
  ) {
    this.#owner = owner;
    this.#findVictim = findVictim;
    this.#onKill = onKill;
  }

  /**
   * Kills all victims at once and returns; it restarts them when `over` resolves. Where one was down, it first waits until all run, and
   * then `lateMs` longer: so kills hit many moments of a start.
   */
  async kill(victims: readonly Victim[], { lateMs, over }: KillOptions): Promise<void> {
    const { clock, signal } = this.#owner;
    let found = this.#find(victims);
    while (found === undefined && !signal.aborted) {
      await clock.sleep(POLL_MS, signal);
      if (this.#find(victims) === undefined) continue;
      await clock.sleep(lateMs, signal);
      found = this.#find(victims);
    }
    if (found === undefined) return;
    // Other kills that wait for one of them keep waiting: no process dies twice at a time.
    for (const { target } of found) this.#dying.add(target);
    // Signals all of them before it waits for one.
    const killed = await Promise.all(found.map(({ target }) => target.kill()));
    found.forEach(({ victim, target: { name } }, index) => {
      this.#onKill({ victim, name, atMs: killed[index] ?? clock.wallMs() });
    });
    for (const { target } of found) this.#dying.delete(target);
    const processes = found.map(({ target }) => target);
    this.#keep(over().then(async () => void (await Promise.all(processes.map((target) => this.#restart(target))))));
  }

  /** Runs a task in the background; `settled` waits for it and rejects when it failed. */
  inBackground(task: Promise<void>): void {
    this.#keep(task);
  }

  /** Waits until all background tasks are done. Rejects when one failed. */
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

  async #restart(target: KillableProcess): Promise<void> {
    if (!this.#owner.signal.aborted) await target.start();
  }

  /** The processes of all victims, each a different one; undefined while one is missing. */
  #find(
    victims: readonly Victim[],
  ): readonly { readonly victim: Victim; readonly target: KillableProcess }[] | undefined {
    const found = victims.flatMap((victim) => {
      const target = this.#findVictim(victim);
      return target?.isRunning() === true && !this.#dying.has(target) ? [{ victim, target }] : [];
    });
    return found.length === victims.length ? found : undefined;
  }
}
