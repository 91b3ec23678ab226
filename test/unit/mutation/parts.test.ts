import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PARTS, partsFor, strykerOptions } from "../../mutation/parts.ts";

const root = new URL("../../../", import.meta.url).pathname;
const CORES = globSync(["agent/**/core", "aggregator/**/core", "common/storage"], { cwd: root });

describe("the mutated parts", () => {
  it.each(PARTS)("$name: its code and its tests exist", ({ mutate, tests }) => {
    for (const glob of [...mutate, ...tests]) expect(globSync(glob, { cwd: root }), glob).not.toEqual([]);
  });

  it("are all that decides", () => {
    expect(PARTS.map(({ name }) => name).toSorted()).toEqual(CORES.toSorted());
  });

  it("are mutated as a whole, each file once", () => {
    const mutated = PARTS.flatMap(({ mutate }) => globSync(mutate.slice(), { cwd: root }));

    expect(mutated.toSorted()).toEqual(
      globSync(
        CORES.map((folder) => `${folder}/**/*.ts`),
        { cwd: root },
      ).toSorted(),
    );
  });

  it("are what StrykerJS is told", () => {
    const [part] = partsFor(["common/storage"]);

    expect(part && strykerOptions(part, { report: "r.json", sandbox: "s", jobs: 2 })).toMatchObject({
      mutate: ["common/storage/**/*.ts"],
      jsonReporter: { fileName: "r.json" },
      tempDirName: "s",
      concurrency: 2,
    });
  });
});

describe("partsFor", () => {
  it.each([
    { name: "all when nothing is asked for", asked: [], parts: PARTS.map(({ mutate }) => mutate) },
    { name: "a folder", asked: ["agent/core"], parts: [["agent/core/**/*.ts"]] },
    { name: "one file of a folder", asked: ["agent/core/compact.ts"], parts: [["agent/core/compact.ts"]] },
    {
      name: "files of two folders",
      asked: ["common/storage/claim.ts", "agent/core/compact.ts", "agent/core/mounted-volumes.ts"],
      parts: [["agent/core/compact.ts", "agent/core/mounted-volumes.ts"], ["common/storage/claim.ts"]],
    },
    {
      name: "a folder and one of its files: the folder",
      asked: ["agent/core/compact.ts", "agent/core"],
      parts: [["agent/core/**/*.ts"]],
    },
  ])("takes $name", ({ asked, parts }) => {
    expect(partsFor(asked).map(({ mutate }) => mutate)).toEqual(parts);
  });

  it.each([
    { asked: ["agent/core"], names: ["agent/core"] },
    { asked: ["agent/core/compact.ts"], names: ["agent/core/compact.ts"] },
    { asked: ["agent/core/compact.ts", "agent/core/mounted-volumes.ts"], names: ["agent/core, 2 files"] },
  ])("names what was asked for: $names", ({ asked, names }) => {
    expect(partsFor(asked).map(({ name }) => name)).toEqual(names);
  });

  it.each([
    { name: "a folder that only begins with one's name", asked: "agent/corelike/a.ts" },
    { name: "a folder that is not mutated", asked: "agent/sinks" },
    { name: "what is no code", asked: "agent/core/README.md" },
  ])("refuses $name", ({ asked }) => {
    expect(() => partsFor(["agent/core", asked])).toThrow(`${asked} is not mutated; agent/core, aggregator/core`);
  });
});
