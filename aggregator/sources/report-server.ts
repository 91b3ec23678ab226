import type { RouteAnswer } from "../../common/runtime/http-answer.ts";
import type { Route, RouteRequest } from "../../common/runtime/http-server.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { finishInTurns, type Steps } from "../../common/runtime/steps.ts";
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

/** Nothing that is said here counts now: another process decides, or this one does not yet. */
export type TurnedAway = Away<"not-leading"> | Away<"not-ready">;

interface Away<Kind> {
  readonly kind: Kind;
  readonly why: string;
  /** In so many milliseconds it is to be said again; the sender knows how soon by itself unless told. */
  readonly waitMs?: number;
}

/** What becomes of a report. */
export type ReportOutcome =
  | { readonly kind: "accepted"; readonly answer: ReportAnswer }
  | { readonly kind: "stale"; readonly why: string }
  /** A heartbeat for a state that is not known, or a message to an earlier leader: the whole report is needed. */
  | { readonly kind: "unknown" }
  /** A bug showed in what was made of it. */
  | { readonly kind: "failed" }
  /** To remember it would take more memory than there is for the node. */
  | { readonly kind: "too-much"; readonly why: string }
  | TurnedAway;

/** Who takes reports. */
export interface ReportTaker {
  readonly onReport: (report: NodeMessage) => Steps<ReportOutcome>;
  /** Why no report is taken now, whoever sends it. Asked before anything of one is read, as it costs next to nothing. */
  readonly turnAway: () => TurnedAway | undefined;
  /** Why no agent is to reject a pod: every answer says so, whatever became of the report. */
  readonly pauseRejections: () => string | undefined;
  /** Of this session; every answer names it. Nothing while this process does not lead. */
  readonly session: () => string | undefined;
  /** Lets others have a turn in the middle of long work; see `createBreather`. */
  readonly newYield: (stepsBetween?: number) => YieldToEventLoop;
}

type Granted = Extract<Access, { readonly kind: "granted" }>;

/** An agent has one under way, and gives it up after ten seconds of the thirty that it may take: more are no agent's. */
const MOST_OF_A_NODE = 3;

/**
 * `PUT /v1/nodes/{node}/report`: takes the state of a node, and answers which of its unmount records may be forgotten. Nothing of the body is
 * read before `grant` says that the caller may report for the node.
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
    // Its steps are long: the clock is read after each.
    const outcome = await finishInTurns(taker.onReport(report), taker.newYield(1));
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

/** Decodes one body at a time, as what is made of it takes several times its memory, and lets others have their turn meanwhile. */
function createDecoder({ newYield }: ReportTaker): (text: string) => Promise<Decoded<NodeMessage>> {
  let last: Promise<unknown> = Promise.resolve();
  const decode = (text: string): Promise<Decoded<NodeMessage>> =>
    finishInTurns(decodeInSteps(parseJson(text)), newYield());
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

/** What every answer says, whatever became of the report. */
function saidToAll(taker: ReportTaker): Partial<ReportAnswer> {
  const [session, pauseRejections] = [taker.session(), taker.pauseRejections()];
  return { ...(session !== undefined && { session }), ...(pauseRejections !== undefined && { pauseRejections }) };
}

function taken(reports: Counter<"outcome">, outcome: Taken, said: Partial<ReportAnswer>): RouteAnswer {
  reports.increment({ outcome: outcome.kind });
  if (outcome.kind === "failed") return { status: 500, body: "internal error\n" };
  return json({ ...answerOf(outcome), ...said });
}

/** What the sender is told of its own message. */
function answerOf(outcome: Exclude<Taken, { readonly kind: "failed" }>): ReportAnswer {
  if (outcome.kind === "accepted") return outcome.answer;
  // A report that came too late is a success for its sender: a newer one is known, there is nothing to send again. Should it be
  // the sender's newest all the same, it must not take what it sent for known.
  return { forget: [], whole: true };
}

function away(reports: Counter<"outcome">, { kind, why, waitMs = 0 }: TurnedAway): RouteAnswer {
  reports.increment({ outcome: kind });
  // The next connection may lead to who does lead.
  const answer = { status: 503, body: `${why}\n`, isLast: true };
  // Whole seconds: whoever is to wait for less knows that by itself.
  return waitMs < 1000 ? answer : { ...answer, headers: { "retry-after": String(Math.ceil(waitMs / 1000)) } };
}

function tooMany(reports: Counter<"outcome">, why: string): RouteAnswer {
  reports.increment({ outcome: "throttled" });
  // Of what has not been read nothing else can come over this connection.
  return { status: 429, body: `${why}\n`, headers: { "retry-after": "1" }, isLast: true };
}

/** It is not the report's fault alone: what was told before may be settled by the time that it comes again. */
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
