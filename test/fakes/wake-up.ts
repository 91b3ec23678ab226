import type { WakeUp } from "../../agent/sources/wake-up.ts";
import type { FakeClock } from "./clock.ts";

/** A wake-up that a test gives the changes of the mount table to. */
export interface FakeWakeUp extends WakeUp {
  /** The mount table changed. */
  readonly change: () => void;
}

export function createFakeWakeUp(clock: FakeClock): FakeWakeUp {
  const pending = { changed: false, asked: false };
  let wake = (): void => {};
  let changedAt = clock.monotonicMs();
  let unchanged: ReturnType<WakeUp["unchanged"]>;
  const note = (what: "changed" | "asked") => (): void => {
    pending[what] = true;
    wake();
  };
  return {
    mode: "poll",
    change: note("changed"),
    ask: note("asked"),
    close: () => {},
    unchanged: () => unchanged,
    wait: async (ms, signal) => {
      const woken = new AbortController();
      wake = () => woken.abort();
      if (pending.changed || pending.asked) wake();
      await clock.sleep(ms, AbortSignal.any([signal, woken.signal]));
      // Like poll(2): a change is told before a question, which stays for the next wait.
      if (pending.changed) {
        pending.changed = false;
        changedAt = clock.monotonicMs();
        return "mounts";
      }
      unchanged = { from: changedAt, until: clock.monotonicMs() };
      const { asked } = pending;
      pending.asked = false;
      return asked ? "asked" : "timer";
    },
  };
}
