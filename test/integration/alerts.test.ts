import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadYaml } from "@kubernetes/client-node";
import { array, object, optional, parse, record, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { read } from "../../.ci/chart.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { ALERT_SCENES, type AlertScene } from "./alert-scenes.ts";
import { tool } from "./manifest-tools.ts";

const RUNBOOKS = fileURLToPath(new URL("../../docs/runbooks", import.meta.url));

const Rule = object({
  alert: string(),
  expr: string(),
  for: optional(string(), "0m"),
  labels: record(string(), string()),
  annotations: object({ summary: string(), description: string(), runbook_url: string() }),
});
/** What a tool printed that found fault with what it was given. */
const Printed = object({ stdout: string(), stderr: string() });
const PrometheusRule = object({ spec: object({ groups: array(object({ name: string(), rules: array(Rule) })) }) });

const GROUPS = ["components/monitoring/rules.yaml", "components/provisioner-monitoring/rules.yaml"].flatMap(
  (file) => parse(PrometheusRule, loadYaml(read(file))).spec.groups,
);
const RULES = GROUPS.flatMap(({ rules }) => rules);

let owner: Owner;
let signals: Disposable;
/** The rules as Prometheus has them. */
let rulesFile: string;
/** The unexpected results of all scenes: promtool takes half a second to start. */
let otherwise: readonly string[];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const folder = join(owner.folder, "alerts");
  await mkdir(folder);
  rulesFile = join(folder, "rules.yaml");
  await writeFile(rulesFile, JSON.stringify({ groups: GROUPS }));
  otherwise = await play(ALERT_SCENES);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** A scene as promtool plays it: whether the alert fires, with these labels beside its own. */
function testOf({ alert, name, series, at = "2h", fires }: AlertScene): object {
  const severity = RULES.find((rule) => rule.alert === alert)?.labels.severity ?? "none";
  const labels = { alertname: alert, alertstate: "firing", severity, ...fires };
  const text = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  const samples = fires === undefined ? [] : [{ labels: `ALERTS{${text.join(",")}}`, value: 1 }];
  return {
    name: `${alert} ${name}`,
    interval: "1m",
    input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
    promql_expr_test: [
      { expr: `ALERTS{alertname="${alert}",alertstate="firing"}`, eval_time: at, exp_samples: samples },
    ],
  };
}

/** The scenes of an alert, with its rule alone: promtool works out all rules that it is given, at each minute of each scene. */
async function sceneFile(alert: string, scenes: readonly AlertScene[]): Promise<string> {
  const file = (name: string): string => join(owner.folder, "alerts", `${alert}-${name}.yaml`);
  const write = (name: string, content: object): Promise<void> => writeFile(file(name), JSON.stringify(content));
  await write("rule", { groups: [{ name: "one", rules: RULES.filter((rule) => rule.alert === alert) }] });
  await write("scenes", { rule_files: [file("rule")], evaluation_interval: "1m", tests: scenes.map(testOf) });
  return file("scenes");
}

/** What promtool prints about each scene with an unexpected result; it begins with the expression that names the alert. */
async function play(scenes: readonly AlertScene[]): Promise<readonly string[]> {
  const byAlert = Object.entries(Object.groupBy(scenes, ({ alert }) => alert));
  const files = await Promise.all(byAlert.map(([alert, of = []]) => sceneFile(alert, of)));
  const played = await tool("promtool", "test", "rules", ...files).catch((error: unknown) => parse(Printed, error));
  const said = played.stdout + played.stderr;
  const [, ...otherwise] = said.split(/^ *(?=expr: )/m);
  if (otherwise.length === 0 && !said.includes("SUCCESS")) throw new Error(said);
  return otherwise;
}

describe("the alerts", () => {
  it("are rules that Prometheus takes", async () => {
    const { stdout } = await tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", rulesFile);

    expect(stdout).toContain(`SUCCESS: ${RULES.length} rules found`);
  });

  it.each(RULES)(
    "$alert has a page of its own, and its severity is one of three",
    async ({ alert, labels, annotations }) => {
      expect(annotations.runbook_url).toBe(`docs/runbooks/${alert}.md`);
      expect(await readdir(RUNBOOKS)).toContain(`${alert}.md`);
      expect(["critical", "warning", "info"]).toContain(labels.severity);
    },
  );

  it("and no page is of an alert that there is not", async () => {
    const pages = (await readdir(RUNBOOKS)).filter((name) => name !== "README.md");

    expect(pages.toSorted()).toEqual(RULES.map(({ alert }) => `${alert}.md`).toSorted());
  });

  it("each have a scene in which they fire and one in which they keep quiet", () => {
    const told = (isFiring: boolean) =>
      new Set(ALERT_SCENES.filter(({ fires }) => (fires !== undefined) === isFiring).map(({ alert }) => alert));

    const all = new Set(RULES.map(({ alert }) => alert));
    expect(told(true)).toEqual(all);
    expect(told(false)).toEqual(all);
  });

  it.each(RULES)("$alert fires in the scenes where it should, and in no other", ({ alert }) => {
    expect(otherwise.filter((said) => said.includes(`alertname=\\"${alert}\\"`))).toEqual([]);
  });

  it("fire as expected in all scenes", () => {
    expect(otherwise).toEqual([]);
  });

  it("fail with wrong expectations, so that promtool would notice", async () => {
    const turned = ALERT_SCENES.slice(0, 4).map(({ fires, ...scene }) =>
      fires === undefined ? { ...scene, fires: {} } : scene,
    );

    expect(await play(turned)).toHaveLength(turned.length);
  });
});
