import { describe, expect, it } from "vitest";
import { checkNodes, type NodesSession } from "../../../../aggregator/observability/node-check.ts";

function sessionWith(fields: {
  readonly unreported?: readonly string[];
  readonly silent?: readonly string[];
  readonly claims?: readonly string[];
}): NodesSession {
  const { unreported = [], silent = [], claims = [] } = fields;
  return {
    unreported,
    agentStates: { named: (kind) => (kind === "Stale" ? silent : ["another"]) },
    reconciler: { heldUp: claims.length },
  };
}

const many = Array.from({ length: 37 }, (_, index) => `n${index + 1}`);

describe("checkNodes", () => {
  it.each([
    { name: "while another process leads nothing is waited for", session: undefined, result: { ok: true } },
    { name: "all nodes have been heard of", session: sessionWith({}), result: { ok: true } },
    {
      name: "one has not been heard of since the start",
      session: sessionWith({ unreported: ["n7"] }),
      result: { ok: false, why: "not heard of since the start: 1 node (n7)" },
    },
    {
      name: "more have not been heard of than anybody wants to read",
      session: sessionWith({ unreported: many, silent: ["n9"] }),
      result: { ok: false, why: "not heard of since the start: 37 nodes (n1, n2, n3, n4, n5 and 32 more)" },
    },
    {
      name: "the time for that is over: who is silent is told, and what that holds up",
      session: sessionWith({ silent: ["n7", "n8"], claims: ["shop/data", "shop/copy", "shop/log"] }),
      result: { ok: true, detail: "Stale: 2 nodes (n7, n8); claims that wait for a node: 3" },
    },
  ])("$name", ({ session, result }) => {
    expect(checkNodes(session)).toEqual(result);
  });
});
