import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../rig/control-plane/control-plane.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { byName, helmTemplate, kustomize, MANIFESTS, type Printed, tool } from "./manifest-tools.ts";
import { writeSchemas } from "./openapi-schemas.ts";

const CRDS = fileURLToPath(new URL("../fixtures/prometheus-operator", import.meta.url));
const run = promisify(execFile);

let owner: Owner;
let signals: Disposable;
let plane: ControlPlane;
/** Where kubeconform finds what this API server knows. */
let schemas: string;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  plane = await startControlPlane(owner);
  await kubectl("apply", "--server-side", "-f", CRDS);
  await kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s");
  const namespaces = [
    ...["base/namespaces.yaml", "uninstall/namespace.yaml", "components/provisioner/namespace.yaml"],
  ].flatMap((file) => ["-f", `${MANIFESTS}/${file}`]);
  await kubectl("apply", "--server-side", ...namespaces);
  const rendered = await Promise.all(ROWS.map(({ manifests }) => manifests()));
  const kinds = new Set(rendered.flatMap((text) => [...byName(text).values()].map(({ kind }) => kind ?? "")));
  schemas = await writeSchemas(plane.api, kinds, join(owner.folder, "schemas"));
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function kubectl(...args: readonly string[]): Promise<Printed> {
  const flags = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
  return run(plane.kubectl, [...flags, ...args], { maxBuffer: 64 * 1024 * 1024 });
}

interface Row {
  readonly name: string;
  readonly manifests: () => Promise<string>;
}

const FOLDERS = ["base", "overlays/enforce", "overlays/production", "overlays/selinux", "overlays/test", "uninstall"];

const VALUES = [
  { values: "components", set: [] },
  { values: "given-certificates", set: [] },
  {
    values: "provisioner",
    set: [
      "provisioner.pools.fast=/mnt/nvme0",
      "provisioner.nodeSelector.disk=local",
      "provisioner.settings.log-level=debug",
      "provisioner.keeper.settings.reserve=30",
    ],
  },
  {
    values: "production",
    set: [
      "networkPolicy.scrapeNamespace=observability",
      "monitoring.labels.release=kube-prometheus",
      "aggregator.replicas=3",
    ],
  },
  {
    values: "enforce",
    set: [
      "image.pullPolicy=Always",
      `image.digest=sha256:${"0".repeat(64)}`,
      "imagePullSecrets[0].name=registry",
      "agent.settings.heartbeat=15s",
      "agent.settings.reject-bare-pods=true",
      "agent.maxUnavailable=3",
      "agent.journalPath=/data/mooring",
      "agent.podAnnotations.team=storage",
      "agent.nodeSelector.pool=storage",
      "aggregator.settings.log-level=debug",
      "aggregator.tolerations[0].operator=Exists",
      "aggregator.resources.limits.memory=4Gi",
    ],
  },
] as const;

/** Each is looked at more than once. */
function once(render: () => Promise<string>): () => Promise<string> {
  let rendered: Promise<string> | undefined;
  return () => {
    rendered ??= render();
    return rendered;
  };
}

const ROWS: readonly Row[] = [
  ...FOLDERS.map((folder) => ({ name: folder, manifests: once(() => kustomize(`${MANIFESTS}/${folder}`)) })),
  ...VALUES.map(({ values, set }) => ({
    name: `the chart with ${values}-values.yaml and ${set.length} values more`,
    manifests: once(() => helmTemplate(values, ...set.flatMap((one) => ["--set", one]))),
  })),
];

async function file(manifests: string): Promise<string> {
  const path = join(owner.folder, "rendered.yaml");
  await writeFile(path, manifests);
  return path;
}

/** As the API server would take it, had it been sent in earnest; a field that it does not know is an error. */
async function tryOut(manifests: string): Promise<Printed> {
  const flags = ["--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"];
  return await kubectl("apply", ...flags, "-f", await file(manifests));
}

function conform(path: string): Promise<Printed> {
  return tool("kubeconform", "-strict", "-schema-location", schemas, "-output", "text", "-summary", path);
}

describe("the API server's own dry run", () => {
  it.each(ROWS)("accepts $name without a warning", async ({ manifests }) => {
    const rendered = await manifests();

    const { stdout, stderr } = await tryOut(rendered);

    expect(stderr).toBe("");
    expect(stdout.trimEnd().split("\n")).toHaveLength(byName(rendered).size);
  });

  it("refuses an unknown field, so that the rows above prove something", async () => {
    const rendered = (await kustomize(`${MANIFESTS}/base`)).replace("priorityClassName:", "priorityClas:");

    await expect(tryOut(rendered)).rejects.toThrow(/priorityClas/);
  });
});

describe("kubeconform, with the server's own schemas made strict", () => {
  it.each(ROWS)("finds $name valid", async ({ manifests }) => {
    const rendered = await manifests();

    const { stdout } = await conform(await file(rendered));

    expect(stdout).toMatch(new RegExp(`Valid: ${byName(rendered).size}, Invalid: 0, Errors: 0, Skipped: 0`));
  });

  it("finds an unknown field", async () => {
    const rendered = (await kustomize(`${MANIFESTS}/base`)).replace("priorityClassName:", "priorityClas:");

    await expect(conform(await file(rendered))).rejects.toMatchObject({
      stdout: expect.stringMatching(/additional propert.*'priorityClas'/),
    });
  });
});
