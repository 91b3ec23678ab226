import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { formatMountLine, tokenMountPoint } from "../fakes/mount-table.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import { fileOf, type MooringProgram } from "../rig/process/mooring-program.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type BareCluster, startBareCluster } from "./bare-cluster.ts";

const run = promisify(execFile);

/** Whatever is planted has this in it, and nothing else has. */
const PLANT = "pLaNt3d";
const secret = (where: string): string => `${PLANT}-${where}`;
/** As long and of the form of a real token. */
const jwt = (where: string): string =>
  `eyJhbGciOiJSUzI1NiJ9.${Buffer.from(secret(where)).toString("base64url")}.${secret(where)}`;

const [NODE, AGENT_POD] = ["n1", "agent-pod-uid"];
/** Everything that the programs have written. */
const written: string[] = [];
/** What their pages and the API's events say. */
const shown: string[] = [];

let owner: Owner;
let cluster: BareCluster;

beforeAll(async () => {
  owner = await openOwner();
  cluster = await startBareCluster(owner);
  await plantInCluster();
});
afterAll(() => owner.close());

/** Annotations, environments, volume attributes and mount options, wherever the API takes a text. */
async function plantInCluster(): Promise<void> {
  const { api, createClaims } = cluster;
  const annotations = { note: secret("claim-annotation"), "mooring.dev/last-use": secret("last-use") };
  const stored = { ...annotations, "mooring.dev/unused-since": secret("unused-since") };
  await createClaims(["data", "wrong"], { annotations: stored });
  const metadata = { name: NODE, annotations: { note: secret("node-annotation") } };
  await api.create("/api/v1/nodes", { metadata });
  for (const name of ["pv-data", "pv-wrong"]) {
    const spec = { mountOptions: [`password=${secret("mount-option")}`, secret("bare-mount-option")] };
    await api.patch(`/api/v1/persistentvolumes/${name}`, { metadata: { annotations }, spec });
  }
  await api.patch("/api/v1/persistentvolumes/pv-wrong", { spec: { nodeAffinity: elsewhere() } });
  for (const claim of ["data", "wrong"]) {
    const env = [{ name: "PASSWORD", value: secret("pod-env") }];
    const containers = [{ name: "main", image: "none", env, args: [`--token=${secret("pod-args")}`] }];
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: claim } }];
    await api.create("/api/v1/namespaces/shop/pods", {
      metadata: { name: `web-${claim}`, annotations: { note: secret("pod-annotation") } },
      spec: { nodeName: NODE, containers, volumes },
    });
  }
}

function elsewhere(): object {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: ["elsewhere"] }];
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
}

/** The mount table of the node, with options and a source that are secret, and a line that breaks off in the middle of them. */
async function mountTable(isDamaged: boolean): Promise<string> {
  const { uid } = await podOf("web-data");
  const mountPoint = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~nfs/pv-data`;
  const options = `rw,relatime,password=${secret("option")}`;
  const source = `//user:${secret("source")}@server/${secret("share")}`;
  const superOptions = `rw,username=a,password=${secret("super-option")},${secret("bare-option")}`;
  const volume = formatMountLine({ mountPoint, fsType: "cifs", options, source, superOptions });
  const lines = [formatMountLine({ mountPoint: tokenMountPoint(AGENT_POD) }), volume];
  return isDamaged ? `${lines.join("")}36 35 8:1 / ${mountPoint}-x rw,password=${secret("damaged")}` : lines.join("");
}

async function podOf(name: string): Promise<{ readonly uid: string }> {
  const pod = await cluster.api.get(`/api/v1/namespaces/shop/pods/${name}`);
  return { uid: /"uid":"([^"]+)"/.exec(JSON.stringify(pod))?.[1] ?? "" };
}

/** A server of this test. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  owner.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return `http://127.0.0.1:${address.port}`;
}

/** Says what it was sent, as some gateways do to those who look for a fault. */
function echo({ headers }: IncomingMessage, response: ServerResponse, status: number): void {
  const words = `refused password=${secret("gateway")}, Bearer ${secret("gateway-token")}, ${jwt("gateway-jwt")}`;
  const message = `${words} for ${JSON.stringify(headers)} at https://user:${secret("gateway-url")}@host/`;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ kind: "Status", code: status, reason: "Forbidden", message }));
}

