import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const root = new URL("../../../", import.meta.url);

/** Words that only this project used, and what a Kubernetes engineer calls it. One word for an idea: these do not come back. */
const RETIRED: readonly (readonly [word: RegExp, instead: string])[] = [
  [/blind[- ](gap|span)|blindSpan/i, "gap"],
  [/homeless/i, "unattributed, or unknown"],
  [/\bset-?backs?\b/i, "clock rollback, or failure"],
  [/recollect/i, "interpretStored, mergeStored"],
  [/WakeUp|takeQuestion/, "MountNotifier, request"],
  [/use-?hold/i, "mounted volume"],
  [/\bagentless\b/i, "without an agent"],
  [/DealtWith/, "checkpoint"],
  [/UnsettledEnds|EndedReference|PodEnds?\b/, "EndedPods"],
  [/PodCoverage\b|CoverageGap|BlindEnd/, "PodWatchHistory, WatchGap"],
  [/ClaimMemory|WriteMemory/, "ClaimState"],
  [/\bbrakes?\b/i, "rate limit, circuit breaker"],
  [/DISAGREES|Disagreements?/, "STILL MOUNTED, unused while mounted"],
  [/Aftermath|\bAttention\b/, "the word of the placement step"],
  [/\bpulse\b|\bsigns of life\b/i, "progress, heartbeat"],
  [/\bbreather/i, "yieldToEventLoop"],
  [/DueTimes|\bInterruptions\b/, "TimerHeap, RetryLog"],
  [/given certificates?/i, "external TLS"],
  [/\btells? of\b/i, "reports"],
  [/\bhea(rd|rs?) of\b/i, "reports again, learns of"],
  [/nobody watched/i, "no replica and no agent watched: unobserved"],
  [/\bsightings?\b/i, "the observation"],
  [/\bwhoever\b/i, "the actor by name: a client, a replica, a pod"],
];

const FILES = globSync(
  [
    "{agent,aggregator,cli,common,docs,manifests,provisioner,test,.ci}/**/*.{ts,mjs,md,yaml,tpl,txt,patch,json}",
    "{README,ARCHITECTURE,CONTRIBUTING,SECURITY}.md",
  ],
  {
    cwd: root,
    exclude: ["**/node_modules/**", "test/fixtures/**", "**/*.plan.json", "test/unit/tooling/words.test.ts"],
  },
);

describe("the words of the project", () => {
  const files = FILES.map((path) => ({ path, lines: readFileSync(new URL(path, root), "utf8").split("\n") }));

  it("are looked for in every file", () => {
    expect(files.length).toBeGreaterThan(1_000);
  });

  it.each(RETIRED)("%s is called %s", (word) => {
    const found = files.flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => (word.test(line) ? `${path}:${index + 1}: ${line.trim()}` : [])),
    );

    expect(found).toEqual([]);
  });
});
