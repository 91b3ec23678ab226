import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AGENT_SETTINGS } from "../../../agent/config.ts";
import { AGGREGATOR_SETTINGS } from "../../../aggregator/settings/config.ts";
import type { Setting } from "../../../common/runtime/settings.ts";
import { PROVISIONER_SETTINGS } from "../../../provisioner/config.ts";
import { KEEPER_SETTINGS } from "../../../provisioner/keeper/config.ts";

const root = new URL("../../../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");
const settingsPage = readFileSync(new URL("docs/settings.md", root), "utf8");

function row({ name, description, fallback, isSwitch }: Setting<unknown>): string {
  const value = fallback === undefined || isSwitch ? "" : `\`${fallback}\``;
  return `| \`--${name}\` | ${value} | ${description} |`;
}

/** The rows of the table below a heading. */
function tableBelow(heading: string): readonly string[] {
  const section = settingsPage.slice(settingsPage.indexOf(heading) + heading.length).split("\n#")[0] ?? "";
  return section.split("\n").filter((line) => line.startsWith("| `--"));
}

describe("docs/settings.md", () => {
  it.each([
    { name: "the agent", heading: "## Settings of the agent", settings: Object.values(AGENT_SETTINGS) },
    { name: "the aggregator", heading: "## Settings of the aggregator", settings: Object.values(AGGREGATOR_SETTINGS) },
    {
      name: "the provisioner",
      heading: "## Settings of the provisioner",
      settings: Object.values(PROVISIONER_SETTINGS),
    },
    { name: "its keeper", heading: "## Settings of the keeper", settings: Object.values(KEEPER_SETTINGS) },
  ])("lists every setting of $name with its default", ({ heading, settings }) => {
    const rows = tableBelow(heading);

    expect(rows).toEqual(settings.map(row));
  });
});

describe("README", () => {
  it.each([
    { file: "README.md", limit: 150 },
    { file: "ARCHITECTURE.md", limit: 200 },
    { file: "CONTRIBUTING.md", limit: 60 },
  ])("$file has at most $limit lines", ({ file, limit }) => {
    const lines = readFileSync(new URL(file, root), "utf8").trimEnd().split("\n").length;

    expect(lines).toBeLessThanOrEqual(limit);
  });

  it("names only commands that exist", () => {
    const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
    const named = [...readme.matchAll(/npm (?:run )?([a-z][\w:-]*)/g)].map(([, script]) => script ?? "");

    expect(named.filter((script) => !(script in scripts))).toEqual([]);
  });
});