/** A way to the aggregator that fails a few times before it leads there. */
function gatewayTo(target: string): Promise<string> {
  let left = 3;
  return serve((request, response) => {
    if (left > 0) {
      left -= 1;
      return echo(request, response, 502);
    }
    void forward(request, response, target);
  });
}

async function forward(request: IncomingMessage, response: ServerResponse, target: string): Promise<void> {
  const body = Buffer.concat(await request.toArray());
  const answer = await fetch(`${target}${request.url}`, { method: request.method ?? "GET", body });
  response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
}

interface Running {
  readonly url: string;
  readonly debug: string;
  readonly lines: readonly string[];
}

async function start(name: string, program: MooringProgram, args: readonly string[]): Promise<Running> {
  const random = createSystemRandom();
  const [port, debugPort] = [await freePort(random, "127.0.0.1"), await freePort(random, "127.0.0.1")];
  const lines: string[] = [];
  const onLine = (line: string): void => {
    lines.push(line);
    written.push(line);
  };
  const isAgent = program === "agent";
  const debugArgs = isAgent ? ["--debug-bind-address", `127.0.0.1:${debugPort}`] : [];
  const child = owner.child({
    name,
    command: process.execPath,
    args: [
      fileOf(program),
      `--${isAgent ? "metrics" : "api"}-bind-address`,
      `127.0.0.1:${port}`,
      ...debugArgs,
      ...args,
    ],
    env: { MOORING_PLANTED: secret("environment"), DATABASE_PASSWORD: secret("password") },
    onLine,
  });
  await child.start();
  const url = `http://127.0.0.1:${port}`;
  await waitUntil(owner, { what: name, limitMs: 90_000, child, check: () => expectText(`${url}/livez`, "ok") });
  return { url, debug: isAgent ? `http://127.0.0.1:${debugPort}` : url, lines };
}

async function expectText(url: string, text: string): Promise<void> {
  expect(await (await fetch(url)).text()).toContain(text);
}

function logged({ lines }: Running, message: string): Promise<void> {
  const check = async (): Promise<void> => expect(lines.join("\n")).toContain(`"msg":"${message}"`);
  return waitUntil(owner, { what: `"${message}"`, limitMs: 60_000, check });
}

function agentArgs(kubeconfig: string, aggregatorUrl: string, mountInfo: string): readonly string[] {
  const place = ["--node", NODE, "--pod-uid", AGENT_POD, "--mountinfo", mountInfo];
  return [...place, "--kubeconfig", kubeconfig, "--aggregator-url", aggregatorUrl, "--heartbeat", "500ms"];
}

async function look({ url, debug }: Running): Promise<void> {
  const pages = ["/metrics", "/readyz?verbose", "/livez?verbose", "/v1/claims", "/v1/volumes", "/v1/nodes"];
  for (const page of pages) shown.push(await (await fetch(`${url}${page}`)).text());
  for (const page of ["/debug/mounted-volumes", "/debug/verdicts"])
    shown.push(await (await fetch(`${debug}${page}`)).text());
}

