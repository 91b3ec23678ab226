import { hash } from "node:crypto";
import * as v from "valibot";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { RouteAnswer } from "../../common/runtime/http-answer.ts";
import type { RouteRequest } from "../../common/runtime/http-server.ts";
import { Budget, type BudgetRule, dropOldest, NamedBudgets } from "../core/reports/budgets.ts";
import { type AgentAccount, AUDIENCE, bearerToken, type Reporter, reporterOf } from "../core/reports/reporter.ts";
import type { OutsideParts } from "./cluster-parts.ts";

/** Whether a report is accepted, before its body is read; if not, the answer. */
export type Access = Granted | Answered;

export interface Granted {
  /** The pod whose reports the caller may send; any, where no token is required. */
  readonly podUid: string | undefined;
  /** Whether a body of so many characters is accepted now. */
  readonly mayBring: (characters: number) => boolean;
}

/** The outcome of a report as metrics name it, and the answer. */
export interface Answered {
  readonly outcome: string;
  readonly answer: RouteAnswer;
}

/** Decides whether a caller may report for the node. A server that only this machine reaches accepts every caller. */
export type GrantAccess = (
  request: Pick<RouteRequest, "authorization" | "address"> & { readonly node: string },
) => Promise<Access>;

export const grantToAll: GrantAccess = async () => ({ podUid: undefined, mayBring: () => true });

type AccessParts = Pick<OutsideParts, "client" | "clock" | "logger" | "metrics">;

/** A token counts at most so long after its end or its pod's; the API server itself caches for 10 s. Milliseconds. */
const BELIEVED_MS = 120_000;

/** Reviews at a time, each with a connection of its own. Strangers leave room for what was good. */
const MOST_UNDER_WAY = { known: 256, stranger: 128 } as const;

/** Of a node: a review in two minutes, beside strangers in its name. Fewer than may be under way, which leaves room to other nodes. */
const REVIEWS: BudgetRule = { most: 200, refillMs: 100 };
/** All agents may be behind one address, and each may be new; but one address must not use up the budget of all. */
const ADDRESS: BudgetRule = { most: 3_000, refillMs: 10 };
const STRANGERS: BudgetRule = { most: 6_000, refillMs: 5 };
/** More than there are nodes; each takes some hundred bytes. */
const MOST_REMEMBERED = 20_000;

/** An agent has one report under way, and sends the next one when a mount changes, or after half a minute. */
const NODE_REPORTS: BudgetRule = { most: 600, refillMs: 50 };
/** Several hundred mounts. The largest report takes the event loop 30 ms; such nodes seldom have one each second. */
const LARGE_BODY = 128 * 1024;
/** A large report counts as so many. */
const LARGE_COST = 20;

type Agent = Extract<Reporter, { readonly kind: "agent" }>;

/**
 * Accepts reports from agent pods alone, each for its own node, by reviews of their tokens. Everybody who reaches the
 * port may send what looks like a token, so strangers share a budget of reviews, one address half of it. A token of a
 * known pod from its address takes from its node's reviews, never from its reports: a stranger would need that address and
 * the UID of the pod.
 */
export function createGrant(parts: AccessParts, agents: AgentAccount): GrantAccess {
  const review = createReview(parts, agents);
  /** By address and pod. Of the token, its hash: a copy of this memory contains no token. */
  const known = new Map<string, { readonly agent: Agent; readonly token: string; readonly untilMs: number }>();
  const nodeReports = new NamedBudgets(NODE_REPORTS, MOST_REMEMBERED);
  const nodeReviews = new NamedBudgets(REVIEWS, MOST_REMEMBERED);
  const addresses = new NamedBudgets(ADDRESS, MOST_REMEMBERED);
  const strangers = new Budget(STRANGERS);
  let underWay = 0;
  const decide = ({ node: own, podUid }: Agent, node: string): Access => {
    if (own !== node) return refused("forbidden", "the token's pod is on another node");
    const take = (cost: number): boolean => nodeReports.take(node, parts.clock.monotonicMs(), cost);
    if (!take(1)) return refused("throttled", "too many reports");
    return { podUid, mayBring: (characters) => characters < LARGE_BODY || take(LARGE_COST - 1) };
  };
  const mayReview = (agent: Agent | undefined, address: string, nowMs: number): boolean =>
    agent ? nodeReviews.take(agent.node, nowMs) : addresses.take(address, nowMs) && strangers.take(nowMs);
  return async ({ authorization, address = "", node }) => {
    const token = bearerToken(authorization);
    if (token === undefined) return refused("unauthenticated", "a service account's token is needed");
    const nowMs = parts.clock.monotonicMs();
    // Where an unreviewed token comes from is a fact, what it says of itself is not.
    const source = `${address} ${podUidIn(token)}`;
    const before = known.get(source);
    const hashed = hash("sha256", token);
    if (before?.token === hashed && nowMs < before.untilMs) return decide(before.agent, node);
    if (!mayReview(before?.agent, address, nowMs) || underWay >= MOST_UNDER_WAY[before ? "known" : "stranger"])
      return refused("throttled", "too many tokens that are not known");
    underWay += 1;
    const reporter = await review(token).finally(() => {
      underWay -= 1;
    });
    if (reporter === undefined) return refused("review-failed", "the token could not be reviewed");
    if (reporter.kind !== "agent") return refused(reporter.kind, reporter.why);
    known.delete(source);
    known.set(source, { agent: reporter, token: hashed, untilMs: nowMs + BELIEVED_MS });
    dropOldest(known, MOST_REMEMBERED);
    return decide(reporter, node);
  };
}

