import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../../../faults/exchange.ts";
import {
  gapsOf,
  hasFailedOrBroken,
  hastyCount,
  insistenceProblems,
  type Pace,
  pacingProblems,
  spreadOf,
  writeProblems,
} from "../../../faults/pacing.ts";

const pace: Pace = { firstMs: 200, maxMs: 1_000, toleranceMs: 10 };

interface Short {
  readonly at: number;
  readonly status?: number | undefined;
  /** When it was over, 5 ms after its begin unless told. */
  readonly until?: number | undefined;
  readonly retryAfterMs?: number;
  readonly verb?: RequestRecord["verb"];
  readonly faults?: RequestRecord["faults"];
  readonly from?: string | undefined;
  readonly isExpired?: boolean;
  readonly isWhole?: boolean;
  readonly isGivenUp?: boolean;
}

function record(short: Short): RequestRecord {
  const {
    at,
    status,
    until = at + 5,
    retryAfterMs,
    verb = "list",
    faults = [],
    from,
    isExpired = false,
    isWhole = false,
    isGivenUp = false,
  } = short;
  return {
    verb,
    isScan: false,
    collection: "/a",
    beganAt: at,
    endedAt: until,
    status,
    retryAfterMs,
    events: 0,
    faults,
    from,
    isExpired,
    isWhole,
    isGivenUp,
  };
}

/** Without the rows, which are for people. */
function problems(...requests: readonly Short[]): readonly string[] {
  return pacingProblems(gapsOf(requests.map(record), pace), pace).map((problem) => problem.replace(/:.*/, ""));
}

