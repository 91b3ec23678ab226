import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { array, boolean, looseObject, nullable, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { createSystemRandom } from "../../common/runtime/random.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { StandInPod } from "../rig/stand-in/kubelet.ts";
import { readList } from "../rig/stand-in/listed.ts";
import { applyManifests, createAgent, DEMO_PACE, type Program } from "../rig/stand-in/mooring.ts";
import { buildCluster, claimThat, makeClaims, NAMESPACE, type Stage, volumeOf } from "../rig/stand-in/stage.ts";

const CLAIMS = ["orders", "shared", "left", "quiet", "idle"];
const LIMIT_MS = 30_000;

const Printed = looseObject({
  source: looseObject({ kind: string(), cluster: nullable(string()) }),
  items: array(looseObject({ name: string(), status: string(), pending: nullable(boolean()) })),
});
const Named = looseObject({ metadata: looseObject({ uid: string() }) });

let owner: Owner;
let stage: Stage;
let signals: Disposable;
let cluster: string;

/** An aggregator for which a node is Stale so soon that a test can wait for it. */
async function createHastyAggregator(plane: Stage["plane"]): Promise<Program> {
  const kubeconfig = await plane.kubeconfigFor({
    serviceAccount: { namespace: "mooring", name: "mooring-aggregator" },
  });
  const listen = `127.0.0.1:${await freePort(createSystemRandom(), "127.0.0.1")}`;
  const args = ["--kubeconfig", kubeconfig, "--api-bind-address", listen, "--node-stale-after", "6s"];
  const command = { command: process.execPath, args: [fileOf("aggregator"), ...args] };
  const child = owner.child({ name: "aggregator", ...command });
  const url = `http://${listen}`;
  const ready = (): Promise<void> =>
    waitUntil(owner, {
      what: "the aggregator",
      limitMs: LIMIT_MS,
      child,
      check: async () => expect((await fetch(`${url}/readyz`)).status).toBe(200),
    });
  return { child, url, ready, start: () => child.start() };
}

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const built = await buildCluster(owner, await borrowControlPlane(owner, ["kube-controller-manager"]));
  await applyManifests(built.plane);
  const aggregator = await createHastyAggregator(built.plane);
  const agentOf = (kubelet: Stage["kubelets"][0]): Promise<Program> =>
    createAgent(owner, built.plane, { kubelet, aggregator, pace: DEMO_PACE });
  const agents = await Promise.all([agentOf(built.kubelets[0]), agentOf(built.kubelets[1])] as const);
  await Promise.all([aggregator, ...agents].map(({ start }) => start()));
  await Promise.all([aggregator, ...agents].map(({ ready }) => ready()));
  stage = { owner, ...built, aggregator, agents };
  await makeClaims(stage, CLAIMS);
  cluster = parse(Named, await stage.api.get("/api/v1/namespaces/kube-system")).metadata.uid;
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function get(target: string) {
  const answer = await fetch(`${stage.aggregator.url}${target}`);
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
  return readList(await answer.text());
}

async function names(target: string): Promise<readonly string[]> {
  return (await get(target)).items.map(({ name }) => name);
}

/** Waits until a list is as expected. */
async function listed(target: string, expected: (page: Awaited<ReturnType<typeof get>>) => void): Promise<void> {
  await waitUntil(owner, { what: target, limitMs: LIMIT_MS, check: async () => expected(await get(target)) });
}

async function runPod(claim: string, on: 0 | 1): Promise<StandInPod> {
  const kubelet = stage.kubelets[on];
  const pod = await kubelet.runPod({ namespace: NAMESPACE, name: `${claim}-${on}`, claim, volume: volumeOf(claim) });
  const holds = ({ status }: Claim): boolean => status?.mountedOn?.nodes.includes(kubelet.node) ?? false;
  await claimThat(stage, { claim, what: `mounted on ${kubelet.node}`, holds });
  return pod;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the CLI as a user would, with no configuration but what is named. */
function claims(args: readonly string[], { kubeconfig = stage.plane.kubeconfig, variables = {} } = {}): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: "/nonexistent", ...variables };
  const command = [fileOf("claims"), "--kubeconfig", kubeconfig, ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe("the lists", () => {
  it.each([
    { path: "/v1/claims", kind: "ClaimList", found: [...CLAIMS].sort() },
    { path: "/v1/volumes", kind: "VolumeList", found: CLAIMS.map((claim) => `pv-${claim}`).sort() },
    { path: "/v1/nodes", kind: "NodeList", found: ["node-a", "node-b"] },
  ])("$path is of this cluster", async ({ path, kind, found }) => {
    const { items, ...header } = await get(path);

    const nodes = { total: 2, stale: 0, unreported: 0 };
    expect(header).toMatchObject({ apiVersion: "api.mooring.dev/v2", kind, cluster, nodes });
    expect(items.map(({ name }) => name).toSorted()).toEqual(found);
  });

  it("show a mount that was left behind by a pod that is gone", async () => {
    const pod = await runPod("orders", 0);
    await stage.kubelets[0].forceDelete(pod);

    await listed("/v1/claims", ({ items }) =>
      expect(items.filter(({ unusedWhileMounted }) => unusedWhileMounted)).toMatchObject([
        {
          ...{ name: "orders", status: "Mounted", unusedWhileMounted: true, pending: false },
          live: {
            mountedOn: {
              items: [
                {
                  ...{ node: "node-a", state: "Reporting" },
                  pods: { items: [{ uid: pod.uid, name: `${NAMESPACE}/orders-0`, gone: true }] },
                },
              ],
            },
            references: { items: [] },
          },
        },
      ]),
    );
  });

  it("show where a volume stays staged although it is used elsewhere", async () => {
    const pod = await runPod("shared", 0);
    await runPod("shared", 1);
    await stage.kubelets[0].forceDelete(pod);
    await stage.kubelets[0].unmount(pod);

    const staged = { unusedSince: expect.any(String), leaked: false };
    await listed("/v1/volumes?name=pv-shared", ({ items }) =>
      expect(items).toMatchObject([
        {
          name: "pv-shared",
          live: {
            mountedOn: { items: [{ node: "node-b" }] },
            stagedOn: {
              items: [
                { node: "node-a", ...staged },
                { node: "node-b", unusedSince: null },
              ],
            },
          },
        },
      ]),
    );
  });

  it("have every entry that stays exactly once while others come and go", async () => {
    const path = "/api/v1/namespaces/crowd/persistentvolumeclaims";
    await stage.api.create("/api/v1/namespaces", { metadata: { name: "crowd" } });
    const create = (name: string): Promise<unknown> =>
      stage.api.create(path, {
        metadata: { name },
        spec: {
          ...{ storageClassName: "demo", volumeName: "none", accessModes: ["ReadWriteOnce"] },
          resources: { requests: { storage: "1Gi" } },
        },
      });
    const numbered = (prefix: string): string[] => Array.from({ length: 30 }, (_, index) => `${prefix}-${index + 10}`);
    const [kept, fleeting] = [numbered("kept"), numbered("gone")];
    await Promise.all([...kept, ...fleeting].map(create));
    await listed("/v1/claims?namespace=crowd", ({ items }) => expect(items).toHaveLength(60));

    const lists: Promise<readonly string[]>[] = [];
    for (const [turn, name] of fleeting.entries()) {
      const both = [stage.api.remove(`${path}/${name}`), create(`new-${turn}`)];
      if (turn % 3 === 0) lists.push(names("/v1/claims?namespace=crowd"));
      await Promise.all(both);
      await lists.at(-1);
    }

    for (const found of await Promise.all(lists)) {
      expect(found.filter((name) => kept.includes(name)).toSorted()).toEqual(kept);
      expect(new Set(found).size).toBe(found.length);
    }
  });

  it("refuse unknown parameters, naming the known ones", async () => {
    const answer = await fetch(`${stage.aggregator.url}/v1/claims?status=used&limit=9999`);

    expect(answer.status).toBe(400);
    expect(await answer.text()).toBe('unknown parameter "status"; allowed: namespace, name\n');
  });

  it("are refused for a foreign Host header", async () => {
    const { port } = new URL(stage.aggregator.url);

    const status = await new Promise((resolve, reject) => {
      request({ port, path: "/v1/claims", headers: { host: "rebound.example" } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on("error", reject)
        .end();
    });

    expect(status).toBe(403);
  });
});

describe("the list of claims on the command line", () => {
  it("is the aggregator's where that belongs to the same cluster", async () => {
    const { code, stdout } = await claims(["-n", NAMESPACE, "-o", "json", "--aggregator", stage.aggregator.url]);

    const { source, items } = parse(Printed, JSON.parse(stdout));
    expect([code, source]).toEqual([0, { kind: "aggregator", url: stage.aggregator.url, cluster }]);
    expect(items.map(({ name }) => name).toSorted()).toEqual([...CLAIMS].sort());
  });

  it("names nodes and claims in full, and its source", async () => {
    const wide = ["-n", NAMESPACE, "-o", "wide"];
    const { stdout, stderr } = await claims(wide, { variables: { MOORING_AGGREGATOR: stage.aggregator.url } });

    expect(stdout).toContain(`node-a: ${NAMESPACE}/orders-0 (gone)`);
    expect(stderr).toContain(`Read from the aggregator ${stage.aggregator.url} of cluster ${cluster}, to which 2 of 2`);
  });

  it("is the aggregator's, too, when its port is forwarded as in the page and no address is given", async () => {
    await forward(9809);

    const { code, stdout } = await claims(["-n", NAMESPACE, "-o", "json"]);

    const { source } = parse(Printed, JSON.parse(stdout));
    expect([code, source]).toEqual([0, { kind: "aggregator", url: "http://127.0.0.1:9809", cluster }]);
  });

  it("is not that of another cluster's aggregator, as behind a forgotten port-forward", async () => {
    const args = ["-n", NAMESPACE, "--aggregator", stage.aggregator.url];
    const { code, stdout, stderr } = await claims(args, { kubeconfig: inject("kubeconfig") });

    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr.split("\n")).toEqual([
      `No claims in namespace ${NAMESPACE}.`,
      `The aggregator ${stage.aggregator.url} was not used: it belongs to another cluster.`,
      "These are the claims' stored conditions; they are only as fresh as their last write.",
      "",
    ]);
  });

  it("is the API server's for a user who may not read the cluster's identity", async () => {
    const { code, stdout, stderr } = await claims(["-n", NAMESPACE, "--aggregator", stage.aggregator.url], {
      kubeconfig: await lister(),
    });

    expect(code).toBe(0);
    expect(stdout).toContain("orders");
    expect(stderr).toContain('was not used: you lack the right "get namespaces" for kube-system');
  });

  it.each([
    { name: "nothing listens", url: async () => "http://127.0.0.1:1", why: "connection refused" },
    {
      name: "it has just started",
      url: () => serverThat((answer) => void answer(503, "the cluster has not been listed yet\n")),
      why: "it answered 503: the cluster has not been listed yet",
    },
    {
      name: "it is of before, and answers in pages",
      url: () =>
        serverThat(
          (answer) => void answer(200, '{"apiVersion":"api.mooring.dev/v1","kind":"ClaimList","items":[\n{}\n]}\n'),
        ),
      why: "it speaks api.mooring.dev/v1 and this command api.mooring.dev/v2: use the same version of both",
    },
    {
      name: "something else answers",
      url: () => serverThat((answer) => void answer(200, "{}")),
      why: "its answer is not",
    },
    { name: "it hangs", url: () => serverThat(() => {}), why: "no answer within 5 s" },
  ])("is the API server's when $name, and mentions that to a user who named an aggregator", async ({ url, why }) => {
    const { code, stdout, stderr } = await claims(["-n", NAMESPACE, "-o", "wide", "--aggregator", await url()]);

    expect(code).toBe(0);
    expect(stdout).toContain("orders");
    expect(stderr).toContain(`Read from the API server ${stage.plane.url}.\n`);
    expect(stderr).toContain(`was not used: ${why}`);
  });

  it("is the API server's when the cluster's own aggregator breaks off, and always mentions that", async () => {
    const whole = await (await fetch(`${stage.aggregator.url}/v1/claims?namespace=${NAMESPACE}`)).text();
    const cut = whole.slice(0, whole.lastIndexOf("\n", whole.length - 2) + 1);
    const url = await serverThat((answer) => void answer(200, cut));

    const { code, stdout, stderr } = await claims(["-n", NAMESPACE, "--aggregator", url]);

    expect(code).toBe(0);
    expect(stdout).toContain("orders");
    expect(stderr).toContain(
      "was not used: its list broke off after 5 entries (its end is missing); run the command again.",
    );
  });

  it.each([
    { name: "no address is given", args: [] },
    { name: "aggregators are switched off", args: ["--aggregator", "none"] },
  ])("does not mention aggregators when $name", async ({ args }) => {
    const { code, stdout, stderr } = await claims(["-n", NAMESPACE, "-o", "json", ...args]);

    expect([code, parse(Printed, JSON.parse(stdout)).source.kind]).toEqual([0, "api-server"]);
    expect(stderr).not.toContain("ggregator");
  });
});

describe("a node whose agent is gone", () => {
  it("keeps claims waiting, visibly", async () => {
    const pod = await runPod("quiet", 0);
    await stage.agents[0].child.kill();
    await stage.kubelets[0].forceDelete(pod);

    await listed("/v1/claims?name=quiet", ({ items, nodes }) => {
      expect(nodes).toEqual({ total: 2, stale: 1, unreported: 0 });
      expect(items).toMatchObject([
        {
          name: "quiet",
          status: "Mounted",
          pending: true,
          live: { pendingNodes: { items: [{ node: "node-a", state: "Stale" }] } },
        },
      ]);
    });
    const states = (await get("/v1/nodes")).items.map(({ name, state }) => [name, state]);
    expect(Object.fromEntries(states)).toEqual({ "node-a": "Stale", "node-b": "Reporting" });
    const { stdout, stderr } = await claims(["-n", NAMESPACE, "--aggregator", stage.aggregator.url]);
    expect(stdout.split("\n").find((line) => line.startsWith("quiet"))).toMatch(/Mounted .* node-a \(stale\)$/);
    expect(stderr).toContain("1 of 2 nodes is stale: what it reported last may be over.\n");
  });
});

/** A kubeconfig file that may list claims, and nothing else. */
async function lister(): Promise<string> {
  const [name, namespace] = ["lister", "default"];
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const rules = [{ apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["list"] }];
  await stage.api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  await stage.api.create(`${rbac}/clusterroles`, { metadata: { name }, rules });
  await stage.api.create(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  });
  return await stage.plane.kubeconfigFor({ serviceAccount: { namespace, name } });
}

/** Passes requests to a port of this machine on to the aggregator until the test is over. Another run on the machine may have the port. */
async function forward(port: number): Promise<void> {
  const server = createServer(async ({ url }, response) => {
    const answer = await fetch(`${stage.aggregator.url}${url}`);
    response.writeHead(answer.status).end(await answer.text());
  });
  const check = async (): Promise<void> => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  await waitUntil(owner, { what: `port ${port}`, limitMs: LIMIT_MS, check });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
}

/** A server at a free port that does with each request what is asked, until the test is over. */
async function serverThat(act: (answer: (status: number, body: string) => void) => void): Promise<string> {
  const server = createServer((_, response) => act((status, body) => void response.writeHead(status).end(body)));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return `http://127.0.0.1:${port}`;
}
