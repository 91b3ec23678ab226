import type { RouteAnswer } from "../../common/runtime/http-answer.ts";
import type { Route, RouteRequest } from "../../common/runtime/http-server.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { runInSteps, type Steps } from "../../common/runtime/steps.ts";
import type { YieldToEventLoop } from "../../common/runtime/yield.ts";
import {
  type Decoded,
  decodeInSteps,
  MAX_REPORT_BYTES,
  MAX_REPORT_PARTS,
  type NodeMessage,
  type ReportAnswer,
} from "../../common/storage/node-report.ts";
import { type Access, type GrantAccess, grantToAll } from "./report-access.ts";

/** The report does not count now: another process leads, or this one is not ready. */
export type TurnedAway = Away<"not-leading"> | Away<"not-ready">;

interface Away<Kind> {
  readonly kind: Kind;
  readonly why: string;
  /** After so many milliseconds the agent has to send it again; undefined leaves that to the agent. */
  readonly waitMs?: number;
}

/** The outcome of a report. */
export type ReportOutcome =
  | { readonly kind: "accepted"; readonly answer: ReportAnswer }
  | { readonly kind: "stale"; readonly why: string }
  /** A heartbeat for an unknown state, or a message to an earlier leader: the whole report is needed. */
  | { readonly kind: "unknown" }
  /** The report met a bug. */
  | { readonly kind: "failed" }
  /** The report would take more memory than a node may have. */
  | { readonly kind: "too-much"; readonly why: string }
  | TurnedAway;

/** Takes reports. */
export interface ReportTaker {
  readonly onReport: (report: NodeMessage) => Steps<ReportOutcome>;
  /** Why no report is accepted now. Costs next to nothing: it is called before a body is read. */
  readonly turnAway: () => TurnedAway | undefined;
  /** Why agents may reject no pod. Every answer includes it, whatever the outcome of the report. */
  readonly pauseRejections: () => string | undefined;
  /** The leader session, which every answer names; undefined while this process does not lead. */
  readonly session: () => string | undefined;
  /** Lets other tasks run in the middle of long work; see `createYield`. */
  readonly newYield: (stepsBetween?: number) => YieldToEventLoop;
}

type Granted = Extract<Access, { readonly kind: "granted" }>;

/** An agent has one report under way and gives it up after ten of the thirty seconds it may take, so a node never has more. */
const MOST_OF_A_NODE = 3;

/**
 * `PUT /v1/nodes/{node}/report`: takes the state of a node, and answers which of its unmount records it may forget. No body is read
 * before `grant` accepts the caller for the node.
 */
export function reportRoute(taker: ReportTaker, reports: Counter<"outcome">, grant: GrantAccess = grantToAll): Route {
  const underWay = new Map<string, number>();
  const decodeInTurn = createDecoder(taker);
  const receive = async (request: RouteRequest, { podUid, mayBring }: Granted): Promise<RouteAnswer> => {
    const text = await request.body();
    if (!mayBring(text.length)) return tooMany(reports, "too many large reports of the node");
    const decoded = await decodeInTurn(text);
    if (!decoded.ok) return refuse(reports, `the report is invalid:\n${decoded.problems.join("\n")}`);
    const report = decoded.value;
    const { node } = request.params;
    if (report.node !== node)
      return refuse(reports, `the report is of node "${report.node}", the path names "${node}"`);
    if (podUid !== undefined && report.podUid !== podUid) {
      reports.increment({ outcome: "forbidden" });
      return { status: 403, body: "the report is of another pod than the token's\n" };
    }
    // The steps are long, so the clock is read after each.
    const outcome = await runInSteps(taker.onReport(report), taker.newYield(1));
    if (outcome.kind === "too-much") return tooMuch(reports, outcome.why);
    return isTurnedAway(outcome) ? away(reports, outcome) : taken(reports, outcome, saidToAll(taker));
  };
  return {
    method: "PUT",
    path: "/v1/nodes/:node/report",
    maxBodyBytes: MAX_REPORT_BYTES,
    maxBodyParts: MAX_REPORT_PARTS,
    answer: async (request) => {
      const early = taker.turnAway();
      if (early !== undefined) return away(reports, early);
      const { authorization, address, params } = request;
      const node = params.node ?? "";
      const access = await grant({ authorization, address, node });
      if (access.kind === "refused") {
        reports.increment({ outcome: access.outcome });
        return access.answer;
      }
      const others = underWay.get(node) ?? 0;
      if (others >= MOST_OF_A_NODE) return tooMany(reports, "too many reports of the node are under way");
      underWay.set(node, others + 1);
      return await receive(request, access).finally(() => {
        const left = (underWay.get(node) ?? 1) - 1;
        if (left > 0) underWay.set(node, left);
        else underWay.delete(node);
      });
    },
  };
}

