import { describe, expect, it } from "vitest";
import { parseHttpDate } from "../../../../common/runtime/http-date.ts";

describe("parseHttpDate", () => {
  it("reads the date of an HTTP answer", () => {
    expect(parseHttpDate("Thu, 01 Jan 1970 00:00:10 GMT")).toBe(10_000);
  });

  it.each([
    { name: "nothing", text: undefined },
    { name: "an empty text", text: "" },
    { name: "another zone", text: "Thu, 01 Jan 1970 00:00:10 CET" },
    { name: "another form", text: "1970-01-01T00:00:10Z" },
    { name: "a month that is none", text: "Thu, 01 Jux 1970 00:00:10 GMT" },
    { name: "two dates, as of two proxies", text: "Thu, 01 Jan 1970 00:00:10 GMT, Thu, 01 Jan 1970 00:00:11 GMT" },
  ])("reads $name as no date", ({ text }) => {
    expect(parseHttpDate(text)).toBeUndefined();
  });
});
