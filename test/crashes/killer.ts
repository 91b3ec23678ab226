import type { Owner } from "../process/owner.ts";
import type { Mortal } from "./process.ts";
import type { Kill, Victim } from "./record.ts";

const LOOK_MS = 50;

/** Who is who at the moment; nothing where nobody is to be killed: nobody leads, or he is down already. */
export type Cast = (victim: Victim) => Mortal | undefined;

/** Kills processes and lets them come back. Whoever is down is waited for and killed then: in the middle of his start, too. */
export class Killer {
  readonly #owner: Pick<Owner, "clock" | "signal">;
  readonly #cast: Cast;
  readonly #onKill: (kill: Kill) => void;
  readonly #running = new Set<Promise<void>>();
  #failure: unknown;

  constructor(
    owner: Pick<Owner, "clock" | "signal">,
    { cast, onKill }: { readonly cast: Cast; readonly onKill: (kill: Kill) => void },
  ) {
    this.#owner = owner;
    this.#cast = cast;
    this.#onKill = onKill;
  }

  /** Kills all at once, and starts all when `over` resolves; returns when they are killed. */
  async kill(victims: readonly Victim[], over: () => Promise<void>): Promise<void> {
    const { clock, signal } = this.#owner;
    let found = this.#find(victims);
    for (; found === undefined && !signal.aborted; found = this.#find(victims)) await clock.sleep(LOOK_MS, signal);
    if (found === undefined) return;
    // All are signalled before one is waited for.
    const killed = await Promise.all(found.map(({ mortal }) => mortal.kill()));
    found.forEach(({ victim, mortal: { name } }, index) => {
      this.#onKill({ victim, name, atMs: killed[index] ?? clock.wallMs() });
    });
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
      return mortal?.isRunning() === true ? [{ victim, mortal }] : [];
    });
    return found.length === victims.length ? found : undefined;
  }
}
