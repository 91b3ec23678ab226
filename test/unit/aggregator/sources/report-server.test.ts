import { describe, expect, it } from "vitest";
import type { GrantAccess } from "../../../../aggregator/sources/report-access.ts";
import { type ReportOutcome, reportRoute, type TurnedAway } from "../../../../aggregator/sources/report-server.ts";
import type { Steps } from "../../../../common/runtime/steps.ts";
import type { NodeMessage, ReportAnswer } from "../../../../common/storage/node-report.ts";
import { oneStep } from "../../../fakes/steps.ts";
import { reportWith } from "../world.ts";

interface PutOptions {
  readonly node?: string;
  readonly outcome?: ReportOutcome;
  readonly mountedVolume?: string | undefined;
  readonly session?: string;
  readonly early?: TurnedAway;
  readonly grant?: GrantAccess;
}

async function put(body: string, { node = "n1", outcome, mountedVolume, session, early, grant }: PutOptions = {}) {
  let isRead = false;
  const read = async (): Promise<string> => {
    isRead = true;
    return body;
  };
  const received: NodeMessage[] = [];
  const counted: string[] = [];
  const route = reportRoute(
    {
      onReport: (report) => {
        received.push(report);
        return oneStep(outcome ?? { kind: "accepted", answer: { forget: ["release-1"] } });
      },
      turnAway: () => early,
      pauseRejections: () => mountedVolume,
      session: () => session,
      newYield: () => () => undefined,
    },
    { increment: (labels) => counted.push(labels.outcome) },
    grant,
  );
  const call = { params: { node }, query: new URLSearchParams(), authorization: "Bearer a.b.c", body: read };
  const answer = await route.answer(call);
  return { answer, received, counted, isRead };
}

const valid = JSON.stringify(reportWith());

