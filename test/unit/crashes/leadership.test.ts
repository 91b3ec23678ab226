import { describe, expect, it } from "vitest";
import type { StoreEvent } from "../../crashes/etcd-log.ts";
import { Leadership } from "../../crashes/leadership.ts";

const FIRST = "aggregator-0";
const SECOND = "aggregator-1";

function pod(name: string, role?: string): StoreEvent {
  const labels = role === undefined ? {} : { "mooring.dev/role": role };
  return { key: `/registry/pods/mooring/${name}`, object: { metadata: { name, labels } }, seenMs: 0 };
}

/** Tells what happens at the times given, and answers who led when. */
function led(...events: readonly (readonly [atMs: number, event: StoreEvent | string])[]): {
  readonly leader: string | undefined;
  readonly lives: readonly (readonly [number, number])[];
} {
  let nowMs = 0;
  const leadership = new Leadership(() => nowMs);
  for (const [atMs, event] of events) {
    nowMs = atMs;
    if (typeof event === "string") leadership.noteKill(event);
    else leadership.note(event);
  }
  nowMs = 100;
  return { leader: leadership.leader, lives: leadership.lives().map(({ fromMs, toMs }) => [fromMs, toMs] as const) };
}

describe("who leads", () => {
  it.each([
    { name: "nobody before the first label", found: led([1, pod(FIRST)]), leader: undefined, lives: [] },
    { name: "who bears the label", found: led([1, pod(FIRST, "leader")]), leader: FIRST, lives: [[1, 100]] },
    {
      name: "the same one when his pod changes otherwise",
      found: led([1, pod(FIRST, "leader")], [2, pod(FIRST, "leader")]),
      leader: FIRST,
      lives: [[1, 100]],
    },
    {
      name: "by his label also when he was killed, but he does not live",
      found: led([1, pod(FIRST, "leader")], [5, FIRST]),
      leader: FIRST,
      lives: [[1, 5]],
    },
    {
      name: "the same one when the other one is killed",
      found: led([1, pod(FIRST, "leader")], [5, SECOND]),
      leader: FIRST,
      lives: [[1, 100]],
    },
    {
      name: "the next one when the label has gone over",
      found: led([1, pod(FIRST, "leader")], [5, FIRST], [8, pod(FIRST)], [9, pod(SECOND, "leader")]),
      leader: SECOND,
      lives: [
        [1, 5],
        [9, 100],
      ],
    },
    {
      name: "nobody for sure as long as two bear it",
      found: led([1, pod(FIRST, "leader")], [5, pod(SECOND, "leader")], [8, pod(FIRST)]),
      leader: SECOND,
      lives: [
        [1, 5],
        [8, 100],
      ],
    },
  ])("is $name", ({ found, leader, lives }) => {
    expect(found).toEqual({ leader, lives });
  });
});
