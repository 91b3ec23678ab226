import { describe, expect, it } from "vitest";
import {
  checkLimits,
  confirm,
  type Limits,
  newLimits,
  withdraw,
  withFleetPause,
  withSeenRejection,
  wrongNode,
} from "../../../../../agent/core/affinity/limits.ts";
import { CALM, CAREFUL, inShort, MINUTE, owner, play, SECOND, scene } from "./limit-scenes.ts";

const HOUR = 60 * MINUTE;
/** An agent that has run for ten hours when a test begins at 0. */
const OLD = newLimits(-10 * HOUR);

function request(podUid: string, of = owner("rs")) {
  return { podUid, owner: of, job: undefined };
}

function tries(times: readonly number[], of = owner("rs")) {
  return times.map((seconds, index) => ({ atMs: seconds * SECOND, podUid: `p${index}`, of }));
}

describe("the limit on an owner", () => {
  it.each([
    { name: "three are free", times: [0, 1, 2], last: "go" },
    { name: "the fourth waits a minute from the third", times: [0, 1, 2, 3], last: "owner until 62 s" },
    { name: "the fourth comes after that minute", times: [0, 1, 2, 62], last: "go" },
    { name: "the fifth waits two minutes", times: [0, 1, 2, 62, 63], last: "owner until 182 s" },
    { name: "the sixth waits four minutes", times: [0, 1, 2, 62, 182, 183], last: "owner until 422 s" },
    {
      name: "no wait is longer than half an hour",
      times: [0, 1, 2, 62, 182, 422, 902, 1_862, 3_662, 5_462, 5_463],
      last: "owner until 7262 s",
    },
    { name: "three in more than ten minutes cause no back-off", times: [0, 300, 600, 900, 1_200], last: "go" },
    { name: "it resets after ten quiet minutes beyond the wait", times: [0, 1, 2, 663, 664, 665], last: "go" },
    { name: "it does not reset a moment before", times: [0, 1, 2, 661, 662], last: "owner until 781 s" },
    { name: "one that is ten minutes old is not one of the three", times: [0, 300, 600, 601], last: "go" },
  ])("$name", ({ times, last }) => {
    const { decisions } = play(OLD, tries(times));

    expect(decisions.map(inShort).at(-1)).toBe(last);
  });

  it("does not affect another owner's pods", () => {
    const { limits } = play(OLD, tries([0, 1, 2]));

    expect(checkLimits(limits, request("other", owner("other")), scene(3 * SECOND)).decision).toMatchObject({
      kind: "go",
    });
  });

  it("asks for one event on the owner, and for another one after a quiet time", () => {
    const { decisions } = play(OLD, tries([0, 1, 2, 3, 4, 62, 63, 1_000, 1_001, 1_002, 1_003]));

    expect(decisions.flatMap((one, index) => (one.kind === "wait" && one.isOwnerEventDue ? [index] : []))).toEqual([
      3, 10,
    ]);
  });

  it("gives the back-off level of each rejection, for the annotation", () => {
    const { decisions } = play(OLD, tries([0, 1, 2, 62, 182]));

    expect(decisions).toMatchObject([0, 0, 1, 2, 3].map((level) => ({ kind: "go", level })));
  });

  it("counts a pod twice that had to be rejected twice", () => {
    const { decisions } = play(
      OLD,
      [0, 1, 2, 3].map((seconds) => ({ atMs: seconds * SECOND, podUid: "same" })),
    );

    expect(decisions.map(inShort)).toEqual(["go", "go", "go", "owner until 62 s"]);
  });

  it("names the owner and the reason", () => {
    const { decisions } = play(OLD, tries([0, 1, 2, 3]));

    expect(decisions.at(-1)).toMatchObject({
      kind: "wait",
      why: "pods of ReplicaSet the-rs keep coming to this node, which a volume of theirs excludes",
    });
  });

  it("withdraws only the later of two rejections of one pod", () => {
    const { limits } = play(OLD, [...tries([0, 1]), { atMs: 100 * SECOND, podUid: "p0", of: owner("rs") }]);

    const { decisions } = play(withdraw(limits, "p0"), tries([600, 601]));

    // Had it been the first one, the one of second 100 would still count.
    expect(decisions).toMatchObject([
      { kind: "go", level: 0 },
      { kind: "go", level: 0 },
    ]);
  });

  it.each([
    {
      name: "a rejection that a pod shows",
      done: (limits: Limits) => withSeenRejection(limits, { podUid: "p1", ownerUid: "rs", ageMs: 0, level: 0 }, SECOND),
    },
    { name: "a confirmed rejection", done: (limits: Limits) => confirm(limits, "p1") },
  ])("counts $name, however often a later attempt on that pod is withdrawn", ({ done }) => {
    const rejected = done(play(OLD, tries([0, 1])).limits);
    const tried = checkLimits(rejected, request("p1"), scene(2 * SECOND)).limits;

    const left = withdraw(withdraw(tried, "p1"), "p1");

    const { decisions } = play(left, [
      { atMs: 3 * SECOND, podUid: "p3", of: owner("rs") },
      { atMs: 4 * SECOND, podUid: "p4", of: owner("rs") },
    ]);
    expect(decisions.map(inShort)).toEqual(["go", "owner until 63 s"]);
  });

  it("does not count a withdrawn rejection", () => {
    const { limits } = play(OLD, tries([0, 1, 2]));

    expect(checkLimits(withdraw(limits, "p2"), request("p3"), scene(3 * SECOND)).decision).toMatchObject({
      kind: "go",
    });
  });
});

