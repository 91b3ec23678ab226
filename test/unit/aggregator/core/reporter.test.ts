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
  it.each<{ name: string; verdict: Partial<TokenVerdict>; reporter: object }>(
    // biome-ignore format: a row is a line
    [
      { name: "an agent's token names its node and pod", verdict: {}, reporter: { node: "node-1", podUid: "uid-1" } },
      {
        name: "a token that is good for others as well is good",
        verdict: { audiences: ["other", "mooring-aggregator"] },
        reporter: { kind: "agent" },
      },
      { name: "a token that nobody knows", verdict: { isAuthenticated: false }, reporter: { kind: "unauthenticated" } },
      {
        name: "a token for another audience",
        verdict: { audiences: ["other"] },
        reporter: { kind: "unauthenticated", why: expect.stringContaining("audience") },
      },
      {
        name: "an answer that names no audience: its server does not know of audiences",
        verdict: { audiences: [] },
        reporter: { kind: "unauthenticated" },
      },
      {
        name: "another account",
        verdict: { userName: "system:serviceaccount:mooring-agents:default" },
        reporter: { kind: "forbidden", why: expect.stringContaining("service account mooring-agents/mooring-agent") },
      },
      {
        name: "the account of that name in another namespace",
        verdict: { userName: "system:serviceaccount:mooring:mooring-agent" },
        reporter: { kind: "forbidden" },
      },
      { name: "a user with the account's name", verdict: { userName: "mooring-agent" }, reporter: { kind: "forbidden" } },
      {
        name: "a token that is bound to no pod",
        verdict: { extra: {} },
        reporter: { kind: "forbidden", why: expect.stringContaining("not bound to a pod") },
      },
      {
        name: "a token whose pod is on no node yet",
        verdict: { extra: { [POD]: ["uid-1"] } },
        reporter: { kind: "forbidden", why: expect.stringContaining("on no node") },
      },
      { name: "an empty node", verdict: { extra: { [POD]: ["u"], [NODE]: [""] } }, reporter: { kind: "forbidden" } },
      { name: "no node at all", verdict: { extra: { [POD]: ["u"], [NODE]: [] } }, reporter: { kind: "forbidden" } },
      { name: "two nodes", verdict: { extra: { [POD]: ["u"], [NODE]: ["a", "b"] } }, reporter: { kind: "forbidden" } },
      { name: "two pods", verdict: { extra: { [POD]: ["u", "v"], [NODE]: ["a"] } }, reporter: { kind: "forbidden" } },
    ],
  )("$name", ({ verdict, reporter }) => {
    expect(reporterOf({ ...GOOD, ...verdict }, RULE)).toMatchObject(reporter);
  });
});
