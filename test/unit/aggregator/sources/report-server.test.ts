import { describe, expect, it } from "vitest";
import { type GrantAccess, grantToAll } from "../../../../aggregator/sources/report-access.ts";
import {
  type ReportOutcome,
  type ReportTaker,
  reportRoute,
  WHOLE,
} from "../../../../aggregator/sources/report-server.ts";
import type { RouteAnswer } from "../../../../common/runtime/http-answer.ts";
import type { NodeMessage, ReportAnswer } from "../../../../common/storage/node-report.ts";
import { oneStep } from "../../../fakes/steps.ts";
import { reportWith } from "../world.ts";

const valid = JSON.stringify(reportWith());

interface Options extends Partial<ReportTaker> {
  readonly outcome?: ReportOutcome;
  readonly grant?: GrantAccess;
}

/** The route, and what becomes of what is put there. */
function setUp({ outcome, grant = grantToAll, ...taker }: Options = {}) {
  const received: NodeMessage[] = [];
  const counted: string[] = [];
  const asked: object[] = [];
  const read: string[] = [];
  const accepted: ReportOutcome = { kind: "accepted", answer: { forget: ["record-1"] } };
  const route = reportRoute(
    {
      onReport: (report) => {
        received.push(report);
        return oneStep(outcome ?? accepted);
      },
      ...{
        turnAway: () => undefined,
        retryAfterSeconds: () => 0,
        pauseRejections: () => undefined,
        session: () => undefined,
      },
      yieldToEventLoop: () => undefined,
      ...taker,
    },
    { increment: (labels) => counted.push(labels.outcome) },
    async (request) => {
      asked.push(request);
      return await grant(request);
    },
  );
  const put = async (body: string | Promise<string> = valid, node = "n1"): Promise<RouteAnswer> => {
    const bodyOf = async (): Promise<string> => {
      read.push(node);
      return await body;
    };
    const request = { params: { node }, query: new URLSearchParams(), authorization: "Bearer a.b.c", body: bodyOf };
    return await route.answer(request);
  };
  return { put, received, counted, asked, read };
}

const granted = (podUid: string, mayBring = true): GrantAccess => {
  return async () => ({ podUid, mayBring: () => mayBring });
};

describe("a report", () => {
  it("is handed on, where its sender may report for the node, and answered with what may be forgotten", async () => {
    const { put, received, counted, asked } = setUp({ grant: granted(reportWith().podUid) });

    const answer = await put();

    expect(answer).toMatchObject({ status: 200, body: '{"forget":["record-1"]}', contentType: "application/json" });
    expect([received, counted]).toEqual([[reportWith()], ["accepted"]]);
    expect(asked).toEqual([{ node: "n1", authorization: "Bearer a.b.c" }]);
  });

  it("beyond the rate limit of its sender has to come again", async () => {
    const { put, received, counted } = setUp({ grant: granted(reportWith().podUid, false) });

    expect(await put()).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect([received, counted]).toEqual([[], ["throttled"]]);
  });

  it("that comes too early is neither read nor reviewed, and has to come again after a time", async () => {
    const why = "not listed yet";
    const away = { turnAway: () => ({ kind: "not-ready", why }) as const, retryAfterSeconds: () => 7 };
    const { put, received, counted, asked, read } = setUp(away);

    const answer = { status: 503, body: `${why}\n`, isLast: true, headers: { "retry-after": "7" } };
    expect(await put()).toMatchObject(answer);
    expect([asked, received, read, counted]).toEqual([[], [], [], ["not-ready"]]);
  });
});

describe("what is answered", () => {
  const said = { session: () => "s1", pauseRejections: () => "too many" };
  const whole = { forget: [], whole: true };
  const FULL: ReportAnswer = {
    ...{ forget: [], reach: "7", whole: true, scanRequest: "session/1", nowMs: 5 },
  };

  it.each<readonly [name: string, outcome: ReportOutcome, answer: object]>([
    ["everything to an accepted report", { kind: "accepted", answer: FULL }, FULL],
    ["a request for the full state to a stale report, which is not known", { kind: "stale", answer: WHOLE }, whole],
    ["a request for the full state to a heartbeat of an unknown state", { kind: "unknown", answer: WHOLE }, whole],
  ])("is %s, with the session and the pause of rejections where there are any", async (_, outcome, answer) => {
    const [plain, more] = [setUp({ outcome }), setUp({ outcome, ...said })];

    const answers = [await plain.put(), await more.put()].map(({ status, body }) => ({
      status,
      body: JSON.parse(body),
    }));

    const beside = { session: "s1", pauseRejections: "too many" };
    expect(answers).toEqual([
      { status: 200, body: answer },
      { status: 200, body: { ...answer, ...beside } },
    ]);
    expect(plain.counted).toEqual([outcome.kind]);
  });

  it.each<readonly [outcome: ReportOutcome, answer: RouteAnswer]>(
    // biome-ignore format: a row is a line
    [
      [{ kind: "failed", why: "internal error" }, { status: 500, body: "internal error\n" }],
      [{ kind: "not-leading", why: "not now" }, { status: 503, body: "not now\n", isLast: true, headers: { "retry-after": "0" } }],
      [{ kind: "not-ready", why: "not now" }, { status: 503, body: "not now\n", isLast: true, headers: { "retry-after": "0" } }],
    ],
  )("acknowledges nothing where the report was not taken: $kind", async (outcome, answer) => {
    const { put, counted } = setUp({ outcome, ...said });

    expect(await put()).toEqual(answer);
    expect(counted).toEqual([outcome.kind]);
  });
});