describe("the limit after a restart of the agent", () => {
  const seen = (podUid: string, ageSeconds: number, level = 0) =>
    ({ podUid, ownerUid: "rs", ageMs: ageSeconds * SECOND, level }) as const;

  it.each([
    {
      name: "three rejected pods that still exist count",
      pods: [seen("a", 30), seen("b", 20), seen("c", 10)],
      last: "owner until 50 s",
    },
    { name: "the newest one gives the back-off level", pods: [seen("c", 100, 4)], last: "owner until 380 s" },
    { name: "one without a time counts from now on", pods: [seen("c", 0, 1)], last: "owner until 60 s" },
    { name: "one from the future counts from now on, too", pods: [seen("c", -100, 1)], last: "owner until 60 s" },
    {
      name: "of two times for one pod the later one counts",
      pods: [seen("c", 30, 1), seen("c", 10, 1), seen("c", 20, 1)],
      last: "owner until 50 s",
    },
    {
      name: "of two levels for one pod the higher one counts",
      pods: [seen("c", 10, 1), seen("c", 10, 3), seen("c", 10, 2)],
      last: "owner until 230 s",
    },
    { name: "an invalid level counts as none", pods: [seen("c", 100, Number.NaN)], last: "go" },
    { name: "old ones do not count", pods: [seen("a", 3_000), seen("b", 2_990), seen("c", 2_980)], last: "go" },
  ])("$name", ({ pods, last }) => {
    const limits = pods.reduce((known, pod) => withSeenRejection(known, pod, 0), OLD);

    expect(inShort(checkLimits(limits, request("new"), scene(0)).decision)).toBe(last);
  });

  it("counts once a pod that this run rejected and sees as rejected", () => {
    const { limits } = play(OLD, tries([0, 1]));
    const both = withSeenRejection(withSeenRejection(limits, seen("p0", 1), SECOND), seen("p1", 0), SECOND);

    expect(checkLimits(both, request("p2"), scene(2 * SECOND)).decision).toMatchObject({ kind: "go" });
  });

  it.each([
    { kind: "StatefulSet", second: "owner until 91 s" },
    { kind: "DaemonSet", second: "owner until 91 s" },
    { kind: "SomethingElse", second: "owner until 91 s" },
    { kind: "ReplicaSet", second: "go" },
  ])("assumes two rejections of an owner that deletes failed pods: $kind", ({ kind, second }) => {
    const { decisions } = play(newLimits(0), tries([31, 50], owner("of", kind)));

    expect(decisions.map(inShort)).toEqual(["go", second]);
  });

  it("assumes two rejections of every owner where agents delete rejected pods", () => {
    const ask = { podUid: "p1", owner: owner("of"), job: undefined };
    const at = { ...scene(50 * SECOND), settings: { ...CAREFUL, deleteRejected: true } };
    const { limits } = play(newLimits(0), tries([31], owner("of")));

    expect(inShort(checkLimits(limits, ask, at).decision)).toBe("owner until 91 s");
  });

  it("assumes nothing after ten minutes", () => {
    const { decisions } = play(
      newLimits(1_000 * SECOND),
      tries([1_600, 1_601, 1_602, 1_603], owner("of", "StatefulSet")),
    );

    expect(decisions.map(inShort)).toEqual(["go", "go", "go", "owner until 1662 s"]);
  });

  it("counts ten of the last minute, of any owner", () => {
    const others = Array.from({ length: 10 }, (_, index) => ({
      podUid: `o${index}`,
      ownerUid: `o${index}`,
      ageMs: index * SECOND,
      level: 0,
    }));
    const limits = others.reduce((known, pod) => withSeenRejection(known, pod, 0), newLimits(0));

    expect(inShort(checkLimits(limits, request("new"), scene(8 * SECOND)).decision)).toBe("node-rate until 51 s");
  });

  it("does not start more slowly because of earlier rejections", () => {
    const limits = withSeenRejection(
      newLimits(0),
      { podUid: "old", ownerUid: "other", ageMs: 30 * SECOND, level: 0 },
      0,
    );

    expect(checkLimits(limits, request("new"), scene(6 * SECOND)).decision).toMatchObject({ kind: "go" });
  });

  it("starts with one in six seconds", () => {
    const owners = Array.from({ length: 4 }, (_, index) => owner(`o${index}`));
    const { decisions } = play(
      newLimits(0),
      [5, 6, 7, 12].map((seconds, index) => ({
        atMs: seconds * SECOND,
        podUid: `p${index}`,
        of: owners[index] ?? owner("x"),
      })),
    );

    expect(decisions.map(inShort)).toEqual(["node-rate until 6 s", "go", "node-rate until 12 s", "go"]);
  });
});