describe("the pace after failures", () => {
  it.each([
    {
      name: "waits grow and are long enough",
      requests: [
        [0, 503],
        [100, 503],
        [300, 503],
        [700, 200],
      ],
    },
    {
      name: "waits are longer than they must be",
      requests: [
        [0, 503],
        [5_000, 503],
        [10_000, 503],
        [20_000, 200],
      ],
    },
    {
      name: "waits stay at the longest",
      requests: [
        [0, 500],
        [200, 500],
        [600, 500],
        [1_400, 500],
        [1_900, 500],
        [2_400, 200],
      ],
    },
    {
      name: "a wait is too short by what timers are inaccurate",
      requests: [
        [0, 503],
        [91, 200],
      ],
    },
    {
      name: "an answer between two failures ends the row",
      requests: [
        [0, 503],
        [100, 503],
        [300, 200],
        [400, 503],
        [500, 200],
      ],
    },
    { name: "nothing follows the last failure", requests: [[0, 503]] },
  ])("is kept when $name", ({ requests }) => {
    expect(problems(...requests.map(([at = 0, status]) => ({ at, status })))).toEqual([]);
  });

  it.each([
    {
      name: "the first wait is too short",
      requests: [
        [0, 503],
        [80, 200],
      ],
      problem: "asked again 80 ms after failure 1 in a row, with 100 ms due",
    },
    {
      name: "waits do not grow",
      requests: [
        [0, 403],
        [150, 403],
        [300, 403],
        [450, 403],
      ],
      problem: "asked again 150 ms after failure 2 in a row, with 200 ms due",
    },
    {
      name: "the row starts again without an answer",
      requests: [
        [0, 500],
        [200, 500],
        [600, 500],
        [700, 200],
      ],
      problem: "asked again 100 ms after failure 3 in a row, with 400 ms due",
    },
  ])("is broken when $name", ({ requests, problem }) => {
    expect(problems(...requests.map(([at = 0, status]) => ({ at, status })))).toContain(problem);
  });

  it.each([
    { name: "starts again when the server is back and has dropped the position", fourth: 100, last: 100 },
    {
      name: "continues when it drops the position again",
      fourth: 200,
      last: 110,
      problem: "after failure 2 in a row, with 200 ms due",
    },
  ])("of failures $name", ({ fourth, last, problem }) => {
    const forgotten = { status: 410, faults: ["answer-410"] } as const;
    const told = [{ ...forgotten, at: 400 }, ...(problem === undefined ? [] : [{ ...forgotten, at: 400 + fourth }])];
    const end = (told.at(-1)?.at ?? 0) + last;
    const found = problems({ at: 0, status: 503 }, { at: 150, status: 503 }, ...told, { at: end, status: 200 });

    expect(found).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)]);
  });

  it("starts the row again also when its client verified a position that is dropped", () => {
    const failed = [0, 100, 300].map((at) => ({ at, status: 503 }));
    const check = { at: 700, status: 410, isWhole: true, verb: "check" } as const;

    expect(problems(...failed, check, { at: 800, status: 503 }, { at: 900, status: 200 })).toEqual([]);
  });

  it("counts the time that an answer asked for besides the wait", () => {
    const asked = { at: 0, status: 429, retryAfterMs: 2_000 };

    expect(problems(asked, { at: 2_100, status: 200 })).toEqual([]);
    expect(problems(asked, { at: 1_999, status: 200 })).toEqual([
      "asked again 1999 ms after failure 1 in a row, with 2100 ms due",
    ]);
  });

  it("counts from the end of a request that broke before its answer", () => {
    const broken = { at: 0, until: 60_000, status: undefined };

    expect(problems(broken, { at: 60_100, status: 200 })).toEqual([]);
    expect(problems(broken, { at: 60_050, status: 200 })).toHaveLength(1);
  });

  it("does not judge the pause after a request that its client cancelled, which the proxy sees late", () => {
    const silent = { at: 0, until: 60_000, status: undefined, isGivenUp: true };

    expect(problems(silent, { at: 60_001, status: 503 }, { at: 60_150, status: 200 })).toEqual([
      "asked again 149 ms after failure 2 in a row, with 200 ms due",
    ]);
  });

  it("counts a request that was never answered into the row", () => {
    expect(problems({ at: 0, status: 503 }, { at: 100, until: 60_000 }, { at: 60_100, status: 200 })).toEqual([
      "asked again 100 ms after failure 2 in a row, with 200 ms due",
    ]);
  });

  it("lets pages follow at once where lists are not streamed", () => {
    expect(problems({ at: 0, verb: "stream", status: 422 }, { at: 5, status: 200 })).toEqual([]);
  });

  it("shows the row of a wait that is too short", () => {
    const gaps = gapsOf([record({ at: 0, status: 503 }), record({ at: 20, status: 200 })], pace);

    expect(pacingProblems(gaps, pace)).toEqual([
      "asked again 20 ms after failure 1 in a row, with 100 ms due: list 503 -20..-15, list 200 0..5",
    ]);
  });

  it("leaves out background checks", () => {
    expect(problems({ at: 0, status: 503 }, { at: 5, verb: "check", status: 503 }, { at: 150, status: 200 })).toEqual(
      [],
    );
  });

  it("counts waits by the half of their window, and those not at all that had other reasons or that timers blur", () => {
    const gap = (afterMs: number, askedMs = 0, ceilingMs = 1_000) => ({
      ...{ failures: 1, row: "" },
      ...{ afterMs, askedMs, ceilingMs },
    });

    const spread = spreadOf([gap(500), gap(749), gap(750), gap(2_999, 2_000), gap(1_500), gap(60, 0, 100)], 1_000);

    expect(spread).toEqual({ lowerHalf: 2, upperHalf: 2 });
  });
});

