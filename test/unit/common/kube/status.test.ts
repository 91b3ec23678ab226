import { describe, expect, it } from "vitest";
import { readStatus } from "../../../../common/kube/status.ts";

describe("readStatus", () => {
  it("keeps what a program can use", () => {
    const status = readStatus({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      code: 504,
      reason: "Timeout",
      message: "Too large resource version: 9, current: 5",
      details: { causes: [{ reason: "ResourceVersionTooLarge", message: "Too large" }], retryAfterSeconds: 1 },
    });

    expect(status).toEqual({
      code: 504,
      reason: "Timeout",
      message: "Too large resource version: 9, current: 5",
      details: {
        name: "",
        kind: "",
        causes: [{ reason: "ResourceVersionTooLarge", field: "", message: "Too large" }],
        retryAfterSeconds: 1,
      },
    });
  });

  it.each([
    { name: "a text", value: "no" },
    { name: "nothing", value: null },
    { name: "another kind", value: { kind: "Pod", message: "hello" } },
    { name: "an object without a status field", value: { a: 1 } },
    { name: "a code that is none", value: { code: "404", message: "no" } },
  ])("does not accept $name as a Status", ({ value }) => {
    expect(readStatus(value)).toBeUndefined();
  });

  it("accepts a Status without details, as older servers write it", () => {
    expect(readStatus({ code: 410, message: "too old", details: null })).toMatchObject({
      code: 410,
      reason: "",
      details: { causes: [] },
    });
  });

  it("cuts a message that quotes a whole object", () => {
    expect(readStatus({ message: "x".repeat(9_999) })?.message).toHaveLength(1_000);
  });
});