describe("the limit on a node", () => {
  it("allows ten rejections a minute", () => {
    const all = Array.from({ length: 12 }, (_, index) => ({
      atMs: index * SECOND,
      podUid: `p${index}`,
      of: owner(`o${index}`),
    }));

    const { limits, decisions } = play(OLD, all);

    expect(decisions.map(inShort)).toEqual([
      ...Array.from({ length: 10 }, () => "go"),
      "node-rate until 60 s",
      "node-rate until 60 s",
    ]);
    expect(checkLimits(limits, request("p", owner("o")), scene(MINUTE)).decision).toMatchObject({ kind: "go" });
  });

  it.each([
    { name: "three of five", survey: { pods: 5, wrong: 3, unseen: 0 }, is: "node-wrong until 5 s" },
    { name: "all of three", survey: { pods: 3, wrong: 3, unseen: 0 }, is: "node-wrong until 5 s" },
    { name: "three of six, which is a half", survey: { pods: 6, wrong: 3, unseen: 0 }, is: "go" },
    { name: "both of two", survey: { pods: 2, wrong: 2, unseen: 0 }, is: "go" },
    {
      name: "as many as may turn out to be most",
      survey: { pods: 5, wrong: 1, unseen: 2 },
      is: "node-wrong until 5 s",
    },
    { name: "as many as cannot be most any more", survey: { pods: 5, wrong: 1, unseen: 1 }, is: "go" },
  ])("stops when most of its pods would be wrong: $name", ({ survey, is }) => {
    expect(inShort(checkLimits(OLD, request("p"), scene(0, survey)).decision)).toBe(is);
  });

  it("names the other pods to check first, or the rate limit", () => {
    const unseen = checkLimits(OLD, request("p"), scene(0, { pods: 5, wrong: 1, unseen: 2 })).decision;
    const ten = Array.from({ length: 11 }, (_, index) => ({ atMs: 0, podUid: `p${index}`, of: owner(`o${index}`) }));

    expect(unseen).toMatchObject({
      why: "2 other pods of the node have to be looked at before",
      isOwnerEventDue: false,
    });
    expect(play(OLD, ten).decisions.at(-1)).toEqual({
      kind: "wait",
      limit: "node-rate",
      untilMs: MINUTE,
      why: "at most 10 pods a minute are rejected on one node, and fewer just after the agent's start",
      isOwnerEventDue: false,
    });
  });

  it("gives the reason why the node is not ready", () => {
    expect(wrongNode({ pods: 5, wrong: 3, unseen: 0 })).toContain("3 of the node's 5 pods");
    expect(wrongNode({ pods: 5, wrong: 1, unseen: 4 })).toBeUndefined();
  });
});

describe("the limit on the fleet", () => {
  it("pauses all rejections while the aggregator says so", () => {
    const paused = withFleetPause(OLD, "50 rejections in 10 minutes");

    const decision = checkLimits(paused, request("p"), scene(0)).decision;

    expect(decision).toMatchObject({ kind: "wait", limit: "fleet", untilMs: 5 * SECOND });
    expect(decision).toMatchObject({ why: expect.stringContaining("50 rejections in 10 minutes") });
    expect(checkLimits(withFleetPause(paused, undefined), request("p"), scene(0, CALM)).decision).toMatchObject({
      kind: "go",
    });
  });
});
