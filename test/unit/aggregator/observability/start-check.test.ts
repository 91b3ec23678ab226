import { describe, expect, it } from "vitest";
import { checkStart } from "../../../../aggregator/observability/start-check.ts";

const TIME = { latestMs: 1, widthMs: 0 };

describe("checkStart", () => {
  it.each([
    { name: "passes when all is listed and dated", unsynced: [], time: TIME, result: { ok: true } },
    {
      name: "names what has not been listed yet",
      unsynced: ["pods", "nodes"],
      time: TIME,
      result: { ok: false, why: "not listed yet: pods, nodes" },
    },
    {
      name: "fails where no answer tells the API server's clock",
      unsynced: [],
      time: undefined,
      result: { ok: false, why: "no answer of the API server has a date, so no time can be told" },
    },
  ])("$name", ({ unsynced, time, result }) => {
    const start = { cluster: { unsynced: () => unsynced }, client: { serverTime: () => time } };

    expect(checkStart(start)).toEqual(result);
  });
});
