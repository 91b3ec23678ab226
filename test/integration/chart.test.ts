import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type KubernetesObject,
  loadYaml,
  type V1Container,
  type V1DaemonSet,
  type V1Deployment,
} from "@kubernetes/client-node";
import { looseObject, parse } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPage } from "../pages/page.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { byName, CHART, helmTemplate, kustomize, MANIFESTS, overlay, tool } from "./manifest-tools.ts";

let owner: Owner;
let signals: Disposable;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Comparable: the order of variables has no meaning as long as none refers to another. */
function comparable(manifests: string): Readonly<Record<string, KubernetesObject>> {
  const objects = byName(manifests);
  for (const container of [...objects.values()].flatMap(containersOf))
    container.env?.sort((a, b) => (a.name < b.name ? -1 : 1));
  return Object.fromEntries([...objects].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function isWorkload(object: KubernetesObject): object is V1DaemonSet | V1Deployment {
  return object.kind === "DaemonSet" || object.kind === "Deployment";
}

function containersOf(object: KubernetesObject): readonly V1Container[] {
  return isWorkload(object) ? (object.spec?.template.spec?.containers ?? []) : [];
}

describe("the chart renders the same objects as kustomize", () => {
  it.each([
    { values: "base", folder: "base" },
    { values: "enforce", folder: "overlays/enforce" },
    { values: "production", folder: "overlays/production" },
    { values: "selinux", folder: "overlays/selinux" },
  ])("$values-values.yaml: $folder", async ({ values, folder }) => {
    const [ofChart, ofKustomize] = [await helmTemplate(values), await kustomize(`${MANIFESTS}/${folder}`)];

    expect(Object.keys(comparable(ofChart)).length).toBeGreaterThan(15);
    expect(comparable(ofChart)).toEqual(comparable(ofKustomize));
  });

  it.each([
    {
      values: "components",
      components: ["affinity-enforce", "affinity-delete", "protection-enforce", "critical-pods-quota"],
    },
    { values: "protection-audit", components: ["protection-audit"] },
    { values: "given-certificates", components: ["given-certificates"] },
    {
      values: "provisioner",
      components: [
        ...["provisioner", "provisioner-network-policy", "provisioner-monitoring", "provisioner-critical-pods-quota"],
        ...["network-policy", "monitoring", "critical-pods-quota"],
      ],
    },
  ])("$values-values.yaml: the base with $components", async ({ values, components }) => {
    const folder = await overlay(owner.folder, values, { components });

    const [ofChart, ofKustomize] = [await helmTemplate(values), await kustomize(folder)];

    expect(comparable(ofChart)).toEqual(comparable(ofKustomize));
  });

  it.each([
    { name: "tag", set: "tag=1.2.3", image: { newTag: "1.2.3" } },
    {
      name: "digest",
      set: `digest=sha256:${"0".repeat(64)}`,
      image: { digest: `sha256:${"0".repeat(64)}` },
    },
  ])("with an image by its $name", async ({ name, set, image }) => {
    const newName = "registry.example/team/mooring";
    const folder = await overlay(owner.folder, `image-${name}`, { components: [], image: { newName, ...image } });

    const ofChart = await helmTemplate("base", "--set", `image.repository=${newName},image.${set}`);

    expect(comparable(ofChart)).toEqual(comparable(await kustomize(folder)));
  });
});

describe("monitoring.runbookBaseUrl", () => {
  it("links alerts to their pages as the replacement in docs/install.md does", async () => {
    const folder = await overlay(owner.folder, "runbooks", { components: ["monitoring"] });
    const file = join(folder, "kustomization.yaml");
    const replacements = parse(looseObject({}), loadYaml(readPage("install.md").block("### Alerts and their pages")));
    await writeFile(
      file,
      JSON.stringify({ ...parse(looseObject({}), JSON.parse(await readFile(file, "utf8"))), ...replacements }),
    );
    const values = "monitoring.enabled=true,monitoring.runbookBaseUrl=https://git.example/mooring/blob/main";

    const ofChart = await helmTemplate("base", "--set", values);

    expect(ofChart).toContain("runbook_url: https://git.example/mooring/blob/main/docs/runbooks/MooringNodeSilent.md");
    expect(comparable(ofChart)).toEqual(comparable(await kustomize(folder)));
  });
});

/** The first object of a kind in what the chart renders with these values. */
async function workload(kind: string, ...set: readonly string[]): Promise<V1DaemonSet | V1Deployment> {
  const found = [...byName(await helmTemplate("base", "--set", set.join(","))).values()].find(
    (one) => one.kind === kind,
  );
  if (found === undefined || !isWorkload(found)) throw new Error(`no ${kind}`);
  return found;
}

/** The provisioner's pod, and its two containers. */
async function provisioner(...set: readonly string[]) {
  const rendered = byName(await helmTemplate("base", "--set", ["provisioner.enabled=true", ...set].join(",")));
  const found = rendered.get("DaemonSet mooring-provisioner/mooring-provisioner");
  if (found === undefined || !isWorkload(found)) throw new Error("no provisioner");
  const pod = found.spec?.template.spec;
  const containerOf = (name: string): V1Container => pod?.containers.find((one) => one.name === name) ?? { name: "" };
  return { pod, rendered, token: containerOf("provisioner"), keeper: containerOf("keeper") };
}

function variable({ env = [] }: V1Container, name: string): string | undefined {
  return env.find((one) => one.name === name)?.value;
}

describe("a value", () => {
  it("of settings becomes a variable, in place of one that the base has", async () => {
    const { spec } = await workload(
      "Deployment",
      "aggregator.settings.log-level=debug",
      "aggregator.settings.node-stale-after=2m",
    );

    const env = spec?.template.spec?.containers[0]?.env ?? [];
    expect(env).toContainEqual({ name: "MOORING_LOG_LEVEL", value: "debug" });
    expect(env).toContainEqual({ name: "MOORING_NODE_STALE_AFTER", value: "2m" });
    expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
  });

  it("of resources changes what it names and keeps the rest", async () => {
    const { spec } = await workload("DaemonSet", "agent.resources.limits.memory=300Mi");

    expect(spec?.template.spec?.containers[0]?.resources).toEqual({
      requests: { cpu: "10m", memory: "96Mi" },
      limits: { memory: "300Mi" },
    });
  });

  it("of a node selector is added to what the base asks of nodes", async () => {
    const { spec } = await workload("DaemonSet", "agent.nodeSelector.pool=storage");

    expect(spec?.template.spec?.nodeSelector).toEqual({ "kubernetes.io/os": "linux", pool: "storage" });
  });

  it("of the journal's path goes to the policy of the pods, too, which would not admit them otherwise", async () => {
    const rendered = await helmTemplate("base", "--set", "agent.journalPath=/data/mooring");

    expect(rendered).toContain("expression: \"'/data/mooring'\"");
    expect(rendered).toContain("path: /data/mooring");
    expect(rendered).not.toMatch(/path: \/var\/lib\/mooring|'\/var\/lib\/mooring'/);
  });

  it("of external TLS names the Secret that the aggregator serves, and what agents trust", async () => {
    const names = ["secretName=reports-tls", "configMapName=company-ca", "configMapKey=root.pem"];
    const values = ["enabled=true", ...names].map((one) => `givenCertificates.${one}`);

    const [aggregator, agent] = [await workload("Deployment", ...values), await workload("DaemonSet", ...values)];

    const sources = agent.spec?.template.spec?.volumes?.flatMap(({ projected }) => projected?.sources ?? []);
    expect(aggregator.spec?.template.spec?.volumes?.map(({ secret }) => secret?.secretName)).toEqual(["reports-tls"]);
    expect(sources?.flatMap(({ configMap }) => configMap ?? [])).toEqual([
      { name: "company-ca", optional: true, items: [{ key: "root.pem", path: "ca.crt" }] },
    ]);
    expect(agent.spec?.template.spec?.containers[0]?.env).toContainEqual({
      name: "MOORING_AGGREGATOR_CA_FILE",
      value: "/var/run/mooring/ca.crt",
    });
  });

  it("of the image goes to the init container, too", async () => {
    const { spec } = await workload("DaemonSet", "image.pullPolicy=Always", "image.tag=v7");

    const { initContainers = [], containers = [] } = spec?.template.spec ?? {};
    expect([...initContainers, ...containers].map(({ image, imagePullPolicy }) => [image, imagePullPolicy])).toEqual([
      ["mooring:v7", "Always"],
      ["mooring:v7", "Always"],
    ]);
  });

  it("of the provisioner is rendered nowhere while it is not enabled", async () => {
    const rendered = byName(await helmTemplate("base", "--set", "networkPolicy.enabled=true,monitoring.enabled=true"));

    expect([...rendered.keys()].filter((name) => /provisioner|local\.mooring\.dev/.test(name))).toEqual([]);
  });

  it("of pools names all of them to the keeper, and mounts those that are elsewhere where the node has them", async () => {
    const { pod, keeper } = await provisioner("provisioner.pools.fast=/mnt/nvme0", "provisioner.pools.default=null");

    expect(variable(keeper, "MOORING_POOL")).toBe("fast=/mnt/nvme0");
    expect(pod?.volumes).toContainEqual({
      name: "pool-fast",
      hostPath: { path: "/mnt/nvme0", type: "DirectoryOrCreate" },
    });
    expect(keeper.volumeMounts).toContainEqual({
      name: "pool-fast",
      mountPath: "/mnt/nvme0",
      mountPropagation: "HostToContainer",
    });
  });

  it("of a second pool in the folder of pools needs no second mount", async () => {
    const { pod, keeper } = await provisioner("provisioner.pools.slow=/var/lib/mooring-pools/slow");

    const folder = "/var/lib/mooring-pools";
    expect(variable(keeper, "MOORING_POOL")).toBe(`default=${folder}/default,slow=${folder}/slow`);
    expect(pod?.volumes?.flatMap(({ hostPath }) => hostPath?.path ?? [])).toContain(folder);
    expect(pod?.volumes?.filter(({ name }) => name.startsWith("pool-"))).toEqual([]);
  });

  it("of the provisioner's two containers goes to the one that it names", async () => {
    const { pod, token, keeper } = await provisioner(
      "provisioner.settings.log-level=debug",
      "provisioner.keeper.settings.reserve=30",
      "provisioner.resources.limits.memory=300Mi",
      "provisioner.keeper.resources.limits.memory=400Mi",
      "provisioner.nodeSelector.disk=local",
      "provisioner.tolerations[0].key=storage",
      "image.tag=v7",
    );

    expect([variable(token, "MOORING_LOG_LEVEL"), variable(token, "MOORING_RESERVE")]).toEqual(["debug", undefined]);
    expect([variable(keeper, "MOORING_LOG_LEVEL"), variable(keeper, "MOORING_RESERVE")]).toEqual([undefined, "30"]);
    expect([token, keeper].map(({ image, resources }) => [image, resources?.limits?.memory])).toEqual([
      ["mooring:v7", "300Mi"],
      ["mooring:v7", "400Mi"],
    ]);
    expect(pod?.nodeSelector).toEqual({ "kubernetes.io/os": "linux", disk: "local" });
    expect(pod?.tolerations).toEqual([{ key: "storage" }]);
  });

  it("of capacity takes away what makes the scheduler look for it, too: it would place no pod", async () => {
    const off = await provisioner("provisioner.capacity=false");
    const on = await provisioner();

    expect(variable(off.token, "MOORING_CAPACITY")).toBe("off");
    expect([...off.rendered.keys()].filter((name) => name.startsWith("CSIDriver"))).toEqual([]);
    expect([...on.rendered.keys()]).toContain("CSIDriver /local.mooring.dev");
  });

  it.each([
    { name: "no image", set: "image.repository=", says: /image\.repository is missing: name the image that you built/ },
    {
      name: "a tag and a digest",
      set: `image.tag=v1,image.digest=sha256:${"0".repeat(64)}`,
      says: /exclude each other/,
    },
    { name: "a tag that is a number to YAML", set: "image.tag=110", says: /'\/image\/tag': got number, want string/ },
    { name: "a misspelt value", set: "aggregator.replica=3", says: /'\/aggregator'.*'replica' not allowed/ },
    {
      name: "a misspelt flag",
      set: "agent.settings.heartbeet=3s",
      says: /'\/agent\/settings'.*'heartbeet' not allowed/,
    },
    { name: "a flag that has a value", set: "agent.settings.affinity=off", says: /'affinity' not allowed/ },
    {
      name: "a certificate's file, which nothing would mount",
      set: "aggregator.settings.tls-cert-file=/tls/tls.crt",
      says: /'tls-cert-file' not allowed/,
    },
    {
      name: "a Secret without a name",
      set: "givenCertificates.enabled=true,givenCertificates.secretName=",
      says: /'\/givenCertificates\/secretName': .*does not match/,
    },
    { name: "no aggregator", set: "aggregator.replicas=0", says: /'\/aggregator\/replicas': minimum: got 0, want 1/ },
    { name: "a word that is none", set: "affinity.mode=on", says: /'\/affinity\/mode'.*'off', 'audit', 'enforce'/ },
    { name: "agents that are never replaced", set: "agent.maxUnavailable=0", says: /'\/agent\/maxUnavailable'/ },
    {
      name: "a limit that is none",
      set: "agent.resources.limits.memory=lots",
      says: /limits\/memory'.*does not match/,
    },
    { name: "no pool", set: "provisioner.pools.default=null", says: /'\/provisioner\/pools': minProperties/ },
    {
      name: "a pool's name that is none",
      set: "provisioner.pools.Fast=/mnt/nvme0",
      says: /'\/provisioner\/pools'.*'Fast' not allowed/,
    },
    {
      name: "a pool's path that climbs",
      set: "provisioner.pools.fast=/mnt/../etc",
      says: /'\/provisioner\/pools\/fast': .*does not match/,
    },
    {
      name: "a pool as a flag, which nothing would mount",
      set: "provisioner.keeper.settings.pool=fast=/mnt/nvme0",
      says: /'\/provisioner\/keeper\/settings'.*'pool' not allowed/,
    },
    { name: "a relative path", set: "agent.journalPath=journal", says: /'\/agent\/journalPath': .*does not match/ },
  ])("is refused before anything is installed: $name", async ({ set, says }) => {
    await expect(helmTemplate("base", "--set", set)).rejects.toThrow(says);
  });
});

describe("helm", () => {
  it("finds nothing to complain of", async () => {
    const { stdout } = await tool("helm", "lint", "--strict", CHART, "--values", `${CHART}/ci/production-values.yaml`);

    expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
    expect(stdout).not.toMatch(/WARNING|ERROR/);
  });

  it("packages all that the templates read", async () => {
    await tool("helm", "package", CHART, "--destination", owner.folder);

    const packaged = join(owner.folder, "mooring-0.1.0.tgz");
    const { stdout } = await tool(
      "helm",
      "template",
      "mooring",
      packaged,
      "--values",
      `${CHART}/ci/production-values.yaml`,
    );

    expect(comparable(stdout)).toEqual(comparable(await helmTemplate("production")));
  });
});
