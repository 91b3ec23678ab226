import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { boolean, object, parse, record, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";
import { createProjectedVolume, type ProjectedVolume } from "../fakes/projected-volume.ts";
import { readPage } from "../pages/page.ts";
import { openReader, type Reader } from "../pages/reader.ts";
import { createAuthority } from "../rig/control-plane/certificates.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { reportWith } from "../unit/aggregator/world.ts";
import { type BareCluster, type RunningAggregator, startBareCluster } from "./bare-cluster.ts";
import { type Given, givenChain } from "./given-chain.ts";
import { MANIFESTS } from "./manifest-tools.ts";
import { AGENTS, createAgentPod, put, reportAddress, requestToken } from "./report-scene.ts";

const PAGE = readPage("reports.md");
const SECTION = "### External certificates";
const NAMES = ["mooring-aggregator.mooring.svc", "127.0.0.1"];
const SECRET = "/api/v1/namespaces/mooring/secrets/mooring-given-tls";
const CONFIG_MAP = `/api/v1/namespaces/${AGENTS}/configmaps/mooring-given-ca`;

const texts = object({ data: record(string(), string()) });

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let reader: Reader;
let volume: ProjectedVolume;
let aggregator: RunningAggregator;
let report: (ca: string) => ReturnType<typeof put>;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const { folder } = owner;
  // With the rights of the base, as an installation has them that makes its own.
  cluster = await startBareCluster(owner);
  await cluster.api.create("/api/v1/nodes", { metadata: { name: "n1" } });
  await cp(MANIFESTS, join(folder, "manifests"), { recursive: true });
  const programs = { kubectl: `exec ${cluster.plane.kubectl} "$@"` };
  reader = await openReader({ folder, home: folder, kubeconfig: cluster.plane.kubeconfig, programs });
  volume = createProjectedVolume(join(folder, "tls"));
  await giveCertificates(await givenBy("company"));
  await mkdir(join(folder, "manifests/mine"));
  await writeFile(join(folder, "manifests/mine/kustomization.yaml"), `resources: [../base]\n${PAGE.block(SECTION)}`);
  await reader.follow("kubectl apply -k manifests/mine");
  const flags = { "--tls-cert-file": "tls.crt", "--tls-key-file": "tls.key" };
  const files = Object.entries(flags).flatMap(([flag, name]) => [flag, join(volume.folder, name)]);
  aggregator = await cluster.startAggregator([
    "--report-bind-address",
    "127.0.0.1:0",
    "--pod-namespace",
    "mooring",
    ...files,
  ]);
  const url = await reportAddress(owner, aggregator);
  const pod = await createAgentPod(cluster, "agent-on-n1", { node: "n1" });
  const token = await requestToken(cluster, { pod });
  report = (ca) => put(url, ca, { token, body: JSON.stringify(reportWith({ podUid: pod.uid })) });
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function givenBy(name: string): Promise<Given> {
  const authority = await createAuthority(name);
  return { ...(await authority.server(NAMES)), authority: authority.certificate };
}

/** As the page does it, with files; then what the kubelet does with the Secret. */
async function giveCertificates({ certificate, key, authority }: Given): Promise<void> {
  const files = { "tls.crt": certificate, "tls.key": key, "ca.crt": authority };
  for (const [name, text] of Object.entries(files)) await writeFile(join(owner.folder, name), text);
  await reader.follow(PAGE.block(SECTION, 1));
  const { "tls.crt": shown = "", "tls.key": secret = "" } = parse(texts, await cluster.api.get(SECRET)).data;
  const decode = (text: string): string => Buffer.from(text, "base64").toString("utf8");
  volume.write({ "tls.crt": decode(shown), "tls.key": decode(secret) });
}

/** The CAs that agents trust. */
async function trusted(): Promise<string> {
  return parse(texts, await cluster.api.get(CONFIG_MAP)).data["ca.crt"] ?? "";
}

async function may(user: string, verb: string): Promise<boolean> {
  // Named: that is how the base gives these rights.
  const names = [CERTIFICATES_NAME, "mooring-given-ca"];
  const answers = await Promise.all(
    names.map(async (name) => {
      const resourceAttributes = { verb, resource: "configmaps", namespace: AGENTS, name };
      const spec = { user: `system:serviceaccount:${user}`, resourceAttributes };

      const review = await cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec });
      return parse(object({ status: object({ allowed: boolean() }) }), review).status.allowed;
    }),
  );
  return answers.includes(true);
}

describe("external certificates, installed as in docs/reports.md over an installation that made its own", () => {
  it("are served to agents, which trust the configured CA", async () => {
    const ca = await trusted();
    // It listens before it leads.
    const check = async (): Promise<void> => expect(await report(ca)).toMatchObject({ status: 200 });
    await waitUntil(owner, { what: "a report", limitMs: 20_000, check });
    expect(aggregator.logger.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  it.each([
    ["mooring:mooring-aggregator", "get"],
    ["mooring:mooring-aggregator", "patch"],
    ["mooring:mooring-aggregator", "create"],
    [`${AGENTS}:mooring-agent`, "get"],
  ])("take the right of %s to %s ConfigMaps", async (user, verb) => {
    expect(await may(user, verb)).toBe(false);
  });

  it("leave nothing to be written by Mooring", async () => {
    const path = `/api/v1/namespaces/${AGENTS}/configmaps/${CERTIFICATES_NAME}`;

    expect((await cluster.plane.api({ path })).status).toBe(404);
  });

  it.each([
    { name: "another authority", given: () => givenBy("company, a year later") },
    { name: "what cert-manager stores, an RSA key and a chain", given: () => givenChain(NAMES) },
  ])("are followed when $name replaces them", async ({ given }) => {
    const before = await trusted();

    await giveCertificates(await given());

    const after = await trusted();
    const check = async (): Promise<void> => expect(await report(after)).toMatchObject({ status: 200 });
    await waitUntil(owner, { what: "the new certificate", limitMs: 20_000, check });
    await expect(report(before)).rejects.toThrow(/self-signed certificate|unable to verify|unable to get/);
  });
});