/** Asks whose token it is; undefined without an answer of the API server. */
function createReview({ client, clock, logger, metrics }: AccessParts, agents: AgentAccount) {
  const reviews = metrics.counter({
    name: "mooring_token_reviews_total",
    help: "TokenReviews of agents' tokens, by outcome.",
    labels: ["outcome"],
  });
  let failures = 0;
  return async (token: string): Promise<Reporter | undefined> => {
    try {
      const reporter = reporterOf(await reviewToken({ client, clock }, token), agents);
      reviews.increment({ outcome: reporter.kind });
      if (failures > 0) logger.info({ failures }, "tokens are reviewed again");
      failures = 0;
      return reporter;
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      reviews.increment({ outcome: "failed" });
      failures += 1;
      if (Number.isInteger(Math.log2(failures)))
        logger.warn({ err: messageOf(error), failures }, "token not reviewed, report refused");
      return undefined;
    }
  };
}

const REFUSALS = {
  invalid: { status: 400 },
  // A refused token is reviewed each time: agents with a wrong account must leave reviews to others.
  unauthenticated: { status: 401, headers: { "www-authenticate": "Bearer", "retry-after": "5" } },
  forbidden: { status: 403, headers: { "retry-after": "5" } },
  // A connection with an unread body can carry no other request.
  throttled: { status: 429, headers: { "retry-after": "1" }, isLast: true },
  failed: { status: 500 },
  // The node's earlier records may be settled by the time it sends the report again.
  "too-much": { status: 429, headers: { "retry-after": "10" } },
  // The API server failed, not the agent: it sends the report again with the same token.
  "review-failed": { status: 503, headers: { "retry-after": "1" } },
} as const satisfies Record<string, Omit<RouteAnswer, "body">>;

export function refused(outcome: keyof typeof REFUSALS, why: string): Answered {
  return { outcome, answer: { ...REFUSALS[outcome], body: `${why}\n` } };
}

/** Any value, undefined for a text that is no JSON. */
export const anyJson = v.fallback(v.pipe(v.string(), v.parseJson()), undefined);
const bound = v.object({ "kubernetes.io": v.object({ pod: v.object({ uid: v.pipe(v.string(), v.maxLength(128)) }) }) });

/** The UID of the pod that a token says it is bound to, which only a review proves (k8s.io/kubernetes: pkg/serviceaccount/claims.go). */
export function podUidIn(token: string): string | undefined {
  const claims = v.parse(anyJson, Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
  return v.is(bound, claims) ? claims["kubernetes.io"].pod.uid : undefined;
}

/** Less than an agent waits for its answer. Milliseconds. */
const REVIEW_LIMIT_MS = 5_000;

const strings = v.array(v.string());
const user = v.object({ username: v.nullish(v.string(), ""), extra: v.nullish(v.record(v.string(), strings), {}) });
/** Absent parts are empty: the API server leaves `authenticated` out where it refuses the token. */
const status = v.object({
  authenticated: v.optional(v.boolean(), false),
  audiences: v.nullish(strings, []),
  user: v.nullish(user, {}),
});
const reviewed = v.object({ status: v.optional(status, {}) });

/** With the audience: without it a token for the API server would do. Rejects with `MooringError` without an answer. */
export async function reviewToken({ client, clock }: Pick<AccessParts, "client" | "clock">, token: string) {
  const [apiVersion, kind] = ["authentication.k8s.io/v1", "TokenReview"];
  const body = { apiVersion, kind, spec: { token, audiences: [AUDIENCE] } };
  const review = { method: "POST", path: `/apis/${apiVersion}/tokenreviews`, body } as const;
  const { signal } = new AbortController();
  const answer = await withDeadline({ clock, signal }, REVIEW_LIMIT_MS, (limited) => client.request(review, limited));
  const read = v.safeParse(reviewed, answer);
  if (!read.success) throw new MooringError("transport-failed", "the answer is no review of a token");
  return read.output.status;
}