/** Decodes one body at a time, as decoding takes several times its memory. Other tasks run in between. */
function createDecoder({ newYield }: ReportTaker): (text: string) => Promise<Decoded<NodeMessage>> {
  let last: Promise<unknown> = Promise.resolve();
  const decode = (text: string): Promise<Decoded<NodeMessage>> =>
    runInSteps(decodeInSteps(parseJson(text)), newYield());
  return (text) => {
    const mine = last.then(() => decode(text));
    last = mine.catch(() => {});
    return mine;
  };
}

type Taken = Exclude<ReportOutcome, TurnedAway | { readonly kind: "too-much" }>;

function isTurnedAway(outcome: ReportOutcome): outcome is TurnedAway {
  return outcome.kind === "not-leading" || outcome.kind === "not-ready";
}

/** What every answer includes, whatever the outcome of the report. */
function saidToAll(taker: ReportTaker): Partial<ReportAnswer> {
  const [session, pauseRejections] = [taker.session(), taker.pauseRejections()];
  return { ...(session !== undefined && { session }), ...(pauseRejections !== undefined && { pauseRejections }) };
}

function taken(reports: Counter<"outcome">, outcome: Taken, said: Partial<ReportAnswer>): RouteAnswer {
  reports.increment({ outcome: outcome.kind });
  if (outcome.kind === "failed") return { status: 500, body: "internal error\n" };
  return json({ ...answerOf(outcome), ...said });
}

/** The answer to the message itself. */
function answerOf(outcome: Exclude<Taken, { readonly kind: "failed" }>): ReportAnswer {
  if (outcome.kind === "accepted") return outcome.answer;
  // A report that arrives too late is a success: a newer one is known. If it is the agent's newest all the same, the agent must not assume
  // that the aggregator knows it.
  return { forget: [], whole: true };
}

function away(reports: Counter<"outcome">, { kind, why, waitMs = 0 }: TurnedAway): RouteAnswer {
  reports.increment({ outcome: kind });
  // The next connection may lead to the leader.
  const answer = { status: 503, body: `${why}\n`, isLast: true };
  // Whole seconds: an agent waits for less by itself.
  return waitMs < 1000 ? answer : { ...answer, headers: { "retry-after": String(Math.ceil(waitMs / 1000)) } };
}

function tooMany(reports: Counter<"outcome">, why: string): RouteAnswer {
  reports.increment({ outcome: "throttled" });
  // A connection with an unread body can carry no other request.
  return { status: 429, body: `${why}\n`, headers: { "retry-after": "1" }, isLast: true };
}

/** The node's earlier records may be settled by the time it sends the report again. */
function tooMuch(reports: Counter<"outcome">, why: string): RouteAnswer {
  reports.increment({ outcome: "too-much" });
  return { status: 429, body: `${why}\n`, headers: { "retry-after": "10" } };
}

function refuse(reports: Counter<"outcome">, why: string): RouteAnswer {
  reports.increment({ outcome: "invalid" });
  return { status: 400, body: `${why}\n` };
}

function json(value: ReportAnswer): RouteAnswer {
  return { status: 200, body: JSON.stringify(value), contentType: "application/json" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
