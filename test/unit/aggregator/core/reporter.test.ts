import { describe, expect, it } from "vitest";
import { type BudgetRule, NamedBudgets, REPORTS } from "../../../../aggregator/core/reports/budgets.ts";
import { bearerToken, reporterOf, type TokenVerdict } from "../../../../aggregator/core/reports/reporter.ts";

describe("the token of an authorization header", () => {
  const longest = `a.b.${"c".repeat(8_192 - "Bearer a.b.".length)}`;

  it.each<readonly [name: string, header: string | undefined, token: string | undefined]>([
    ["is three parts of base64url", "Bearer a-1.b_2.c", "a-1.b_2.c"],
    ["may have spaces around it, and any case of its scheme", "bEARER   a.b.c  ", "a.b.c"],
    ["is absent without a header", undefined, undefined],
    ["is absent with two parts only", "Bearer a.b", undefined],
    ["is absent with another alphabet", "Bearer a.b.c=", undefined],
    ["is absent behind other text", "x Bearer a.b.c", undefined],
    ["has 8,192 characters with its scheme", `Bearer ${longest}`, longest],
    ["has no more characters, nor spaces", `Bearer ${longest} `, undefined],
  ])("%s", (_, header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});

const RULE = { namespace: "mooring-agents", account: "mooring-agent" };
const NODE = "authentication.kubernetes.io/node-name";
const POD = "authentication.kubernetes.io/pod-uid";
const GOOD: TokenVerdict = {
  authenticated: true,
  audiences: ["mooring-aggregator"],
  user: {
    username: "system:serviceaccount:mooring-agents:mooring-agent",
    extra: { [NODE]: ["node-1"], [POD]: ["uid-1"] },
  },
};

describe("reporterOf", () => {
  const userWith = (fields: Partial<TokenVerdict["user"]>) => ({ user: { ...GOOD.user, ...fields } });
  const of = (...[nodes, pods]: readonly (readonly string[])[]) =>
    userWith({ extra: { [NODE]: nodes ?? [], [POD]: pods ?? [] } });
  const account = (name: string) => userWith({ username: `system:serviceaccount:${name}` });
  const onNoNode = userWith({ extra: { [POD]: ["uid-1"] } });

  it.each<readonly [name: string, verdict: Partial<TokenVerdict>, kind: string, why: string]>([
    ["a token that is good for others as well is good", { audiences: ["other", "mooring-aggregator"] }, "agent", ""],
    ["a token that the API server does not know", { authenticated: false }, "unauthenticated", ""],
    ["a token for another audience", { audiences: ["other"] }, "unauthenticated", "audience"],
    ["an answer that names no audience: its server does not know of any", { audiences: [] }, "unauthenticated", ""],
    ["another account", account("mooring-agents:default"), "forbidden", "service account mooring-agents/mooring-agent"],
    ["the account of that name in another namespace", account("mooring:mooring-agent"), "forbidden", ""],
    ["a user with the account's name", userWith({ username: "mooring-agent" }), "forbidden", ""],
    ["a token that is bound to no pod", userWith({ extra: {} }), "forbidden", "not bound to a pod"],
    ["a token whose pod is on no node yet", onNoNode, "forbidden", "on no node"],
    ["an empty node", of([""], ["u"]), "forbidden", ""],
    ["two nodes", of(["a", "b"], ["u"]), "forbidden", ""],
    ["two pods", of(["a"], ["u", "v"]), "forbidden", ""],
  ])("%s", (...[, verdict, kind, why]) => {
    const reporter = reporterOf({ ...GOOD, ...verdict }, RULE);

    expect([reporter.kind, "why" in reporter ? reporter.why : ""]).toEqual([kind, expect.stringContaining(why)]);
  });

  it("an agent's token names its node and pod", () => {
    expect(reporterOf(GOOD, RULE)).toEqual({ kind: "agent", node: "node-1", podUid: "uid-1" });
  });
});

describe("the budget of reports", () => {
  const at = (atMs: number, count: number): readonly number[] => Array.from({ length: count }, () => atMs);

  it.each([
    { name: "has one more for each half minute", times: [...at(0, 200), 29_999, 30_000, 30_001] },
    { name: "does not save more than twenty", times: [0, ...at(1e9, 200)] },
  ])("$name", ({ times }) => {
    const budgets = new NamedBudgets(REPORTS, 1);

    expect(times.filter((atMs) => budgets.take("n1", atMs))).toHaveLength(21);
  });
});

/** Two at once and one more each 100 ms; three names are remembered. */
const TWO_AT_ONCE: BudgetRule = { most: 2, refillMs: 100 };

/** Requests in order, `a` at 0 and `a 50` at 50. The answer is a `+` for an allowed request and a `-` for a refused one. */
function answersTo(asks: string): string {
  const budgets = new NamedBudgets(TWO_AT_ONCE, 3);
  const answers = asks.split(", ").map((ask) => {
    const [name = "", at = "0"] = ask.split(" ");
    return budgets.take(name, Number(at)) ? "+" : "-";
  });
  return answers.join("");
}

describe("NamedBudgets", () => {
  it.each([
    ["a refusal costs nothing", "a, a, a 50, a 60, a 70, a 100", "++---+"],
    ["of more the one not asked for longest is forgotten", "a, a, b, b, c, c, d, b, c, a", "+++++++--+"],
    ["an address that was refused a moment ago is not forgotten", "a, a, b, b, c, a, d, a, b", "+++++-+-+"],
    ["names that no object has are names as well", "__proto__, __proto__, __proto__, constructor", "++-+"],
  ])("%s", (_, asks, answers) => {
    expect(answersTo(asks)).toBe(answers);
  });
});
