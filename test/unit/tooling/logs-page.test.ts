import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { LOG_FIELDS } from "../../../common/runtime/log-fields.ts";
import { LOG_LEVELS } from "../../../common/runtime/logger.ts";

const page = readFileSync(new URL("../../../docs/logs.md", import.meta.url), "utf8");

describe("docs/logs.md", () => {
  it("lists every field that a line may have, and no other", () => {
    const rows = page.split("\n").filter((line) => /^\| `[a-zA-Z]+` \|/.test(line));

    expect(rows).toEqual(Object.entries(LOG_FIELDS).map(([field, meaning]) => `| \`${field}\` | ${meaning} |`));
  });

  it("names every level", () => {
    expect(LOG_LEVELS.filter((level) => !page.includes(`**${level}**`))).toEqual([]);
  });

  it("keeps the names for what pino writes itself", () => {
    expect(["ts", "level", "msg", "time"].filter((name) => Object.hasOwn(LOG_FIELDS, name))).toEqual([]);
  });
});
