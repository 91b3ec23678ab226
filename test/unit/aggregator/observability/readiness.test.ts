import { describe, expect, it } from "vitest";
import { checkStart } from "../../../../aggregator/observability/aggregator-health.ts";

describe("the check of the start", () => {
  const undated = "no answer of the API server has a date, so no time can be computed";
  it.each([
    ["passes when everything is listed and dated", [], true, { ok: true }],
    ["names what is not listed yet", ["pods", "nodes"], true, { ok: false, why: "not listed yet: pods, nodes" }],
    ["misses the API server's clock", [], false, { ok: false, why: undated }],
  ] as const)("%s", (...[, unsynced, isDated, result]) => {
    const serverTime = () => (isDated ? { latestMs: 1, widthMs: 0 } : undefined);

    expect(checkStart({ cluster: { unsynced: () => unsynced }, client: { serverTime } })).toEqual(result);
  });
});
