import { hash } from "node:crypto";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { RouteAnswer } from "../../common/runtime/http-server.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { bearerToken, tokenExpiry } from "../core/bearer-token.ts";
import { type Budget, type BudgetRule, fullBudget, spend } from "../core/budget.ts";
import { NamedBudgets } from "../core/named-budgets.ts";
import { type Reporter, type ReporterRule, reporterOf } from "../core/reporter.ts";
import type { ReviewToken } from "./token-reviews.ts";

/** Whether a report is taken at all, before its body is read. */
export type Access =
  /** The pod whose reports it may bring; of anybody, where nobody is asked for a token. */
  | { readonly kind: "granted"; readonly podUid: string | undefined }
  | { readonly kind: "refused"; readonly outcome: Refusal; readonly answer: RouteAnswer };

export type Refusal = "unauthenticated" | "forbidden" | "throttled" | "review-failed";

/** Who asks, and the node that the path names. */
export interface AccessRequest {
  readonly authorization: string | undefined;
  /** The caller's address; nothing where there is none. */
  readonly address?: string | undefined;
  readonly node: string;
}

/** Decides who may report. A simulation, and a server that only this machine reaches, take everybody. */
export type GrantAccess = (request: AccessRequest) => Promise<Access>;

/** Everybody is who they say they are. */
export const grantToAll: GrantAccess = async () => ({ kind: "granted", podUid: undefined });

interface AccessParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly review: ReviewToken;
  readonly reviews: Counter<"outcome">;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** An agent of a deleted pod is refused after this time at the latest. The API server keeps its own answers for 10 s. Milliseconds. */
const BELIEVED_MS = 120_000;
/** A pod may be too young for the API server that was asked. */
const DISBELIEVED_MS = 5_000;
/** More than there are nodes; each is 200 bytes. */
const MOST_REMEMBERED = 20_000;
/** Kept apart: whoever comes with many bad tokens does not make good ones forgotten. */
const MOST_DISBELIEVED = 1_000;

/** An agent has one report under way, and sends the next when something was mounted or after half a minute. */
const NODE_REPORTS: BudgetRule = { most: 100, refillMs: 50 };
const ALL_REPORTS: BudgetRule = { most: 20_000, refillMs: 0.2 };
/** An agent has a new token every eight minutes. Nobody can use up the budget of who has been reviewed already. */
const NODE_REVIEWS: BudgetRule = { most: 20, refillMs: 3_000 };
const ALL_REVIEWS: BudgetRule = { most: 6_000, refillMs: 5 };

interface Belief {
  readonly reporter: Reporter;
  readonly untilMs: number;
}

/** Takes reports of the agents' own pods alone, each for its own node, by what the API server says of their tokens. */
export function createReportAccess(parts: AccessParts, rule: ReporterRule): GrantAccess {
  const access = new ReportAccess(parts, rule);
  return (request) => access.grant(request);
}

class ReportAccess {
  readonly #parts: AccessParts;
  readonly #rule: ReporterRule;
  /** By the hash of the token: what is in memory is of no use to who reads it. */
  readonly #beliefs = new Map<string, Belief>();
  readonly #disbeliefs = new Map<string, Belief>();
  readonly #asked = new Map<string, Promise<Reporter>>();
  readonly #nodeReports = new NamedBudgets(NODE_REPORTS, MOST_REMEMBERED);
  readonly #nodeReviews = new NamedBudgets(NODE_REVIEWS, MOST_REMEMBERED);
  #allReports: Budget = fullBudget(ALL_REPORTS);
  #allReviews: Budget = fullBudget(ALL_REVIEWS);
  #failures = 0;

  constructor(parts: AccessParts, rule: ReporterRule) {
    this.#parts = parts;
    this.#rule = rule;
  }