describe("a request without back-off", () => {
  it.each([
    {
      name: "at once after a failure",
      requests: [
        { at: 0, status: 503 },
        { at: 20, status: 200 },
      ],
      count: 1,
    },
    { name: "each time", requests: [{ at: 0, status: 500 }, { at: 9, status: 500 }, { at: 18 }], count: 2 },
    {
      name: "after any pause",
      requests: [
        { at: 0, status: 503 },
        { at: 50, status: 200 },
      ],
      count: 0,
    },
    {
      name: "at once after an answer",
      requests: [
        { at: 0, status: 200 },
        { at: 6, status: 200 },
      ],
      count: 0,
    },
    {
      name: "sooner than the answer asked for",
      requests: [{ at: 0, status: 429, retryAfterMs: 2_000 }, { at: 1_999 }],
      count: 1,
    },
    {
      name: "when the answer asked for it",
      requests: [{ at: 0, status: 429, retryAfterMs: 2_000 }, { at: 2_000 }],
      count: 0,
    },
  ])("counts when it comes $name: $count", ({ requests, count }) => {
    expect(hastyCount(gapsOf(requests.map(record), pace), 50)).toBe(count);
  });
});

describe("a request without back-off after one that broke off", () => {
  const list = { at: 9_020, status: 200, isWhole: true };

  it.each([
    { name: "a watch", broken: { at: 0, until: 9_000, verb: "watch", status: 200 }, count: 1 },
    { name: "a list", broken: { at: 0, until: 9_000, verb: "list", status: 200 }, count: 1 },
    { name: "a watch, longer ago", broken: { at: 0, until: 8_970, verb: "watch", status: 200 }, count: 0 },
    { name: "nothing", broken: { at: 0, until: 9_000, verb: "watch", status: 200, isWhole: true }, count: 0 },
    { name: "nothing yet", broken: { at: 0, until: undefined, verb: "watch", status: 200 }, count: 0 },
  ] as const)("counts where $name broke off: $count", ({ broken, count }) => {
    const records = [{ ...record(broken), endedAt: broken.until }, record(list)];

    expect(hastyCount(gapsOf(records, pace, hasFailedOrBroken), 50)).toBe(count);
  });
});

describe("an object that is written in vain", () => {
  const writes = (collection: string, ...statuses: readonly (number | undefined)[]): readonly RequestRecord[] =>
    statuses.map((status, at) => ({ ...record({ at, verb: "write", status }), collection }));

  it.each([
    { name: "as often as it may be", records: [...writes("/a/one", 503, 500), ...writes("/a/two", undefined, 429)] },
    { name: "not in a row", records: writes("/a/one", 503, 503, 200, 403, 403) },
    { name: "because another write has overtaken it", records: writes("/a/one", 503, 503, 409, 503, 404, 503) },
    { name: "not at all", records: writes("/a/one", 200, 200, 200) },
    { name: "not by requests that read", records: [0, 1, 2].map((at) => record({ at, status: 503 })) },
  ])("is no problem when it is written $name", ({ records }) => {
    expect(writeProblems(records, 2)).toEqual([]);
  });

  it("is one when it is written more often in a row", () => {
    expect(writeProblems([...writes("/a/one", 503), ...writes("/a/two", 503, undefined, 403)], 2)).toEqual([
      "/a/two was written in vain 3 times in a row, more than 2",
    ]);
  });
});

describe("a place that the server has forgotten", () => {
  const expired = (from: string | undefined, at: number): RequestRecord =>
    record({ at, verb: "watch", status: 200, from, isExpired: true });

  it.each([
    { name: "was left at once", records: [expired("7", 0), expired("9", 10)] },
    { name: "was asked for once more, as when the answer was lost", records: [expired("7", 0), expired("7", 10)] },
    { name: "was no place", records: [expired(undefined, 0), expired(undefined, 10), expired(undefined, 20)] },
  ])("is no problem when it $name", ({ records }) => {
    expect(insistenceProblems(records)).toEqual([]);
  });

  it("is a problem when it is asked for again and again", () => {
    const records = [expired("7", 0), expired("8", 5), expired("7", 10), expired("7", 20)];

    expect(insistenceProblems(records)).toEqual(["was told 3 times that 7 is forgotten"]);
  });
});
