import type { Scheduler } from "../engine/scheduler.ts";
import { createLatch, type Latch } from "./latch.ts";
import { sleepTrue } from "./time.ts";

/** Ends all work of a machine that loses its power. */
export class PoweredOff extends Error {}

/** Whether a machine runs, and whether its kubelet does. */
export class Power {
  readonly #scheduler: Scheduler;
  #boot = new AbortController();
  #thawed: Latch | undefined;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get isOn(): boolean {
    return !this.#boot.signal.aborted;
  }

  /** Aborted when this boot ends. */
  get signal(): AbortSignal {
    return this.#boot.signal;
  }

  get isFrozen(): boolean {
    return this.#thawed !== undefined;
  }

  cut(): void {
    this.#boot.abort();
    this.thaw();
  }

  boot(): void {
    this.#boot = new AbortController();
  }

  /** The kubelet stops; mounts, containers and other processes continue. */
  freeze(): void {
    this.#thawed ??= createLatch();
  }

  thaw(): void {
    this.#thawed?.open();
    this.#thawed = undefined;
  }

  /** A wait of the kubelet: it takes longer while the kubelet is frozen. Throws `PoweredOff` when this boot ends. */
  async pause(ms: number): Promise<void> {
    const { signal } = this;
    await sleepTrue(this.#scheduler, ms, signal);
    while (this.#thawed !== undefined && !signal.aborted) await this.#thawed.opened;
    if (signal.aborted) throw new PoweredOff();
  }

  /** Waits until the latch is open and the kubelet runs. Throws `PoweredOff` when this boot ends. */
  async waitFor(latch: Latch): Promise<void> {
    const { signal } = this;
    const { promise: off, resolve } = Promise.withResolvers<void>();
    const onAbort = (): void => resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    await Promise.race([latch.opened, off]);
    signal.removeEventListener("abort", onAbort);
    if (signal.aborted) throw new PoweredOff();
    await this.pause(0);
  }
}
