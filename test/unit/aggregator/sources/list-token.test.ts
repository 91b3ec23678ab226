import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readToken, writeToken } from "../../../../aggregator/sources/list-token.ts";

describe("a token", () => {
  it("brings back any place, in the letters of a URL", () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.integer({ min: 0 }), { nil: undefined }), (key, sinceMs) => {
        const position = { key, ...(sinceMs !== undefined && { sinceMs }) };

        const token = writeToken("claims/idle", position);

        expect(token).toMatch(/^[-_A-Za-z0-9]+$/);
        expect(readToken("claims/idle", token)).toEqual(position);
      }),
    );
  });

  it.each([
    { name: "of another order", token: writeToken("claims/idle", { key: "a/a", sinceMs: 1 }) },
    { name: "of another list", token: writeToken("volumes", { key: "pv-1" }) },
    { name: "that is no JSON", token: Buffer.from("[").toString("base64url") },
    { name: "that is other JSON", token: Buffer.from('{"key":"a"}').toString("base64url") },
    { name: "with a time that is none", token: Buffer.from('["claims/key","a",1e999]').toString("base64url") },
    { name: "that is cut off", token: writeToken("claims/key", { key: "shop/data" }).slice(0, -4) },
    { name: "without anything", token: "" },
  ])("$name is refused", ({ token }) => {
    expect(readToken("claims/key", token)).toBeUndefined();
  });
});
