// Writes what of the Helm chart is made of other files: `npm run chart`. A test compares.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadYaml } from "@kubernetes/client-node";
import { array, type InferOutput, looseObject, object, optional, parse, record, string, unknown } from "valibot";
import { AGENT_SETTINGS } from "../agent/config.ts";
import { AGGREGATOR_SETTINGS } from "../aggregator/settings/config.ts";
import { type Setting, variableOf } from "../common/runtime/settings.ts";
import { PROVISIONER_SETTINGS } from "../provisioner/config.ts";
import { KEEPER_SETTINGS } from "../provisioner/keeper/config.ts";

const MANIFESTS = fileURLToPath(new URL("../manifests/", import.meta.url));
const CHART = "helm/mooring";
/** Helm reads nothing outside of the chart, so what it renders as it stands is here once more. */
const COPIES = `${CHART}/files`;
const PROVISIONER = "components/provisioner/provisioner.yaml";
/** Folders whose resources the chart has; patches are the templates' business. */
const SOURCES = [
  "base",
  ...["affinity-rights", "affinity-delete", "protection-audit", "critical-pods-quota"].map(
    (name) => `components/${name}`,
  ),
  ...["network-policy", "monitoring", "dashboard", "provisioner"].map((name) => `components/${name}`),
  ...["network-policy", "monitoring", "critical-pods-quota"].map((name) => `components/provisioner-${name}`),
];
/** What values of their own are for, or what no pod should be told. */
const NO_SETTINGS = [
  ...[
    "affinity",
    "delete-reverted",
    "protection",
    "aggregator-ca-file",
    "tls-cert-file",
    "tls-key-file",
    "capacity",
    "pool",
  ],
  ...["kubeconfig", "dry-run", "output", "prepare-journal", "namespace"],
];

const Kustomization = object({
  resources: optional(array(string()), []),
  configMapGenerator: optional(array(object({ files: array(string()) })), []),
});

const Schema = looseObject({ properties: unknown(), $defs: record(string(), looseObject({})) });
type Schema = InferOutput<typeof Schema>;

const Value = looseObject({ description: optional(string()), properties: optional(record(string(), unknown())) });

/** The generated files of the chart: paths below manifests/, and texts. */
export function chartFiles(): ReadonlyMap<string, string> {
  const copies = SOURCES.flatMap((folder) =>
    copiedFrom(folder).map((file) => [`${COPIES}/${folder}/${file}`, read(`${folder}/${file}`)] as const),
  );
  const schema = withSettings(parse(Schema, JSON.parse(read(`${CHART}/values.schema.json`))));
  return new Map([
    ...copies,
    [`${CHART}/values.schema.json`, `${JSON.stringify(schema, undefined, 2)}\n`],
    [`${CHART}/README.md`, readme(schema)],
  ]);
}

/** The files that are there now and would have to be generated, below manifests/. */
export function presentCopies(): readonly string[] {
  return readdirSync(join(MANIFESTS, COPIES), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(MANIFESTS.length));
}

/** The text of a file below manifests/. */
export function read(path: string): string {
  return readFileSync(join(MANIFESTS, path), "utf8");
}

function copiedFrom(folder: string): readonly string[] {
  const { resources, configMapGenerator } = parse(Kustomization, loadYaml(read(`${folder}/kustomization.yaml`)));
  return [...resources, ...configMapGenerator.flatMap(({ files }) => files)];
}

/** A flag that is misspelt is then an error of `helm install`, not of a container that does not start. */
function withSettings(schema: Schema): Schema {
  const { $defs } = schema;
  return {
    ...schema,
    $defs: {
      ...$defs,
      agentSettings: settingsSchema(Object.values(AGENT_SETTINGS), "base/agent.yaml"),
      aggregatorSettings: settingsSchema(Object.values(AGGREGATOR_SETTINGS), "base/aggregator.yaml"),
      provisionerSettings: settingsSchema(Object.values(PROVISIONER_SETTINGS), PROVISIONER),
      keeperSettings: settingsSchema(Object.values(KEEPER_SETTINGS), PROVISIONER),
    },
  };
}

function settingsSchema(settings: readonly Setting<unknown>[], workload: string): Readonly<Record<string, unknown>> {
  const text = read(workload);
  const free = settings.filter(
    ({ name }) => !(NO_SETTINGS.includes(name) || text.includes(`name: ${variableOf(name)}\n`)),
  );
  const properties = Object.fromEntries(
    free.map(({ name, description }) => [name, { $ref: "#/$defs/setting", description }]),
  );
  return { type: "object", additionalProperties: false, properties };
}

function readme({ properties }: Schema): string {
  const defaults: unknown = loadYaml(read(`${CHART}/values.yaml`));
  const rows = leaves(properties, []).map(({ path, description }) => {
    const value = path.reduce<unknown>((at, key) => parse(record(string(), unknown()), at)[key], defaults);
    return `| \`${path.join(".")}\` | \`${JSON.stringify(value)}\` | ${description} |`;
  });
  return `# Mooring's Helm chart

${parse(object({ description: string() }), loadYaml(read(`${CHART}/Chart.yaml`))).description} With nothing
but an image it renders the same objects as \`manifests/base\` does by kustomize. How to install, upgrade and remove: \`docs/install.md\`.

\`\`\`
helm install mooring manifests/helm/mooring --set image.repository=registry.example/mooring --set image.tag=0.1.0
\`\`\`

The chart makes the namespaces \`mooring\` (aggregators, Pod Security level \`restricted\`) and \`mooring-agents\`, with the provisioner also
\`mooring-provisioner\`, and is installed once in a cluster. The namespaces cannot be called otherwise: the admission policies name them and
the accounts in them. The release itself may be recorded in any namespace but these, which go with it.

| Value | Default | Meaning |
|---|---|---|
${rows.join("\n")}

This page and \`files/\` are written by \`npm run chart\`, of \`values.schema.json\`, \`values.yaml\` and what kustomize uses.
`;
}

interface Leaf {
  readonly path: readonly string[];
  readonly description: string;
}

function leaves(properties: unknown, path: readonly string[]): readonly Leaf[] {
  return Object.entries(parse(record(string(), unknown()), properties)).flatMap(([name, value]) => {
    if (name === "global") return [];
    const { description = "", properties: inner } = parse(Value, value);
    return inner === undefined ? [{ path: [...path, name], description }] : leaves(inner, [...path, name]);
  });
}

if (import.meta.main) {
  const files = chartFiles();
  rmSync(join(MANIFESTS, COPIES), { recursive: true, force: true });
  for (const [path, text] of files) {
    mkdirSync(dirname(join(MANIFESTS, path)), { recursive: true });
    writeFileSync(join(MANIFESTS, path), text);
  }
}