  async grant({ authorization, node }: AccessRequest): Promise<Access> {
    const token = bearerToken(authorization);
    if (token === undefined) return refused("unauthenticated", "a service account's token is needed");
    const key = hash("sha256", token);
    const nowMs = this.#parts.clock.monotonicMs();
    const belief = this.#beliefs.get(key) ?? this.#disbeliefs.get(key);
    const known = belief !== undefined && nowMs < belief.untilMs ? belief.reporter : undefined;
    if (known === undefined && !this.#asked.has(key) && !this.#mayReview(node, nowMs))
      return refused("throttled", "too many tokens that are not known");
    try {
      return this.#decide(known ?? (await this.#review(key, token)), node);
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      return refused("review-failed", "the token could not be reviewed");
    }
  }

  #decide(reporter: Reporter, node: string): Access {
    if (reporter.kind !== "agent") return refused(reporter.kind, reporter.why);
    if (reporter.node !== node) return refused("forbidden", "the token's pod is on another node");
    if (!this.#mayReport(node)) return refused("throttled", "too many reports");
    return { kind: "granted", podUid: reporter.podUid };
  }

  /** Several reports with one token at a time are one question. */
  async #review(key: string, token: string): Promise<Reporter> {
    const asked = this.#asked.get(key) ?? this.#ask(key, token).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return await asked;
  }

  async #ask(key: string, token: string): Promise<Reporter> {
    const { review, reviews, logger } = this.#parts;
    try {
      const reporter = reporterOf(await review(token), this.#rule);
      reviews.increment({ outcome: reporter.kind });
      if (this.#failures > 0) logger.info({ failures: this.#failures }, "tokens are reviewed again");
      this.#failures = 0;
      this.#remember(key, reporter, tokenExpiry(token));
      return reporter;
    } catch (error) {
      reviews.increment({ outcome: "failed" });
      this.#failures += 1;
      if (Number.isInteger(Math.log2(this.#failures)))
        logger.warn({ err: messageOf(error), failures: this.#failures }, "token not reviewed, report refused");
      throw error;
    }
  }

  #remember(key: string, reporter: Reporter, expiryMs: number | undefined): void {
    const { clock, nowMs } = this.#parts;
    this.#beliefs.delete(key);
    this.#disbeliefs.delete(key);
    const since = clock.monotonicMs();
    if (reporter.kind !== "agent") {
      this.#disbeliefs.set(key, { reporter, untilMs: since + DISBELIEVED_MS });
      dropOldest(this.#disbeliefs, MOST_DISBELIEVED);
      return;
    }
    // What does not say how long it lives is asked about each time.
    const livesMs = expiryMs === undefined ? 0 : expiryMs - nowMs();
    if (livesMs > 0) this.#beliefs.set(key, { reporter, untilMs: since + Math.min(BELIEVED_MS, livesMs) });
    dropOldest(this.#beliefs, MOST_REMEMBERED);
  }

  #mayReview(node: string, nowMs: number): boolean {
    if (!this.#nodeReviews.take(node, nowMs)) return false;
    const { isAllowed, budget } = spend(this.#allReviews, nowMs, ALL_REVIEWS);
    this.#allReviews = budget;
    return isAllowed;
  }

  #mayReport(node: string): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    if (!this.#nodeReports.take(node, nowMs)) return false;
    const { isAllowed, budget } = spend(this.#allReports, nowMs, ALL_REPORTS);
    this.#allReports = budget;
    return isAllowed;
  }
}

function dropOldest(beliefs: Map<string, Belief>, most: number): void {
  for (const oldest of beliefs.keys()) {
    if (beliefs.size <= most) return;
    beliefs.delete(oldest);
  }
}

const ANSWERS = {
  unauthenticated: { status: 401, headers: { "www-authenticate": "Bearer" } },
  forbidden: { status: 403 },
  throttled: { status: 429, headers: { "retry-after": "1" } },
  // The API server's trouble is not the agent's: it comes again with the same token.
  "review-failed": { status: 503, headers: { "retry-after": "1" } },
} as const satisfies Record<Refusal, Omit<RouteAnswer, "body">>;

function refused(outcome: Refusal, why: string): Access {
  return { kind: "refused", outcome, answer: { ...ANSWERS[outcome], body: `${why}\n` } };
}
