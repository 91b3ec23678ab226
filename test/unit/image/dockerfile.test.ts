import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const LINES = readFileSync(new URL("../../../Dockerfile", import.meta.url), "utf8").split("\n");

/** What stands behind a word at the begin of a line. */
function all(word: string): readonly string[] {
  return LINES.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
}

describe("the Dockerfile", () => {
  it("ends with a stage that begins with nothing, so that there is no shell in it", () => {
    expect(all("FROM").at(-1)).toBe("scratch");
  });

  it("is built on the base that it is given, and refuses one without a digest before anything else", () => {
    expect(all("ARG")[0]).toBe("NODE_IMAGE");
    expect(all("RUN")[0]).toBe(JSON.stringify(["node", ".ci/base-image.mjs"]).replace(",", ", "));
  });

  it("starts and builds without a shell", () => {
    const commands = [...all("RUN"), ...all("ENTRYPOINT"), ...all("CMD")];

    expect(commands.length).toBeGreaterThan(3);
    expect(commands.filter((command) => !Array.isArray(JSON.parse(command)))).toEqual([]);
  });

  it("runs as a user of its own, by a number", () => {
    expect(all("USER")).toEqual(["60872:60872"]);
  });
});
