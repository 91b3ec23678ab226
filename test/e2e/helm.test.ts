import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";
import { readPage } from "../pages/page.ts";
import type { Reader } from "../pages/reader.ts";
import { allObjects, tracesIn } from "../pages/traces.ts";
import { duration } from "../rig/control-plane/progress.ts";
import { type NodeCluster, startNodeCluster } from "../rig/node/cluster.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { openAdministrator } from "./administrator.ts";
import { apply, kubectl } from "./kubectl.ts";
import { localVolume, type PodSpec, pod } from "./objects.ts";

const JOURNAL = "/var/lib/mooring";
const page = readPage("install.md");
/** What a reader adds to the page's command: rejecting pods, and the sizes of the overlay for tests. */
const VALUES = [
  "affinity.mode=enforce",
  "agent.settings.reject-bare-pods=true",
  "aggregator.resources.requests.cpu=20m",
  "aggregator.resources.requests.memory=96Mi",
  "aggregator.resources.limits.memory=512Mi",
];

let owner: Owner;
let signals: Disposable;
let cluster: NodeCluster;
let reader: Reader;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startNodeCluster(owner, { nodes: 2 });
  reader = await openAdministrator(owner, cluster);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function eventually(what: string, check: () => Promise<void>): Promise<void> {
  return waitUntil(owner, { what, limitMs: 120_000, everyMs: 200, check });
}

async function timed(what: string, done: Promise<unknown>): Promise<void> {
  const begin = owner.clock.monotonicMs();
  await done;
  owner.say(`${what}: ${duration(owner.clock.monotonicMs() - begin)}`);
}

function fieldOf(kind: string, name: string, path: string): Promise<string> {
  return kubectl(cluster, "get", kind, name, `--output=jsonpath=${path}`);
}

function reasonOf(claim: string): Promise<string> {
  return fieldOf("pvc", claim, '{.status.conditions[?(@.type=="mooring.dev/Unused")].reason}');
}

/** What each pod of a workload answers at a path of its health port. */
async function answers(namespace: string, path: string): Promise<readonly string[]> {
  const names = await kubectl(cluster, "get", "pods", `--namespace=${namespace}`, "--output=name");
  const urlOf = (name: string): string =>
    `/api/v1/namespaces/${namespace}/pods/${name.replace("pod/", "")}:9808/proxy/${path}`;
  const asked = names
    .trim()
    .split("\n")
    .map((name) => kubectl(cluster, "get", "--raw", urlOf(name)));
  return await Promise.all(asked);
}

/** What becomes of a report that is sent from an agent's pod without its token: status, or code of the error. */
async function reportFromAgent(options: string): Promise<string> {
  const template = "--output=go-template={{range .data}}{{.}}{{end}}";
  const ca = await kubectl(cluster, "get", "configmap", CERTIFICATES_NAME, "--namespace=mooring-agents", template);
  const code = `const to = { ...${options}, method: "PUT", host: "mooring-aggregator.mooring.svc", port: 8443,
    path: "/v1/nodes/node-1/report", ca: ${JSON.stringify(ca)} };
    https.request(to, (answer) => { console.log(answer.statusCode); answer.destroy(); })
      .on("error", (error) => console.log(error.code)).end("{}")`;
  const agent = ["exec", "--namespace=mooring-agents", "daemonset/mooring-agent", "--container=agent"];
  return (await kubectl(cluster, ...agent, "--", "node", "--eval", code)).trim();
}

async function makeVolume(name: string, node: number): Promise<void> {
  const path = `/var/disks/${name}`;
  for (const { run } of cluster.nodes) await run("mkdir", "-p", path);
  await apply(cluster, ...localVolume(name, cluster.nodes[node]?.name ?? "", path));
}

/** A pod with the name of its claim. */
function podOf(claim: string, where: Pick<PodSpec, "node" | "isBound">): object {
  const volumes = { "/data": { persistentVolumeClaim: { claimName: claim } } };
  return pod({ name: claim, line: "sleep 3600", volumes, ...where });
}

describe("helm install, as docs/install.md has it", () => {
  it("rolls out agents and aggregators that are ready", async () => {
    const [helm = "", ...others] = page.block("### With Helm").split("\n");
    const command = [helm, ...VALUES.map((value) => `--set ${value}`)].join(" ");

    await timed("helm install", reader.follow([command, ...others].join("\n")));

    expect(await tracesIn(cluster)).toContain("Lease mooring/mooring-aggregator");
    expect(cluster.nodes.map(({ path }) => existsSync(path(JOURNAL)))).toEqual([true, true]);
    for (const namespace of ["mooring", "mooring-agents"])
      for (const text of await answers(namespace, "readyz?verbose")) expect(text).toContain("[+]state ok: ready");
  });

  it("has agents whose reports are accepted, by their tokens", async () => {
    for (const text of await answers("mooring-agents", "metrics"))
      expect(text).toMatch(/^mooring_reports_sent_total\{outcome="accepted"\} [1-9]/m);
    const received = (await answers("mooring", "metrics")).join("\n");

    expect(received).toMatch(/^mooring_token_reviews_total\{outcome="agent"\} [1-9]/m);
    expect(received).not.toMatch(/^mooring_reports_received_total\{outcome="(?:unauthenticated|forbidden)"\} [1-9]/m);
  });

  it("refuses a report without a token, and a client without TLS 1.3", async () => {
    expect(await reportFromAgent("{}")).toBe("401");
    expect(await reportFromAgent('{ maxVersion: "TLSv1.2" }')).toBe("EPROTO");
  });

  it("has agents that saw their policy in force, and reject a pod which its volume excludes", async () => {
    for (const text of await answers("mooring-agents", "metrics"))
      expect(text).toMatch(/^mooring_affinity_policy_in_force 1$/m);
    await makeVolume("misplaced", 0);

    await apply(cluster, podOf("misplaced", { node: "node-2", isBound: true }));

    await eventually("the rejection", async () =>
      expect(await fieldOf("pod", "misplaced", "{.status.phase} {.status.reason}")).toBe("Failed VolumeNodeAffinity"),
    );
  });

  it("shows when a claim was mounted and unmounted", async () => {
    await makeVolume("orders", 1);
    await apply(cluster, podOf("orders", { node: "node-2" }));
    await eventually("the mount", async () => expect(await reasonOf("orders")).toBe("Mounted"));

    await kubectl(cluster, "delete", "pod", "orders", "--wait=false");

    await eventually("the unmount", async () => expect(await reasonOf("orders")).toBe("Unmounted"));
  });
});

describe("helm uninstall, and what the page does with the rest", () => {
  it("leave nothing on the cluster and on the nodes", async () => {
    expect(page.block("## Remove")).toContain("# or: helm uninstall mooring");

    await timed("helm uninstall", reader.follow("helm uninstall mooring"));
    await timed("removal of the rest", reader.follow(page.block("## Remove", 1)));

    await eventually("the end of the namespaces", async () => expect(await tracesIn(cluster)).toEqual([]));
    const marked = (await allObjects(cluster)).filter((object) =>
      /mooring\.dev|"manager":"mooring/.test(JSON.stringify(object)),
    );
    // The page says so: a rejected pod keeps the annotation until it is deleted.
    expect(marked.map(({ kind, metadata: { name } }) => `${kind} ${name}`)).toEqual(["Pod misplaced"]);
    expect(cluster.nodes.map(({ path }) => existsSync(path(JOURNAL)))).toEqual([false, false]);
  });
});
