import type { MountNotifier } from "../../agent/sources/mount-notifier.ts";
import type { FakeClock } from "./clock.ts";

/** A mount notifier that a test gives the changes of the mount table to. */
export interface FakeMountNotifier extends MountNotifier {
  /** The mount table changed. */
  readonly change: () => void;
}

export function createFakeMountNotifier(clock: FakeClock): FakeMountNotifier {
  const pending = { changed: false, asked: false };
  let wake = (): void => {};
  let changedAt = clock.monotonicMs();
  let unchanged: ReturnType<MountNotifier["unchanged"]>;
  const note = (what: "changed" | "asked") => (): void => {
    pending[what] = true;
    wake();
  };
  const takeRequest = (): boolean => {
    const { asked } = pending;
    pending.asked = false;
    return asked;
  };
  return {
    mode: "poll",
    change: note("changed"),
    request: note("asked"),
    takeRequest,
    close: () => {},
    unchanged: () => unchanged,
    wait: async (ms, signal) => {
      const woken = new AbortController();
      wake = () => woken.abort();
      if (pending.changed || pending.asked) wake();
      await clock.sleep(ms, AbortSignal.any([signal, woken.signal]));
      const { changed } = pending;
      pending.changed = false;
      if (changed) changedAt = clock.monotonicMs();
      else unchanged = { from: changedAt, until: clock.monotonicMs() };
      if (takeRequest()) return "asked";
      return changed ? "mounts" : "timer";
    },
  };
}
