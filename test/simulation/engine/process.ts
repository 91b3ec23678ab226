import type { SimMachine } from "./machine.ts";

/** What a process is doing: `ended` in good order, `crashed` by a kill, `failed` by an error that nobody caught, which is a bug. */
export type ProcessState = "running" | "paused" | "ended" | "crashed" | "failed";

/** The real agent or the real aggregator, with ports that die with it. */
export interface SimProcess {
  readonly name: string;
  readonly role: "agent" | "aggregator";
  readonly machine: SimMachine;
  readonly state: () => ProcessState;
  /** What a `failed` one threw. */
  readonly failure: () => unknown;
  /** kill -9: from now on nothing that it does has any effect, and nothing reaches it. */
  readonly crash: () => void;
  /** SIGTERM: it ends in its own time. */
  readonly stop: () => void;
  /** SIGSTOP and SIGCONT: clocks go on, and what comes meanwhile waits for it. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Told once, when it is no longer there, in whatever way. */
  readonly onEnd: (listener: (state: ProcessState) => void) => void;
  /** A request to its HTTP server from outside, such as `/readyz?verbose`; nothing while it does not listen. */
  readonly get: (target: string) => Promise<{ readonly status: number; readonly body: string } | undefined>;
}
