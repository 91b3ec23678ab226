import * as v from "valibot";
import type { KubeClient, KubeParts } from "../../common/kube/client.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { TokenVerdict } from "../core/reports/reporter.ts";

/** Asks the API server whose token it is; urgent reviews go before all that wait. Rejects with `MooringError` without an answer. */
export type ReviewToken = (token: string, isFirst: boolean) => Promise<TokenVerdict>;

/** Reviews at a time: after a change of leader there is one for each node, and each would have its own connection. */
const MOST_AT_A_TIME = 64;
/** Less than an agent waits for its answer. Milliseconds. */
const REVIEW_LIMIT_MS = 5_000;

const strings = v.array(v.string());
const user = v.object({ username: v.nullish(v.string(), ""), extra: v.nullish(v.record(v.string(), strings), {}) });
/** Absent parts are empty: the API server leaves `authenticated` out where it refuses the token. */
const answer = v.object({
  status: v.optional(
    v.object({
      authenticated: v.optional(v.boolean(), false),
      audiences: v.nullish(strings, []),
      user: v.nullish(user, {}),
    }),
    {},
  ),
});

/** With the audience: without it the API server would accept tokens that are meant for itself. */
export function createTokenReviews(
  { client, clock }: Pick<KubeParts, "client" | "clock">,
  audience: string,
): ReviewToken {
  const enter = createGate(MOST_AT_A_TIME);
  const { signal } = new AbortController();
  const ask = async (token: string, isFirst: boolean, limited: AbortSignal): Promise<TokenVerdict> => {
    const leave = await enter(isFirst);
    try {
      // The caller has given up.
      if (limited.aborted) throw new MooringError("transport-failed", "too many tokens are asked about");
      return verdictOf(await client.request(reviewOf(token, audience), limited));
    } finally {
      leave();
    }
  };
  return (token, isFirst) =>
    withDeadline({ clock, signal }, REVIEW_LIMIT_MS, (limited) => ask(token, isFirst, limited));
}

function reviewOf(token: string, audience: string): Parameters<KubeClient["request"]>[0] {
  const [apiVersion, kind] = ["authentication.k8s.io/v1", "TokenReview"];
  return {
    method: "POST",
    path: `/apis/${apiVersion}/tokenreviews`,
    body: { apiVersion, kind, spec: { token, audiences: [audience] } },
  };
}

function verdictOf(body: unknown): TokenVerdict {
  const read = v.safeParse(answer, body);
  if (!read.success) throw new MooringError("transport-failed", "the answer is no review of a token");
  return read.output.status;
}

/** Lets a number of tasks in. The others wait in their order, urgent ones first. A task that leaves lets the next one in. */
function createGate(most: number): (isFirst: boolean) => Promise<() => void> {
  const first: (() => void)[] = [];
  const rest: (() => void)[] = [];
  let inside = 0;
  const leave = (): void => {
    const next = first.shift() ?? rest.shift();
    if (next === undefined) inside -= 1;
    else next();
  };
  return async (isFirst) => {
    if (inside < most) inside += 1;
    else await new Promise<void>((resolve) => (isFirst ? first : rest).push(resolve));
    return leave;
  };
}
