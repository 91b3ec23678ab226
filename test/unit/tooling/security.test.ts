import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AGENT_ATTACKS } from "../../integration/attacks/agent-attacks.ts";
import { AGENT_STATUS_ATTACKS } from "../../integration/attacks/agent-status-attacks.ts";
import { AGGREGATOR_ATTACKS } from "../../integration/attacks/aggregator-attacks.ts";

const TEXT = readFileSync(new URL("../../../SECURITY.md", import.meta.url), "utf8");

/** The attacks of which SECURITY.md says that they are refused. */
function namedIn(text: string, begin: string): readonly string[] {
  return [...text.matchAll(/`(an? \w+ that [^`]+)`/g)]
    .map(([, name = ""]) => name)
    .filter((name) => name.startsWith(begin));
}

describe("SECURITY.md", () => {
  it.each([
    { begin: "an agent that ", attacks: [...AGENT_STATUS_ATTACKS, ...AGENT_ATTACKS] },
    { begin: "an aggregator that ", attacks: AGGREGATOR_ATTACKS },
  ])("names no attack by $begin… that is not made", ({ begin, attacks }) => {
    const made = new Set(attacks.map(({ name }) => begin + name));
    const named = namedIn(TEXT, begin);

    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !made.has(name))).toEqual([]);
  });
});
