import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutPoint, lineKind } from "../../../faults/watch-tap.ts";

describe("a line of a watch", () => {
  it.each([
    { line: '{"type":"ADDED","object":{"metadata":{"name":"k8s.io/initial-events-end"}}}', kind: "event" },
    { line: '{"type":"DELETED","object":{"kind":"Pod"}}', kind: "event" },
    { line: '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}', kind: "bookmark" },
    {
      line: '{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}',
      kind: "end-of-list",
    },
    { line: '{"type":"ERROR","object":{"kind":"Status","code":410}}', kind: "error" },
  ])("that is $line is of the kind $kind", ({ line, kind }) => {
    expect(lineKind(Buffer.from(line))).toBe(kind);
  });
});

describe("where a body is cut", () => {
  it("is behind its first byte and before the brace that makes it whole", () => {
    fc.assert(
      fc.property(fc.json(), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (json, pick) => {
        const body = Buffer.from(`{"items":${json}}\n`);

        const cut = body.subarray(0, cutPoint(body, pick));

        expect(cut.length).toBeGreaterThan(0);
        expect(() => JSON.parse(cut.toString())).toThrow(SyntaxError);
      }),
    );
  });
});
