import { AUDIENCE, bearerToken, reporterOf } from "../../../aggregator/core/reports/reporter.ts";
import { podUidIn, reviewToken } from "../../../aggregator/sources/report-access.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport } from "../../fakes/transport.ts";
import { type FuzzTarget, inputOf, promise } from "../target.ts";

const RULE = { namespace: "mooring-agents", account: "mooring-agent" };
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const TOKEN = `${part({ alg: "RS256", kid: "k" })}.${part({ exp: 1_795_000_000, aud: [AUDIENCE] })}.c2ln`;

const KEY = "authentication.kubernetes.io";
const GOOD = {
  status: {
    authenticated: true,
    audiences: [AUDIENCE],
    user: {
      username: "system:serviceaccount:mooring-agents:mooring-agent",
      extra: {
        [`${KEY}/node-name`]: ["n1"],
        [`${KEY}/node-uid`]: ["u"],
        [`${KEY}/pod-name`]: ["p"],
        [`${KEY}/pod-uid`]: ["u1"],
      },
    },
  },
};

/** The `authorization` header of a report on the first line, the API server's answer to its review on the second. */
export const tokens: FuzzTarget = {
  name: "tokens",
  about: "the authorization header of a report, and what the API server says of it",
  seeds: [
    `Bearer ${TOKEN}\n${JSON.stringify(GOOD)}`,
    `bearer ${TOKEN}\n${JSON.stringify({ status: { user: {} } })}`,
    "Basic YTpi\n{}",
  ].map(inputOf),
  words: [
    "Bearer ",
    ".",
    "==",
    "authenticated",
    "audiences",
    "username",
    "extra",
    `${KEY}/node-name`,
    `${KEY}/pod-uid`,
    "n1",
    "[]",
  ],
  take: async (input) => {
    const [header = "", answer = ""] = input.split("\n");
    const token = bearerToken(header);
    if (token === undefined) return;
    promise(/^[\w-]+(\.[\w-]+){2}$/.test(token), "what is no token costs no review");
    promise((podUidIn(token)?.length ?? 0) <= 128, "a UID is short");
    await takeReview(token, answer);
  },
};

async function takeReview(token: string, body: string): Promise<void> {
  const clock = createFakeClock();
  const transport = createFakeTransport(() => ({ status: 201, body }));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  try {
    const verdict = await reviewToken({ client, clock }, token);
    const reporter = reporterOf(verdict, RULE);
    if (reporter.kind !== "agent") return;
    promise(
      verdict.authenticated && verdict.audiences.includes(AUDIENCE),
      "no sender counts as an agent without a review",
    );
    promise(reporter.node !== "" && reporter.podUid !== "", "an agent has a node and a pod");
  } catch (error) {
    if (!(error instanceof MooringError)) throw error;
  }
}
