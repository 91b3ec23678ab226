import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { MetricDescription, Metrics } from "../../../common/runtime/metrics.ts";
import { csiMountPoint } from "../../fakes/mount-table.ts";
import { startAgent, stopAgents, TOKEN } from "../../program/agent/started-agent.ts";
import { stopAggregators } from "../aggregator/started-aggregator.ts";
import { stopKeepers } from "../provisioner/keeper/started-keeper.ts";
import { stopProvisioners } from "../provisioner/started-provisioner.ts";
import { agentRegistry, aggregatorRegistry, keeperRegistry, provisionerRegistry } from "./registries.ts";

afterEach(async () => {
  await stopAgents();
  await stopAggregators();
  await stopProvisioners();
  await stopKeepers();
});

const page = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8");

const PROGRAMS = [
  { program: "an agent", heading: "## Metrics of the agent", registry: agentRegistry },
  { program: "the aggregator", heading: "## Metrics of the aggregator", registry: aggregatorRegistry },
  { program: "the provisioner", heading: "## Metrics of the provisioner", registry: provisionerRegistry },
  { program: "its keeper", heading: "## Metrics of the keeper", registry: keeperRegistry },
] as const;

function row({ name, type, labels, help }: MetricDescription): string {
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`;
}

/** The rows of the table below a heading. */
function tableBelow(heading: string): readonly string[] {
  const section = page.slice(page.indexOf(heading) + heading.length).split("\n## ")[0] ?? "";
  return section
    .split("\n")
    .filter((line) => /^\| `(controller|leader_election|mooring|process|rest_client|workqueue)_/.test(line));
}

function byName(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

describe("docs/metrics.md", () => {
  it.each(PROGRAMS)("lists every metric of $program, as it is rendered", async ({ heading, registry }) => {
    const metrics = await registry();

    expect(tableBelow(heading)).toEqual(metrics.list().map(row).toSorted(byName));
  });
});

/** What promtool's linter says, and what prometheus.io's page on naming does beyond it. */
const RULES: readonly { readonly rule: string; readonly isKept: (metric: MetricDescription) => boolean }[] = [
  { rule: "a name is lower-case words", isKept: ({ name }) => /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name) },
  {
    rule: "a counter ends in _total, nothing else does",
    isKept: ({ name, type }) => name.endsWith("_total") === (type === "counter"),
  },
  {
    rule: "no name has an ending that histograms make",
    isKept: ({ name }) => !/_(count|sum|bucket|info_total)$/.test(name),
  },
  {
    rule: "no name has the word of its type",
    isKept: ({ name }) => !/_(counter|gauge|histogram|summary)(_|$)/.test(name),
  },
  {
    rule: "units are base units, written out",
    isKept: ({ name }) =>
      !/_(ms|millis|milliseconds|micros|nanoseconds|minutes|hours|days|kb|kilobytes|mb|megabytes|sec|secs|percent)(_|$)/.test(
        name,
      ),
  },
  {
    rule: "a histogram says what it measures in",
    isKept: ({ name, type }) => type !== "histogram" || /_(seconds|bytes)$/.test(name),
  },
  {
    rule: "a time or a size has its unit at the end",
    isKept: ({ name }) => !/_(age|latency|skew|duration|timestamp)(_total)?$/.test(name),
  },
  {
    rule: "labels are lower-case words",
    isKept: ({ labels }) => labels.every((label) => /^[a-z]+(_[a-z]+)*$/.test(label) && label !== "le"),
  },
  {
    rule: "the help is a sentence that does not end in the name",
    isKept: ({ help, name }) => /^[A-Z0-9].*\.$/.test(help) && !help.includes(name),
  },
];

describe.each(PROGRAMS)("the names of $program's metrics", ({ registry }) => {
  it.each(RULES)("follow Prometheus' conventions: $rule", async ({ isKept }) => {
    const metrics = await registry();

    expect(metrics.list().filter((metric) => !isKept(metric))).toEqual([]);
  });

  it("are those of the series that are rendered", async () => {
    const metrics = await registry();
    const known = new Set(metrics.list().map(({ name }) => name));

    const families = [...(await metrics.text()).matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name ?? "");

    expect(families.filter((name) => !known.has(name))).toEqual([]);
    expect([...known].filter((name) => !families.includes(name))).toEqual([]);
  });
});

async function seriesOf(metrics: Metrics): Promise<number> {
  return (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
}

describe("an agent's metrics", () => {
  it("are as many on a node with five hundred volumes as on one with none", async () => {
    const count = async (mounts: readonly string[]): Promise<number> => {
      let registry: Metrics | undefined;
      const { advance } = await startAgent({
        mounts: [TOKEN, ...mounts],
        ports: ({ metrics }) => {
          registry = metrics;
          return {};
        },
      });
      await advance(5_000);
      return registry === undefined ? 0 : await seriesOf(registry);
    };
    const volumes = Array.from({ length: 500 }, (_, index) => csiMountPoint(`pod-${index}`, `pv-${index}`));

    const [none, many] = [await count([]), await count(volumes)];

    expect(many).toBe(none);
    expect(none).toBeGreaterThan(20);
  });
});

describe("an idle program", () => {
  it.each([
    { ...PROGRAMS[0], most: 150 },
    { ...PROGRAMS[1], most: 250 },
    { ...PROGRAMS[2], most: 150 },
    { ...PROGRAMS[3], most: 50 },
  ])("has few series: $program", async ({ registry, most }) => {
    const count = await seriesOf(await registry());

    expect(count).toBeLessThan(most);
  });
});
