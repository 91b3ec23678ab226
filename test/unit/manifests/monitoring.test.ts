import { readFileSync } from "node:fs";
import type { KubernetesObject, V1DaemonSet, V1NetworkPolicy } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { agent, aggregator, objectIn, objectsIn, textOf } from "./objects.ts";

const page = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
/** What the programs have, by their page, which is compared with them; and what Prometheus itself adds. */
const KNOWN = new Set([...page.matchAll(/^\| `([a-z_]+)`/gm)].map(([, name]) => name ?? "").concat("up"));

/** The names of series in a text of PromQL, without what a histogram adds to its own. */
function seriesIn(text: string): readonly string[] {
  const names = [...text.matchAll(/\b((?:mooring|process)_[a-z_]+|up)(?=\{)/g)].map(([, name]) => name ?? "");
  return [...new Set(names.map((name) => name.replace(/_bucket$/, "")))];
}

describe("what is watched", () => {
  it.each([
    { file: "components/monitoring/rules.yaml", least: 16 },
    { file: "components/dashboard/mooring.json", least: 16 },
    { file: "components/provisioner-monitoring/rules.yaml", least: 8 },
  ])("$file asks for no series that there is not", ({ file, least }) => {
    const asked = seriesIn(textOf(file).replaceAll('\\"', '"'));

    expect(asked.length).toBeGreaterThanOrEqual(least);
    expect(asked.filter((name) => !KNOWN.has(name))).toEqual([]);
  });

  it("the dashboard has no two panels of one number, and none without a query", () => {
    const { panels } = JSON.parse(textOf("components/dashboard/mooring.json"));

    const ids = panels.map(({ id }: { readonly id: number }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, targets } of panels) expect(type === "row" || targets[0].expr).toBeTruthy();
  });
});

const provisioner = objectIn<V1DaemonSet>("components/provisioner/provisioner.yaml", "DaemonSet");

describe("the ports that others name", () => {
  const portsOf = ({ spec }: typeof agent | typeof aggregator): readonly (string | undefined)[] =>
    (spec?.template.spec?.containers ?? []).flatMap(({ ports = [] }) => ports.map(({ name }) => name));
  const ports: Readonly<Record<string, readonly (string | undefined)[]>> = {
    "mooring-agent": portsOf(agent),
    "mooring-aggregator": portsOf(aggregator),
    "mooring-provisioner": portsOf(provisioner),
  };

  it.each([
    { name: "mooring-agent", component: "monitoring" },
    { name: "mooring-aggregator", component: "monitoring" },
    { name: "mooring-provisioner", component: "provisioner-monitoring" },
  ])("a PodMonitor scrapes $name where its health is", ({ name, component }) => {
    const text = textOf(`components/${component}/monitors.yaml`);
    const [monitor] = text.split("\n---\n").filter((one) => one.includes(`\n  name: ${name}\n`));

    expect(monitor).toMatch(/- port: health\n/);
    expect(ports[name]).toContain("health");
  });

  it("network policies open no port that the pods behind them do not have", () => {
    const policies = ["network-policy", "provisioner-network-policy"].flatMap((component) =>
      objectsIn<V1NetworkPolicy & KubernetesObject>(`components/${component}/policies.yaml`, "NetworkPolicy"),
    );
    const opened = policies.flatMap(({ metadata, spec }) =>
      (spec?.ingress ?? []).flatMap((rule) =>
        (rule.ports ?? []).map(({ port }) => [metadata?.name ?? "", String(port)]),
      ),
    );

    expect(opened.toSorted()).toEqual([
      ["mooring-agent", "health"],
      ["mooring-aggregator", "health"],
      ["mooring-aggregator", "reports"],
      ["mooring-provisioner", "health"],
    ]);
    for (const [name = "", port] of opened) expect(ports[name]).toContain(port);
  });
});
