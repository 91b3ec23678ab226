import { describe, expect, it } from "vitest";
import type { StoreEvent } from "../../crashes/etcd-log.ts";
import { Leadership } from "../../crashes/leadership.ts";

const FIRST = "aggregator-0";
const SECOND = "aggregator-1";

function pod(name: string, role?: string): StoreEvent {
  const labels = role === undefined ? {} : { "mooring.dev/role": role };
  return { key: `/registry/pods/mooring/${name}`, object: { metadata: { name, labels } }, seenMs: 0 };
}

/** Replays these events, and returns who led when. */
function led(...events: readonly (readonly [atMs: number, event: StoreEvent | string])[]): {
  readonly leader: string | undefined;
  readonly uptimes: readonly (readonly [number, number])[];
} {
  let nowMs = 0;
  const leadership = new Leadership(() => nowMs);
  for (const [atMs, event] of events) {
    nowMs = atMs;
    if (typeof event === "string") leadership.noteKill(event);
    else leadership.note(event);
  }
  nowMs = 100;
  return {
    leader: leadership.leader,
    uptimes: leadership.uptimes().map(({ fromMs, toMs }) => [fromMs, toMs] as const),
  };
}

describe("the leader", () => {
  it.each([
    { name: "unknown before the first label", found: led([1, pod(FIRST)]), leader: undefined, uptimes: [] },
    { name: "the pod with the label", found: led([1, pod(FIRST, "leader")]), leader: FIRST, uptimes: [[1, 100]] },
    {
      name: "the same one when its pod changes otherwise",
      found: led([1, pod(FIRST, "leader")], [2, pod(FIRST, "leader")]),
      leader: FIRST,
      uptimes: [[1, 100]],
    },
    {
      name: "by its label also after a kill, but without uptime",
      found: led([1, pod(FIRST, "leader")], [5, FIRST]),
      leader: FIRST,
      uptimes: [[1, 5]],
    },
    {
      name: "the same one when the standby is killed",
      found: led([1, pod(FIRST, "leader")], [5, SECOND]),
      leader: FIRST,
      uptimes: [[1, 100]],
    },
    {
      name: "the next one when the label has moved",
      found: led([1, pod(FIRST, "leader")], [5, FIRST], [8, pod(FIRST)], [9, pod(SECOND, "leader")]),
      leader: SECOND,
      uptimes: [
        [1, 5],
        [9, 100],
      ],
    },
    {
      name: "unknown while two pods have the label",
      found: led([1, pod(FIRST, "leader")], [5, pod(SECOND, "leader")], [8, pod(FIRST)]),
      leader: SECOND,
      uptimes: [
        [1, 5],
        [8, 100],
      ],
    },
  ])("is $name", ({ found, leader, uptimes }) => {
    expect(found).toEqual({ leader, uptimes });
  });
});
