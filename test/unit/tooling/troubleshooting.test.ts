import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { LISTS, queryProblem } from "../../../aggregator/sources/list-stream.ts";

const FOLDER = new URL("../../../docs/troubleshooting/", import.meta.url);
const PAGES = readdirSync(FOLDER).map((name) => ({ name, text: readFileSync(new URL(name, FOLDER), "utf8") }));

const PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(LISTS).map(([path, { parameters }]) => [path, parameters]),
);

describe.each(PAGES)("docs/troubleshooting/$name", ({ name, text }) => {
  it("links to what is there", () => {
    const links = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => link);

    expect(links.filter((link) => !existsSync(new URL(link, new URL(name, FOLDER))))).toEqual([]);
  });

  it("asks the aggregator for what it can be asked", () => {
    const asked = [...text.matchAll(/(\/v1\/\w+)\?([^'"\s]+)/g)];
    const answers = asked.map(([, list = "", query = ""]) =>
      queryProblem(PARAMETERS.get(list) ?? [], new URLSearchParams(query)),
    );

    expect(answers.filter((problem) => problem !== undefined)).toEqual([]);
  });
});

describe.each(PAGES.filter(({ name }) => name !== "README.md"))("docs/troubleshooting/$name", ({ text }) => {
  it("begins with what is seen, and ends with the command that shows it", () => {
    const titles = [...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title);

    expect(titles.at(0)).toBe("You see");
    expect(titles.at(-1)).toBe("The command that shows it");
    expect(text.slice(text.indexOf("## The command that shows it"))).toContain("```\n");
  });
});
