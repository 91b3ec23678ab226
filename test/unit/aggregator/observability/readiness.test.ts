import { expect, it } from "vitest";
import { checkStart } from "../../../../aggregator/observability/observability.ts";

it("the check of the start misses the API server's clock", () => {
  const why = "no answer of the API server has a date, so no time can be computed";
  const parts = { cluster: { unsynced: () => [] }, client: { serverTime: () => undefined } };

  expect(checkStart(parts)).toEqual({ ok: false, why });
});