describe("the logs of a real agent and a real aggregator at the most verbose level", () => {
  let aggregator: Running;
  let agent: Running;
  let lost: Running;

  beforeAll(async () => {
    const { kubeconfigFor } = cluster.plane;
    const of = (namespace: string, name: string): Promise<string> =>
      kubeconfigFor({ serviceAccount: { namespace, name } });
    const table = join(owner.folder, "mountinfo");
    writeFileSync(table, await mountTable(false));
    aggregator = await start("aggregator", "aggregator", [
      ...["--kubeconfig", await of("mooring", "mooring-aggregator"), "--log-level", "debug"],
      "--claim-metrics",
      "--volume-metrics",
    ]);
    const talkative = ["--log-level", "debug", "--affinity-grace", "1s"];
    const account = await of("mooring-agents", "mooring-agent");
    agent = await start("agent", "agent", [
      ...agentArgs(account, await gatewayTo(aggregator.url), table),
      ...talkative,
    ]);
    const nowhere = await serve((request, response) => echo(request, response, 403));
    lost = await start("lost", "agent", [...agentArgs(lostKubeconfig(nowhere), nowhere, table), ...talkative]);
    await logged(agent, "reports are accepted again");
    await logged(aggregator, "claim status written");
    writeFileSync(table, await mountTable(true));
    await logged(agent, "mount table cannot be believed, absence does not count");
    await Promise.all([look(aggregator), look(agent), look(lost)]);
    shown.push(JSON.stringify(await cluster.api.get("/apis/events.k8s.io/v1/events")));
  });

  function lostKubeconfig(server: string): string {
    const path = join(owner.folder, "lost-kubeconfig");
    const [cluster, user] = [{ server, "insecure-skip-tls-verify": true }, { token: jwt("kubeconfig") }];
    const context = { cluster: "c", user: "u" };
    writeFileSync(
      path,
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "x" },
        clusters: [{ name: "c", cluster }],
        users: [{ name: "u", user }],
        contexts: [{ name: "x", context }],
      }),
    );
    return path;
  }

  it.each([
    { name: "a report that a gateway refuses", program: () => agent, message: "report not delivered" },
    { name: "a volume with secret options", program: () => agent, message: "volume mounted" },
    { name: "a pod whose volume has them, too", program: () => agent, message: "pod looked at" },
    { name: "an API server that repeats the token", program: () => lost, message: "watch interrupted" },
  ])("contain $name", ({ program, message }) => {
    expect(program().lines.join("\n")).toContain(`"msg":"${message}"`);
  });

  it("show that something was redacted", () => {
    expect(written.join("\n")).toContain("[redacted]");
  });

  it("has none of the secrets in it", () => {
    expect(written.filter((line) => line.includes(PLANT))).toEqual([]);
  });

  it("nor have the pages of health, metrics, holds, verdicts and claims, nor the events", () => {
    expect(shown.length).toBeGreaterThan(20);
    expect(shown.filter((text) => text.includes(PLANT))).toEqual([]);
  });

  it("is one line of JSON for each thing, with the fields that are always there", () => {
    const lines = written.map((line): Readonly<Record<string, unknown>> => JSON.parse(line));

    expect(lines.length).toBeGreaterThan(20);
    for (const line of lines) {
      expect(line).toMatchObject({ ts: expect.any(String), level: expect.any(String), msg: expect.any(String) });
      expect(line.component).toMatch(/^(agent|aggregator)$/);
    }
  });

  it("becomes less, and more again, while it runs", async () => {
    const level = (word: string): Promise<Response> =>
      fetch(`${agent.debug}/debug/log-level`, { method: "PUT", body: word });

    expect((await level("error")).status).toBe(200);
    const before = agent.lines.length;
    await cluster.removePod("web-data");
    await waitUntil(owner, { what: "some heartbeats", limitMs: 10_000, check: () => laterThan(agent, 3) });
    const quiet = agent.lines.length - before;
    expect((await level("debug")).status).toBe(200);

    expect(quiet).toBe(0);
    await logged(agent, "log level changed");
  });
});

/** So many reports were accepted since it was asked first. */
const seen = new Map<string, number>();
async function laterThan({ url }: Running, reports: number): Promise<void> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const count = Number(/^mooring_mount_table_scan_triggers_total\{reason="timer"\} (\d+)$/m.exec(text)?.[1]);
  const first = seen.get(url) ?? count;
  seen.set(url, first);
  expect(count - first).toBeGreaterThanOrEqual(reports);
}

describe("a configuration that is refused", () => {
  it.each([
    { name: "a password in an address", url: `https://user:${secret("url-password")}@host` },
    { name: "a token in an address", url: `https://host/?t=${secret("url-token")}` },
    { name: "a password in an address of another kind", url: `ftp://user:${secret("ftp-password")}@host` },
  ])("does not repeat $name", async ({ url }) => {
    const args = [fileOf("agent"), "--node", "n", "--pod-uid", "u", "--aggregator-url", url];

    const refused = await run(process.execPath, args).catch((error: unknown) => error);

    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--aggregator-url") });
    expect(JSON.stringify(refused).replaceAll(url, "")).not.toContain(PLANT);
  });
});
