import * as v from "valibot";
import type { Route, RouteRequest } from "../../common/runtime/http-server.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import type { Random } from "../../common/runtime/random.ts";
import { runInSteps, type Steps } from "../../common/runtime/steps.ts";
import type { YieldToEventLoop } from "../../common/runtime/yield.ts";
import {
  decodeInSteps,
  MAX_REPORT_BYTES,
  MAX_REPORT_PARTS,
  type NodeMessage,
  type ReportAnswer,
} from "../../common/storage/node-report.ts";
import { type Answered, anyJson, type GrantAccess, type Granted, grantToAll, refused } from "./report-access.ts";

/** The report does not count now: another process leads, or this one is not ready. */
export interface TurnedAway {
  readonly kind: "not-leading" | "not-ready";
  readonly why: string;
}

export const NOT_LISTED: TurnedAway = { kind: "not-ready", why: "the cluster has not been listed yet" };
export const NOT_LEADING: TurnedAway = { kind: "not-leading", why: "not the leader" };

/** One whole report is 20 kB: the aggregator takes one each 5 ms. */
const TAKEN_PER_SECOND = 200;
/** After this time an agent sends a message anyway. */
const LONGEST_SECONDS = 30;

/** Whole seconds, at random within the time that all reports take: thousands of agents would retry at once. */
export function secondsToWait(random: Random, nodes: number): number {
  return Math.floor(random.fraction() * Math.min(LONGEST_SECONDS, 1 + nodes / TAKEN_PER_SECOND));
}

export type ReportOutcome =
  /** Unknown: a heartbeat for an unknown state, or a message to an earlier leader. Stale: a newer report is known. */
  | { readonly kind: "accepted" | "stale" | "unknown"; readonly answer: ReportAnswer }
  /** The report met a bug. */
  | { readonly kind: "failed"; readonly why: string }
  /** The report would take more memory than a node may have. */
  | { readonly kind: "too-much"; readonly why: string }
  | TurnedAway;

/** The answer to what is stale or unknown: its agent may not assume that its newest report is known. */
export const WHOLE: ReportAnswer = { forget: [], whole: true };

export interface ReportTaker {
  readonly onReport: (report: NodeMessage) => Steps<ReportOutcome>;
  /** Why no report is accepted now. Costs next to nothing: it is called before a body is read. */
  readonly turnAway: () => TurnedAway | undefined;
  /** After so many seconds an agent that is turned away has to come again; 0 leaves that to the agent. */
  readonly retryAfterSeconds: () => number;
  /** Why agents may reject no pod. Every answer includes it, whatever the outcome of the report. */
  readonly pauseRejections: () => string | undefined;
  /** The leader session, which every answer names; undefined while this process does not lead. */
  readonly session: () => string | undefined;
  /** Shared by all reports: many that arrive at once must not hold the event loop together; see `createYield`. */
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** An agent has one report under way and gives up after ten of its thirty seconds, so a node never has more. */
const MOST_OF_A_NODE = 3;

/** `PUT /v1/nodes/{node}/report`: takes a node's state. No body is read before `grant` accepts the caller. */
export function reportRoute(taker: ReportTaker, reports: Counter<"outcome">, grant: GrantAccess = grantToAll): Route {
  const underWay = new Map<string, number>();
  const receive = createReceiver(taker);
  const answer = async (request: RouteRequest): Promise<Answered> => {
    const early = taker.turnAway();
    if (early !== undefined) return away(early, taker);
    const { authorization, address } = request;
    const { node = "" } = request.params;
    const access = await grant({ authorization, address, node });
    if ("answer" in access) return access;
    const others = underWay.get(node) ?? 0;
    if (others >= MOST_OF_A_NODE) return refused("throttled", "too many reports of the node are under way");
    underWay.set(node, others + 1);
    return await receive(request, access).finally(() => {
      const left = (underWay.get(node) ?? 1) - 1;
      if (left > 0) underWay.set(node, left);
      else underWay.delete(node);
    });
  };
  return {
    method: "PUT",
    path: "/v1/nodes/:node/report",
    maxBodyBytes: MAX_REPORT_BYTES,
    maxBodyParts: MAX_REPORT_PARTS,
    answer: async (request) => {
      const answered = await answer(request);
      reports.increment({ outcome: answered.outcome });
      return answered.answer;
    },
  };
}

/** Takes one report at a time, as to decode one takes several times its memory. Other tasks run in between. */
function createReceiver(taker: ReportTaker): (request: RouteRequest, access: Granted) => Promise<Answered> {
  const { yieldToEventLoop } = taker;
  const take = async (text: string, node: string | undefined, podUid: string | undefined): Promise<Answered> => {
    await yieldToEventLoop();
    const decoded = await runInSteps(decodeInSteps(v.parse(anyJson, text)), yieldToEventLoop);
    if (!decoded.ok) return refused("invalid", `the report is invalid:\n${decoded.problems.join("\n")}`);
    const report = decoded.value;
    if (report.node !== node)
      return refused("invalid", `the report is of node "${report.node}", the path names "${node}"`);
    if (podUid !== undefined && report.podUid !== podUid)
      return refused("forbidden", "the report is of another pod than the token's");
    return answerTo(await runInSteps(taker.onReport(report), yieldToEventLoop), taker);
  };
  let last: Promise<unknown> = Promise.resolve();
  return async ({ body, params }, { podUid, mayBring }) => {
    const text = await body();
    if (!mayBring(text.length)) return refused("throttled", "too many large reports of the node");
    const mine = last.then(() => take(text, params.node, podUid));
    last = mine.catch(() => {});
    return mine;
  };
}

function answerTo(outcome: ReportOutcome, taker: ReportTaker): Answered {
  if (outcome.kind === "failed" || outcome.kind === "too-much") return refused(outcome.kind, outcome.why);
  if (!("answer" in outcome)) return away(outcome, taker);
  const said = { ...outcome.answer, session: taker.session(), pauseRejections: taker.pauseRejections() };
  return {
    outcome: outcome.kind,
    answer: { status: 200, body: JSON.stringify(said), contentType: "application/json" },
  };
}

function away({ kind, why }: TurnedAway, taker: ReportTaker): Answered {
  const headers = { "retry-after": String(taker.retryAfterSeconds()) };
  // The next connection may lead to the leader.
  return { outcome: kind, answer: { status: 503, body: `${why}\n`, headers, isLast: true } };
}
