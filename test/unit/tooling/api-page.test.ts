import { readFileSync } from "node:fs";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { nodeEntryOf } from "../../../aggregator/core/api/node-entry.ts";
import { LISTS, queryProblem } from "../../../aggregator/sources/list-stream.ts";
import { claimEntry, listEnd, listHeader, volumeEntry } from "../../../common/storage/list-lines.ts";

const PAGE = readFileSync(new URL("../../../docs/api.md", import.meta.url), "utf8");
const NODE = nodeEntryOf(
  "n1",
  {
    cluster: { node: () => undefined },
    fleet: { view: () => undefined, lastReportAgeMs: () => undefined },
    agentStates: { of: () => ({ kind: "Reporting", why: "" }) },
  },
  0,
);

/** A part of the page by its title. */
function partOf(title: string): string {
  const begin = PAGE.indexOf(`## ${title}\n`);
  const end = PAGE.indexOf("\n## ", begin + 1);
  return PAGE.slice(begin, end === -1 ? undefined : end);
}

/** What the first column of the table of fields names, without what is inside of them. */
function fieldsIn(part: string): readonly string[] {
  const table = part.slice(part.indexOf("| Field |"));
  const names = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)]);
  return [...new Set(names.map(([, name = ""]) => name.split(".")[0] ?? ""))].toSorted();
}

describe("docs/api.md", () => {
  it.each([
    { list: "/v1/claims", part: "Every list", entry: claimEntry },
    { list: "/v1/volumes", part: "`GET /v1/volumes`", entry: volumeEntry },
  ])("has an example of $list that is one", ({ list, part, entry }) => {
    const [, answer = ""] =
      new RegExp(`^\\$ curl -s '[^']*${list}\\?[^']*'\\n([^\`]*?)\`\`\``, "m").exec(partOf(part)) ?? [];
    const lines = answer
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));

    expect(v.safeParse(v.strictObject(listHeader.entries), lines.at(0)).success).toBe(true);
    expect(v.safeParse(v.strictObject(listEnd.entries), lines.at(-1)).success).toBe(true);
    expect(lines.slice(1, -1).map((line) => v.safeParse(v.strictObject(entry.entries), line).success)).toEqual([true]);
  });

  it.each([
    { part: "`GET /v1/claims`", fields: Object.keys(claimEntry.entries) },
    { part: "`GET /v1/volumes`", fields: Object.keys(volumeEntry.entries) },
    { part: "`GET /v1/nodes`", fields: Object.keys(NODE) },
  ])("explains each field under $part, and no other", ({ part, fields }) => {
    expect(fieldsIn(partOf(part))).toEqual([...fields].toSorted());
  });

  it.each(Object.entries(LISTS))("names the parameters of %s", (list, { parameters }) => {
    const row = PAGE.split("\n").find((line) => line.startsWith(`| [\`${list}\`]`)) ?? "";

    expect([...(row.split(" | ").at(-1) ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(parameters);
  });

  it("shows how a wrong parameter is refused", () => {
    const [, query = "", said = ""] = /\/v1\/claims\?(limit[^']*)'\n([^`]*?)```/.exec(partOf("Every list")) ?? [];

    expect(queryProblem(LISTS["/v1/claims"].parameters, new URLSearchParams(query))).toBe(said.trimEnd());
  });
});
