import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEngine } from "../../simulation/engine/engine.ts";
import { tableNotifier } from "../../simulation/engine/kernel.ts";
import { Life, startProcess } from "../../simulation/engine/process.ts";
import { CrashSites } from "../../simulation/engine/sites.ts";

type Deed = "change" | "ask" | "pause" | "resume";

interface Happening {
  readonly atMs: number;
  readonly deed: Deed;
}

/** A process that waits for a table again and again: what it was told, and when. */
async function waitFor(happenings: readonly Happening[], waitMs = 5_000) {
  const { scheduler, machine } = createEngine({ seed: 1 });
  const computer = machine({ name: "m", upForMs: 0 });
  const life = new Life("p", "agent", { scheduler, machine: computer, sites: new CrashSites(), mayCrash: () => false });
  const listeners = new Set<() => void>();
  const onChange = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const mountNotifier = tableNotifier(life, { text: () => "", onChange });
  const told: { readonly reason: string; readonly atMs: number }[] = [];
  const spans: { readonly from: number; readonly until: number }[] = [];
  const process = startProcess(life, async (signal) => {
    while (!signal.aborted) {
      const reason = await mountNotifier.wait(waitMs, signal);
      told.push({ reason, atMs: scheduler.nowMs() });
      const span = mountNotifier.unchanged();
      if (span !== undefined) spans.push(span);
    }
  });
  const change = (): void => {
    for (const tell of listeners) tell();
  };
  const deeds = { change, ask: mountNotifier.request, ...process };
  for (const { atMs, deed } of happenings) scheduler.at(atMs, deeds[deed]);
  await scheduler.runUntil(60_000);
  return { told, spans, changes: happenings.filter(({ deed }) => deed === "change").map(({ atMs }) => atMs) };
}

/** Times that often meet: half seconds, as many as told. */
const roundMs = (max: number) => fc.integer({ min: 1, max }).map((halves) => halves * 500);

describe("the simulated poll(2)", () => {
  it.each([
    { name: "a change is told at once", happenings: [{ atMs: 1_500, deed: "change" }], first: ["mounts", 1_500] },
    { name: "a question is told at once", happenings: [{ atMs: 1_500, deed: "ask" }], first: ["asked", 1_500] },
    { name: "nothing is told in time", happenings: [], first: ["timer", 5_000] },
    {
      name: "what happens to a process that stands still is told when it goes on",
      happenings: [
        { atMs: 100, deed: "pause" },
        { atMs: 200, deed: "change" },
        { atMs: 900, deed: "resume" },
      ],
      first: ["mounts", 900],
    },
  ] as const)("$name", async ({ happenings, first }) => {
    const { told } = await waitFor(happenings);

    expect([told[0]?.reason, told[0]?.atMs]).toEqual(first);
  });

  it("tells of a question rather than of a change that came together with it, and of each once", async () => {
    const { told } = await waitFor([
      { atMs: 100, deed: "pause" },
      { atMs: 200, deed: "change" },
      { atMs: 300, deed: "ask" },
      { atMs: 900, deed: "resume" },
    ]);

    expect(told.slice(0, 2)).toEqual([
      { reason: "asked", atMs: 900 },
      { reason: "timer", atMs: 5_900 },
    ]);
  });

  it("never says of a time in which the table changed that it did not", async () => {
    const happening = fc.record({
      atMs: fc.oneof(fc.integer({ min: 0, max: 50_000 }), roundMs(100)),
      deed: fc.constantFrom<Deed>("change", "ask", "pause", "resume"),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { maxLength: 20 }),
        fc.oneof(fc.integer({ min: 500, max: 9_000 }), roundMs(18)),
        async (all, ms) => {
          const { spans, changes } = await waitFor(all, ms);

          // A change of the span's last moment may have come after the poll that found none.
          for (const { from, until } of spans) expect(changes.filter((at) => at > from && at < until)).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });
});
