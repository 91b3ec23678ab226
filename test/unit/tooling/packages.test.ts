import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { missingOf, namesIn } from "../../../.ci/packages.ts";

describe("missingOf", () => {
  it.each([
    { name: "an installed package is not missing", answer: "runc installed\n", missing: [] },
    {
      name: "a removed package that left its configuration is missing",
      answer: "runc config-files\n",
      missing: ["runc"],
    },
    { name: "a package that is unknown to dpkg is missing", answer: "", missing: ["runc"] },
    { name: "a package of a longer name is another one", answer: "runc-doc installed\n", missing: ["runc"] },
  ])("$name", ({ answer, missing }) => {
    expect(missingOf(["runc"], answer)).toEqual(missing);
  });
});

describe("the list of packages for e2e", () => {
  const list = readFileSync(new URL("../../../.ci/e2e-packages", import.meta.url), "utf8");

  it("is sorted and names none twice", () => {
    const names = namesIn(list);

    expect(names).toEqual([...new Set(names)].sort());
    expect(names.length).toBeGreaterThan(0);
  });
});
