import { describe, expect, it } from "vitest";
import { reporterOf, type TokenVerdict } from "../../../../aggregator/core/reporter.ts";

const RULE = { audience: "mooring-aggregator", namespace: "mooring-agents", account: "mooring-agent" };
const NODE = "authentication.kubernetes.io/node-name";
const POD = "authentication.kubernetes.io/pod-uid";
const GOOD: TokenVerdict = {
  isAuthenticated: true,
  audiences: ["mooring-aggregator"],
  userName: "system:serviceaccount:mooring-agents:mooring-agent",
  extra: { [NODE]: ["node-1"], [POD]: ["uid-1"] },
};

describe("reporterOf", () => {
  const of = (...[nodes, pods]: readonly (readonly string[])[]) => ({
    extra: { [NODE]: nodes ?? [], [POD]: pods ?? [] },
  });
  const account = (name: string) => ({ userName: `system:serviceaccount:${name}` });
  const onNoNode = { extra: { [POD]: ["uid-1"] } };

  it.each<readonly [name: string, verdict: Partial<TokenVerdict>, kind: string, why: string]>([
    ["a token that is good for others as well is good", { audiences: ["other", "mooring-aggregator"] }, "agent", ""],
    ["a token that nobody knows", { isAuthenticated: false }, "unauthenticated", ""],
    ["a token for another audience", { audiences: ["other"] }, "unauthenticated", "audience"],
    ["an answer that names no audience: its server does not know of any", { audiences: [] }, "unauthenticated", ""],
    ["another account", account("mooring-agents:default"), "forbidden", "service account mooring-agents/mooring-agent"],
    ["the account of that name in another namespace", account("mooring:mooring-agent"), "forbidden", ""],
    ["a user with the account's name", { userName: "mooring-agent" }, "forbidden", ""],
    ["a token that is bound to no pod", { extra: {} }, "forbidden", "not bound to a pod"],
    ["a token whose pod is on no node yet", onNoNode, "forbidden", "on no node"],
    ["an empty node", of([""], ["u"]), "forbidden", ""],
    ["no node at all", of([], ["u"]), "forbidden", ""],
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
