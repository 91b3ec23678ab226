import { describe, expect, it } from "vitest";
import { chartFiles, presentCopies, read } from "../../../.ci/chart.ts";

const files = [...chartFiles()].map(([path, text]) => ({ path, text }));

describe("the chart", () => {
  it.each(files)("has $path as `npm run chart` writes it", ({ path, text }) => {
    expect(read(path)).toBe(text);
  });

  it("has no copy of what is no more", () => {
    const expected = files.map(({ path }) => path).filter((path) => path.includes("/files/"));

    expect(presentCopies().toSorted()).toEqual(expected.toSorted());
  });
});