describe("reportRoute", () => {
  it("hands a valid report on, and answers what may be forgotten", async () => {
    const { answer, received, counted } = await put(valid);

    expect(answer).toMatchObject({ status: 200, body: '{"forget":["release-1"]}', contentType: "application/json" });
    expect(received).toEqual([reportWith()]);
    expect(counted).toEqual(["accepted"]);
  });

  it.each([
    { name: "a body that is no JSON", body: "{", problem: "invalid" },
    { name: "an empty body", body: "", problem: "invalid" },
    { name: "JSON that is no report", body: "[]", problem: "invalid" },
    { name: "a report of another version", body: valid.replace('"version":1', '"version":2'), problem: "version" },
    { name: "a report with an unknown field", body: valid.replace("{", '{"extra":1,'), problem: "extra" },
    {
      name: "a resource version that is no decimal number",
      body: valid.replace('"podsResourceVersion":"200"', '"podsResourceVersion":"0x20"'),
      problem: "podsResourceVersion",
    },
  ])("refuses $name", async ({ body, problem }) => {
    const { answer, received, counted } = await put(body);

    expect(answer.status).toBe(400);
    expect(answer.body).toContain(problem);
    expect(received).toEqual([]);
    expect(counted).toEqual(["invalid"]);
  });

  it("lets others have their turn after each step of taking a report", async () => {
    const turns: string[] = [];
    const taker = {
      onReport: function* (): Steps<ReportOutcome> {
        turns.push("weighed");
        yield;
        turns.push("taken");
        return { kind: "accepted", answer: { forget: [] } };
      },
      turnAway: () => undefined,
      pauseRejections: () => undefined,
      session: () => undefined,
      // Decoding has hundreds of short steps, taking a few long ones.
      newYield: (stepsBetween?: number) => async () => {
        if (stepsBetween === 1) turns.push("others");
      },
    };
    const route = reportRoute(taker, { increment: () => {} });

    await route.answer({ params: { node: "n1" }, query: new URLSearchParams(), body: async () => valid });

    expect(turns).toEqual(["weighed", "others", "taken"]);
  });

  it("reads no more than three bodies of one node at a time, and those of others", async () => {
    const bodies = Array.from({ length: 4 }, () => Promise.withResolvers<string>());
    const taker = {
      onReport: () => oneStep<ReportOutcome>({ kind: "accepted", answer: { forget: [] } }),
      turnAway: () => undefined,
      pauseRejections: () => undefined,
      session: () => undefined,
      newYield: () => () => undefined,
    };
    const route = reportRoute(taker, { increment: () => {} });
    const send = (node: string, body: Promise<string>) =>
      route.answer({ params: { node }, query: new URLSearchParams(), body: () => body });
    const open = bodies.slice(0, 3).map(({ promise }) => send("n1", promise));

    const fourth = await send("n1", Promise.resolve(valid));
    const other = await send("n2", Promise.resolve(valid.replace('"node":"n1"', '"node":"n2"')));
    for (const { resolve } of bodies) resolve(valid);
    const taken = await Promise.all(open);
    const later = await send("n1", Promise.resolve(valid));

    expect(fourth).toMatchObject({ status: 429, isLast: true });
    expect([other, ...taken, later].map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it("refuses a report of another node than the path names", async () => {
    const { answer, received } = await put(valid, { node: "n2" });

    expect(answer).toMatchObject({ status: 400, body: 'the report is of node "n1", the path names "n2"\n' });
    expect(received).toEqual([]);
  });

  it("reads nothing of the body of who may not report", async () => {
    const refusal = { status: 401, body: "a token is needed\n" };
    const grant: GrantAccess = async () => ({ kind: "refused", outcome: "unauthenticated", answer: refusal });

    const { answer, received, counted, isRead } = await put(valid, { grant });

    expect(answer).toEqual(refusal);
    expect([received, counted, isRead]).toEqual([[], ["unauthenticated"], false]);
  });

  it("answers 500 to a report in which a bug shows, so that it is sent again, and counts it", async () => {
    const { answer, counted } = await put(valid, { outcome: { kind: "failed" } });

    expect(answer).toEqual({ status: 500, body: "internal error\n" });
    expect(counted).toEqual(["failed"]);
  });

  it("asks whether the caller may report for the node that the path names", async () => {
    const asked: object[] = [];
    const grant: GrantAccess = async (request) => {
      asked.push(request);
      return { kind: "granted", podUid: reportWith().podUid, mayBring: () => true };
    };

    const { answer } = await put(valid, { grant });

    expect(answer.status).toBe(200);
    expect(asked).toEqual([{ node: "n1", authorization: "Bearer a.b.c" }]);
  });

  it("refuses a report of another pod than the token's", async () => {
    const grant: GrantAccess = async () => ({ kind: "granted", podUid: "another", mayBring: () => true });

    const { answer, received, counted } = await put(valid, { grant });

    expect(answer.status).toBe(403);
    expect([received, counted]).toEqual([[], ["forbidden"]]);
  });

  it("turns a body away that its sender may not bring now, before anything is made of it", async () => {
    const grant: GrantAccess = async () => ({ kind: "granted", podUid: reportWith().podUid, mayBring: () => false });

    const { answer, received, counted } = await put(valid, { grant });

    expect(answer).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect([received, counted]).toEqual([[], ["throttled"]]);
  });

  it("a stale report is a success for its sender, acknowledges nothing, and is not to be taken for known", async () => {
    const { answer, counted } = await put(valid, { outcome: { kind: "stale", why: "older" } });

    expect(answer).toMatchObject({ status: 200, body: '{"forget":[],"whole":true}' });
    expect(counted).toEqual(["stale"]);
  });

  it("a heartbeat of a state that is not known is answered with the wish for the whole", async () => {
    const { answer } = await put(valid, { outcome: { kind: "unknown" } });

    expect(answer).toMatchObject({ status: 200, body: '{"forget":[],"whole":true}' });
  });

  const FULL: ReportAnswer = {
    forget: [],
    reach: "7",
    whole: true,
    scanRequest: "session/1",
    nowMs: 5,
    volumes: [{ name: "pv-a", resourceVersion: "9" }],
  };

  it("names the session and pauses rejections in what an accepted report is answered", async () => {
    const { answer } = await put(valid, {
      outcome: { kind: "accepted", answer: FULL },
      mountedVolume: "too many",
      session: "s1",
    });

    expect(JSON.parse(answer.body)).toEqual({ ...FULL, session: "s1", pauseRejections: "too many" });
  });

  it.each(["stale", "unknown"] as const)(
    "pauses rejections and names the session whatever became of the report: %s",
    async (kind) => {
      const outcome: ReportOutcome = { kind, why: "" };
      const { answer } = await put(valid, { outcome, mountedVolume: "too many", session: "s1" });

      expect(JSON.parse(answer.body)).toMatchObject({ pauseRejections: "too many", session: "s1" });
    },
  );

  it.each(["not-leading", "not-ready"] as const)(
    "acknowledges nothing, and closes the connection, where it found out that it is %s",
    async (kind) => {
      const { answer, counted } = await put(valid, { outcome: { kind, why: "not now" } });

      expect(answer).toEqual({ status: 503, body: "not now\n", isLast: true });
      expect(counted).toEqual([kind]);
    },
  );

  it.each([
    { name: "nothing when it does not matter", waitMs: undefined, asked: undefined },
    { name: "nothing for less than a second", waitMs: 999, asked: undefined },
    { name: "whole seconds, never too few", waitMs: 1_001, asked: "2" },
  ])("asks who came too early for $name, before it reads or reviews anything", async ({ waitMs, asked }) => {
    const early: TurnedAway = { kind: "not-ready", why: "not listed yet", ...(waitMs !== undefined && { waitMs }) };
    const granted: object[] = [];
    const grant: GrantAccess = async (request) => {
      granted.push(request);
      return { kind: "granted", podUid: reportWith().podUid, mayBring: () => true };
    };

    const { answer, received, counted, isRead } = await put(valid, { early, grant });

    expect(answer).toMatchObject({ status: 503, body: "not listed yet\n", isLast: true });
    expect(answer.headers?.["retry-after"]).toBe(asked);
    expect([granted, received, counted, isRead]).toEqual([[], [], ["not-ready"], false]);
  });
});
