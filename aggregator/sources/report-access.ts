import { hash } from "node:crypto";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { RouteAnswer } from "../../common/runtime/http-answer.ts";
import type { RouteRequest } from "../../common/runtime/http-server.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { type BudgetRule, dropOldest, NamedBudgets, ReviewLimits, type TokenSource } from "../core/reports/budgets.ts";
import {
  bearerToken,
  claimedPodUid,
  type Reporter,
  type ReporterRule,
  reporterOf,
  tokenExpiry,
} from "../core/reports/reporter.ts";
import type { OutsideParts } from "./cluster-parts.ts";
import type { ReviewToken } from "./token-reviews.ts";

/** Whether a report is accepted, before its body is read. */
export type Access =
  /** The pod whose reports the caller may send; any, where no token is required. */
  | {
      readonly kind: "granted";
      readonly podUid: string | undefined;
      /** Whether a body of so many characters is accepted now. */
      readonly mayBring: (characters: number) => boolean;
    }
  | Refused;

/** Why a report does not count: the outcome as metrics name it, and the answer. */
export interface Refused {
  readonly kind: "refused";
  readonly outcome: keyof typeof REFUSALS;
  readonly answer: RouteAnswer;
}

/** Decides whether a caller may report for the node. A server that only this machine reaches accepts every caller. */
export type GrantAccess = (
  request: Pick<RouteRequest, "authorization" | "address"> & { readonly node: string },
) => Promise<Access>;

export const grantToAll: GrantAccess = async () => ({ kind: "granted", podUid: undefined, mayBring: () => true });

interface AccessParts extends Pick<OutsideParts, "clock" | "logger" | "nowMs"> {
  readonly review: ReviewToken;
  readonly reviews: Counter<"outcome">;
}

/** The agent of a deleted pod is refused after this time at the latest. The API server caches its own answers for 10 s. Milliseconds. */
const BELIEVED_MS = 120_000;
/** The API server that answered may not know a young pod yet. Milliseconds. */
const DISBELIEVED_MS = 5_000;
/** More than there are nodes; each entry takes 200 bytes. */
const MOST_REMEMBERED = 20_000;
/** A cache of its own: a caller with many bad tokens must not displace good ones. */
const MOST_DISBELIEVED = 1_000;

/** An agent has one report under way, and sends the next one when a mount changes, or after half a minute. */
const NODE_REPORTS: BudgetRule = { most: 100, refillMs: 50 };
/** Several hundred mounts. The largest report holds the event loop for up to 30 ms, and such a node seldom has news each second. */
const LARGE_BODY = 128 * 1024;
const LARGE_REPORTS: BudgetRule = { most: 30, refillMs: 1_000 };

interface Belief {
  readonly reporter: Reporter;
  readonly untilMs: number;
}

interface Asked {
  readonly key: string;
  readonly token: string;
  readonly source: TokenSource;
  /** The token was good before, or comes from an address that good ones came from. */
  readonly isFirst: boolean;
}

/** Accepts reports from agent pods alone, each for its own node, by the API server's review of their tokens. */
export class ReportAccess {
  readonly #parts: AccessParts;
  readonly #rule: ReporterRule;
  /** By the hash of the token: a copy of this memory contains no token. */
  readonly #beliefs = new Map<string, Belief>();
  readonly #disbeliefs = new Map<string, Belief>();
  readonly #asked = new Map<string, Promise<Reporter>>();
  readonly #nodeReports = new NamedBudgets(NODE_REPORTS, MOST_REMEMBERED);
  readonly #largeReports = new NamedBudgets(LARGE_REPORTS, MOST_REMEMBERED);
  readonly #limits = new ReviewLimits();
  #failures = 0;

  constructor(parts: AccessParts, rule: ReporterRule) {
    this.#parts = parts;
    this.#rule = rule;
  }

  readonly grant: GrantAccess = async ({ authorization, address, node }) => {
    const token = bearerToken(authorization);
    if (token === undefined) return refused("unauthenticated", "a service account's token is needed");
    const key = hash("sha256", token);
    const belief = this.#beliefs.get(key) ?? this.#disbeliefs.get(key);
    const nowMs = this.#parts.clock.monotonicMs();
    if (belief !== undefined && nowMs < belief.untilMs) return this.#decide(belief.reporter, node);
    const source = { address, podUid: claimedPodUid(token) };
    const wasGood = this.#beliefs.has(key);
    const take = (): boolean => (wasGood ? this.#limits.takeKnown(key, nowMs) : this.#limits.take(source, nowMs));
    // Several reports with one token share one review.
    if (!this.#asked.has(key) && !take()) return refused("throttled", "too many tokens that are not known");
    const asked = { key, token, source, isFirst: wasGood || this.#limits.isGood(source) };
    const review = this.#asked.get(key) ?? this.#ask(asked).finally(() => this.#asked.delete(key));
    this.#asked.set(key, review);
    try {
      return this.#decide(await review, node);
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      return refused("review-failed", "the token could not be reviewed");
    }
  };

  #decide(reporter: Reporter, node: string): Access {
    if (reporter.kind !== "agent") return refused(reporter.kind, reporter.why);
    if (reporter.node !== node) return refused("forbidden", "the token's pod is on another node");
    if (!this.#nodeReports.take(node, this.#parts.clock.monotonicMs())) return refused("throttled", "too many reports");
    const takesLarge = (): boolean => this.#largeReports.take(node, this.#parts.clock.monotonicMs());
    const mayBring = (characters: number): boolean => characters < LARGE_BODY || takesLarge();
    return { kind: "granted", podUid: reporter.podUid, mayBring };
  }

  async #ask({ key, token, source, isFirst }: Asked): Promise<Reporter> {
    const { review, reviews, logger } = this.#parts;
    try {
      const reporter = reporterOf(await review(token, isFirst), this.#rule);
      reviews.increment({ outcome: reporter.kind });
      if (this.#failures > 0) logger.info({ failures: this.#failures }, "tokens are reviewed again");
      this.#failures = 0;
      if (reporter.kind === "agent") this.#limits.noteGood(source);
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
    // A token without an expiry is reviewed each time.
    const livesMs = expiryMs === undefined ? 0 : expiryMs - nowMs();
    if (livesMs > 0) this.#beliefs.set(key, { reporter, untilMs: since + Math.min(BELIEVED_MS, livesMs) });
    dropOldest(this.#beliefs, MOST_REMEMBERED);
  }
}

const REFUSALS = {
  invalid: { status: 400 },
  unauthenticated: { status: 401, headers: { "www-authenticate": "Bearer" } },
  forbidden: { status: 403 },
  throttled: { status: 429, headers: { "retry-after": "1" } },
  // The node's earlier records may be settled by the time it sends the report again.
  "too-much": { status: 429, headers: { "retry-after": "10" } },
  // The API server failed, not the agent: it sends the report again with the same token.
  "review-failed": { status: 503, headers: { "retry-after": "1" } },
} as const satisfies Record<string, Omit<RouteAnswer, "body">>;

export function refused(outcome: Refused["outcome"], why: string): Refused {
  return { kind: "refused", outcome, answer: { ...REFUSALS[outcome], body: `${why}\n` } };
}
