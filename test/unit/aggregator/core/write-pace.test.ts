import { describe, expect, it } from "vitest";
import {
  nextRepairs,
  nextTrouble,
  type Repairs,
  restBefore,
  restBeforeRepair,
  type WriteTrouble,
} from "../../../../aggregator/core/write-pace.ts";
import { mountedStatus, statusWith } from "../world.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;

function troubleWith(fields: Partial<WriteTrouble> = {}): WriteTrouble {
  return {
    kind: "refused",
    times: 1,
    atMs: 0,
    resourceVersion: "100",
    status: statusWith(),
    jitter: 0.5,
    ...fields,
  };
}

describe("the wait before a claim is written again", () => {
  const same = { resourceVersion: "100", status: statusWith(), atMs: 0 };
  const changed = { ...same, resourceVersion: "101" };

  it.each<{
    readonly name: string;
    readonly trouble: Partial<WriteTrouble>;
    readonly now?: Partial<WriteTrouble>;
    readonly restMs: number;
  }>([
    { name: "what was refused is tried again after ten minutes", trouble: {}, restMs: 10 * MINUTE },
    { name: "later and later", trouble: { times: 3 }, restMs: 40 * MINUTE },
    { name: "but every two hours", trouble: { times: 99 }, restMs: 2 * HOUR },
    { name: "at once when the claim has changed", trouble: {}, now: changed, restMs: 500 },
    {
      name: "at once when something else is to be written",
      trouble: {},
      now: { ...same, status: mountedStatus(["n1"]) },
      restMs: 500,
    },
    {
      name: "at once when now there is a status to be written",
      trouble: { status: undefined },
      restMs: 500,
    },
    {
      name: "not at once when only annotations are to go, as before",
      trouble: { status: undefined },
      now: { ...same, status: undefined },
      restMs: 10 * MINUTE,
    },
    {
      name: "not so quickly for a claim that changes all the time",
      trouble: { times: 5 },
      now: changed,
      restMs: 8_000,
    },
    { name: "every ten minutes at least", trouble: { times: 99 }, now: changed, restMs: 10 * MINUTE },
    { name: "a claim that had changed is looked at in a moment", trouble: { kind: "stale" }, now: changed, restMs: 20 },
    { name: "and when that is not seen yet, half a second later", trouble: { kind: "stale" }, restMs: 500 },
    {
      name: "whatever is to be written then, as the time of a first sight is another one each second",
      trouble: { kind: "stale", times: 2 },
      now: { ...same, status: mountedStatus(["n1"]) },
      restMs: 1_000,
    },
    { name: "a failure of the server is tried again soon", trouble: { kind: "failed" }, restMs: 500 },
    { name: "a lasting one once a minute", trouble: { kind: "failed", times: 20 }, restMs: MINUTE },
    { name: "time that has passed counts", trouble: {}, now: { ...same, atMs: MINUTE }, restMs: 9 * MINUTE },
    { name: "a wait that is over is over", trouble: {}, now: { ...same, atMs: 11 * MINUTE }, restMs: -MINUTE },
    { name: "waits are spread: shorter", trouble: { jitter: 0 }, restMs: 7.5 * MINUTE },
    { name: "waits are spread: longer", trouble: { jitter: 1 }, restMs: 12.5 * MINUTE },
  ])("$name", ({ trouble, now = same, restMs }) => {
    expect(restBefore(troubleWith(trouble), { ...same, ...now })).toBe(restMs);
  });

  it("grows while the same kind of trouble goes on, and begins anew with another", () => {
    const { times: _, ...refused } = troubleWith();

    const second = nextTrouble(nextTrouble(undefined, refused), refused);

    expect(second.times).toBe(2);
    expect(nextTrouble(second, { ...refused, kind: "stale" }).times).toBe(1);
  });
});

describe("the wait before an annotation is put right again", () => {
  function repaired(times: readonly number[]): Repairs | undefined {
    return times.reduce<Repairs | undefined>(nextRepairs, undefined);
  }

  it.each([
    { name: "the first time at once", at: [], restMs: 0 },
    { name: "then after five seconds", at: [0], restMs: 5_000 },
    { name: "then after ten", at: [-9_000, 0], restMs: 10_000 },
    { name: "in the end once an hour", at: Array.from({ length: 30 }, () => 0), restMs: HOUR },
    { name: "who has kept quiet for two hours is forgiven", at: [-2 * HOUR - 1, 0], restMs: 5_000 },
    { name: "who has not is not", at: [-2 * HOUR, 0], restMs: 10_000 },
  ])("$name", ({ at, restMs }) => {
    expect(restBeforeRepair(repaired(at), 0)).toBe(restMs);
  });
});
