import { describe, expect, it } from "vitest";
import { checkNodes, checkStart, type NodesSession } from "../../../../aggregator/observability/aggregator-health.ts";
import type { CheckResult } from "../../../../common/runtime/health.ts";

type Fields = Readonly<Partial<Record<"unreported" | "silent" | "claims", readonly string[]>>>;

function sessionWith({ unreported = [], silent = [], claims = [] }: Fields): NodesSession {
  const named = (kind: string): readonly string[] => (kind === "Stale" ? silent : ["another"]);
  return { unreported, agentStates: { named }, reconciler: { blocked: claims.length } };
}

const many = Array.from({ length: 37 }, (_, index) => `n${index + 1}`);
const since = "no report since the start";

describe("readiness", () => {
  it.each<readonly [name: string, fields: Fields | undefined, result: CheckResult]>([
    ["waits for no node while another process leads", undefined, { ok: true }],
    ["waits for no node when all have been heard of", {}, { ok: true }],
    ["waits for a node", { unreported: ["n7"] }, { ok: false, why: `${since}: 1 node (n7)` }],
    [
      "names no more nodes than anybody wants to read",
      { unreported: many, silent: ["n9"] },
      { ok: false, why: `${since}: 37 nodes (n1, n2, n3, n4, n5 and 32 more)` },
    ],
    [
      "tells later who is silent, and what that holds up",
      { silent: ["n7", "n8"], claims: ["shop/data", "shop/copy", "shop/log"] },
      { ok: true, detail: "Stale: 2 nodes (n7, n8); claims that wait for a node: 3" },
    ],
  ])("%s", (_, fields, result) => {
    expect(checkNodes(fields && sessionWith(fields))).toEqual(result);
  });

  it.each([
    ["has no objection when all is listed and dated", [], true, { ok: true }],
    ["names what is not listed yet", ["pods", "nodes"], true, { ok: false, why: "not listed yet: pods, nodes" }],
    [
      "misses the API server's clock",
      [],
      false,
      { ok: false, why: "no answer of the API server has a date, so no time can be computed" },
    ],
  ] as const)("%s", (...[, unsynced, isDated, result]) => {
    const serverTime = () => (isDated ? { latestMs: 1, widthMs: 0 } : undefined);

    expect(checkStart({ cluster: { unsynced: () => unsynced }, client: { serverTime } })).toEqual(result);
  });
});
