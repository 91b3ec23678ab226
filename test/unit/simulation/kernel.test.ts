import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEngine } from "../../simulation/engine/engine.ts";
import { tableNotifier } from "../../simulation/engine/kernel.ts";
import { Life, startProcess } from "../../simulation/engine/process.ts";
import { CrashSites } from "../../simulation/engine/sites.ts";

type Action = "change" | "ask" | "pause" | "resume";

interface TimedAction {
  readonly atMs: number;
  readonly action: Action;
}

/** A process that waits for changes of a table: the reasons for its scans, and when. */
async function waitFor(events: readonly TimedAction[], waitMs = 5_000) {
  const { scheduler, machine } = createEngine({ seed: 1 });
  const computer = machine({ name: "m", upForMs: 0 });
  const life = new Life("p", "agent", { scheduler, machine: computer, sites: new CrashSites(), mayCrash: () => false });
  const listeners = new Set<() => void>();
  const onChange = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const mountNotifier = tableNotifier(life, { text: () => "", onChange });
  const reasons: { readonly reason: string; readonly atMs: number }[] = [];
  const spans: { readonly from: number; readonly until: number }[] = [];
  const process = startProcess(life, async (signal) => {
    while (!signal.aborted) {
      const reason = await mountNotifier.wait(waitMs, signal);
      reasons.push({ reason, atMs: scheduler.nowMs() });
      const span = mountNotifier.unchanged();
      if (span !== undefined) spans.push(span);
    }
  });
  const change = (): void => {
    for (const listener of listeners) listener();
  };
  const actions = { change, ask: mountNotifier.request, ...process };
  for (const { atMs, action } of events) scheduler.at(atMs, actions[action]);
  await scheduler.runUntil(60_000);
  return { reasons, spans, changes: events.filter(({ action }) => action === "change").map(({ atMs }) => atMs) };
}

/** Times that often coincide: half seconds. */
const roundMs = (max: number) => fc.integer({ min: 1, max }).map((halves) => halves * 500);

describe("the simulated poll(2)", () => {
  it.each([
    { name: "a change triggers a scan at once", events: [{ atMs: 1_500, action: "change" }], first: ["mounts", 1_500] },
    { name: "a request triggers a scan at once", events: [{ atMs: 1_500, action: "ask" }], first: ["asked", 1_500] },
    { name: "without either, the timer triggers one", events: [], first: ["timer", 5_000] },
    {
      name: "a change during a pause triggers one when the process continues",
      events: [
        { atMs: 100, action: "pause" },
        { atMs: 200, action: "change" },
        { atMs: 900, action: "resume" },
      ],
      first: ["mounts", 900],
    },
  ] as const)("$name", async ({ events, first }) => {
    const { reasons } = await waitFor(events);

    expect([reasons[0]?.reason, reasons[0]?.atMs]).toEqual(first);
  });

  it("gives a request as the reason when a change came together with it, and each once", async () => {
    const { reasons } = await waitFor([
      { atMs: 100, action: "pause" },
      { atMs: 200, action: "change" },
      { atMs: 300, action: "ask" },
      { atMs: 900, action: "resume" },
    ]);

    expect(reasons.slice(0, 2)).toEqual([
      { reason: "asked", atMs: 900 },
      { reason: "timer", atMs: 5_900 },
    ]);
  });

  it("never reports a time with a change as unchanged", async () => {
    const happening = fc.record({
      atMs: fc.oneof(fc.integer({ min: 0, max: 50_000 }), roundMs(100)),
      action: fc.constantFrom<Action>("change", "ask", "pause", "resume"),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { maxLength: 20 }),
        fc.oneof(fc.integer({ min: 500, max: 9_000 }), roundMs(18)),
        async (all, ms) => {
          const { spans, changes } = await waitFor(all, ms);

          // A change at the span's last moment may come after the last poll.
          for (const { from, until } of spans) expect(changes.filter((at) => at > from && at < until)).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });
});
