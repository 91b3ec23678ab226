import { expect, it } from "vitest";
import { PendingNodes } from "../../../../aggregator/claims/pending-nodes.ts";

it("nothing is kept of a claim that is gone, also while the node that it waited for does not report", () => {
  const pending = new PendingNodes();
  const waits = {
    isEligible: true,
    usedOn: [],
    references: [],
    pendingNodes: [{ node: "n1", isSilent: true, why: "attached" }],
  } as const;
  for (const key of ["shop/gone", "shop/data"]) pending.put(key, waits);

  pending.forget("shop/gone");

  expect([[...pending.waitingFor("n1")], pending.blocked]).toEqual([["shop/data"], 1]);
});
