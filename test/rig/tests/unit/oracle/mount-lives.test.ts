import { describe, expect, it } from "vitest";
import type { MarkEvent } from "../../../oracle/kernel-structs.ts";
import { MountLives } from "../../../oracle/mount-lives.ts";
import type { LifeEvent, Stamp } from "../../../oracle/record.ts";

type Step =
  /** A list from one time to another. */
  | { readonly look: readonly number[]; readonly at: readonly [number, number] }
  /** Events that were read by then: `+5`, `-5`, `~5` for a move. */
  | { readonly read: readonly string[]; readonly by: number };

function stamp(ms: number): Stamp {
  return { wallMs: ms, monotonicMs: ms };
}

function eventOf(text: string): MarkEvent {
  return { mount: BigInt(text.slice(1)), isAttached: text[0] !== "-", isDetached: text[0] !== "+" };
}

/** What is told, as `detached 5 (10,20]`; a mount whose number is above 100 is gone before anybody can look where it is. */
function tell(steps: readonly Step[]): readonly string[] {
  const lives = new MountLives((mount) =>
    mount > 100n ? undefined : { mountPoint: `/${mount}`, root: "/", fsType: "tmpfs", device: "0:1" },
  );
  const told = steps.flatMap((step): readonly LifeEvent[] => {
    if ("read" in step) return lives.onEvents(step.read.map(eventOf), stamp(step.by));
    const [began, ended] = step.at;
    return lives.onLook({ began: stamp(began), ended: stamp(ended), mounts: step.look.map(BigInt) });
  });
  return told.map(({ kind, mount, after, by }) => `${kind} ${mount} ${after.wallMs}-${by.wallMs}`);
}

describe("the lives of mounts", () => {
  const first = { look: [1], at: [10, 12] } as const;

  it.each<{ name: string; steps: readonly Step[]; told: readonly string[] }>([
    { name: "begin with what is there", steps: [first], told: ["present 1 12-12"] },
    {
      name: "end between the begin of the last list with the mount and the reading of the event",
      steps: [first, { look: [1], at: [20, 22] }, { read: ["-1"], by: 25 }],
      told: ["present 1 12-12", "detached 1 20-25"],
    },
    {
      name: "end by the end of the first list without the mount when no event came before it; a late event does not count",
      steps: [first, { look: [], at: [20, 22] }, { read: ["-1"], by: 25 }],
      told: ["present 1 12-12", "detached 1 10-22"],
    },
    {
      name: "begin between the begin of the last list without the mount and the reading of the event, and only once",
      steps: [first, { read: ["+2"], by: 15 }, { look: [1, 2], at: [20, 22] }],
      told: ["present 1 12-12", "attached 2 10-15"],
    },
    {
      name: "begin with a list that is faster than the event",
      steps: [first, { look: [1, 2], at: [20, 22] }, { read: ["+2"], by: 25 }],
      told: ["present 1 12-12", "attached 2 10-22"],
    },
    {
      name: "may be so short that both events are read at once",
      steps: [first, { read: ["+2", "-2"], by: 15 }],
      told: ["present 1 12-12", "attached 2 10-15", "detached 2 10-15"],
    },
    {
      name: "may be over before its path can be read",
      steps: [first, { read: ["+101", "-101"], by: 15 }],
      told: ["present 1 12-12", "missed 101 10-15"],
    },
    {
      name: "of two mounts at one place are two",
      steps: [first, { read: ["-1", "+2"], by: 15 }],
      told: ["present 1 12-12", "detached 1 10-15", "attached 2 10-15"],
    },
    {
      name: "continue at another path after a move",
      steps: [first, { read: ["~1"], by: 15 }, { look: [1], at: [20, 22] }, { read: ["-1"], by: 25 }],
      told: ["present 1 12-12", "detached 1 10-15", "attached 1 10-15", "detached 1 20-25"],
    },
    {
      name: "all end with the namespace",
      steps: [
        { look: [1, 2], at: [10, 12] },
        { look: [], at: [20, 22] },
      ],
      told: ["present 1 12-12", "present 2 12-12", "detached 1 10-22", "detached 2 10-22"],
    },
  ])("$name", ({ steps, told }) => {
    expect(tell(steps)).toEqual(told);
  });
});
