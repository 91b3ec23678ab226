import { describe, expect, it } from "vitest";
import { findingsText, MOST_FINDINGS, NO_FINDINGS, readFindings } from "../../../../common/storage/findings.ts";

const image = (n: number) => ({ volume: `pvc-${String(n).padStart(4, "0")}`, pool: "default", bytes: n });

describe("findings", () => {
  it("are no annotation where there are none", () => {
    expect(findingsText(NO_FINDINGS)).toBeUndefined();
  });

  it("are read as they were written", () => {
    const findings = { orphans: [image(1), image(2)], unavailable: ["pvc-a"] };

    expect(readFindings(findingsText(findings))).toEqual({ ...findings, more: 0 });
  });

  it("are the same text in whatever order they were found", () => {
    const [one, other] = [
      findingsText({ orphans: [image(1), image(2)], unavailable: ["pvc-a", "pvc-b"] }),
      findingsText({ orphans: [image(2), image(1)], unavailable: ["pvc-b", "pvc-a"] }),
    ];

    expect(one).toBe(other);
  });

  it("are bounded, with the number of those left out", () => {
    const orphans = Array.from({ length: 500 }, (_, n) => image(n));
    const unavailable = Array.from({ length: 30 }, (_, n) => `pvc-${n}`);

    const read = readFindings(findingsText({ orphans, unavailable }));

    expect(read?.orphans).toHaveLength(MOST_FINDINGS);
    expect(read?.unavailable).toHaveLength(MOST_FINDINGS);
    expect(read?.more).toBe(530 - 2 * MOST_FINDINGS);
  });

  it.each([
    { name: "nothing", text: undefined },
    { name: "no JSON", text: "{" },
    { name: "another shape", text: '{"orphans":[{"volume":1}],"unavailable":[]}' },
    { name: "a negative size", text: '{"orphans":[{"volume":"a","pool":"b","bytes":-1}],"unavailable":[]}' },
    { name: "more than a provisioner writes", text: JSON.stringify({ orphans: [], unavailable: ["x".repeat(9_000)] }) },
  ])("are not read from $name", ({ text }) => {
    expect(readFindings(text)).toBeUndefined();
  });
});
