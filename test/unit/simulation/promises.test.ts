import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PROMISES } from "../../judge/docket.ts";

describe("what is promised", () => {
  it("stands in SECURITY.md word by word, and nothing else does", () => {
    const security = readFileSync(new URL("../../../SECURITY.md", import.meta.url), "utf8");

    const [, section = ""] = security.split("## What is promised\n");
    const [own = ""] = section.split("\n## ");
    const promised = own.split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));

    expect(promised).toEqual(Object.values(PROMISES));
  });
});
