import { brotliCompressSync, gzipSync } from "node:zlib";
import { object, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGrant } from "../../aggregator/sources/report-access.ts";
import { createKubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { createUndiciTransport } from "../../common/kube/undici-transport.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { MAX_REPORT_BYTES, MAX_REPORT_UNMOUNT_RECORDS } from "../../common/storage/node-report.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { reportWith, unmountRecordOf } from "../unit/aggregator/world.ts";
import { type BareCluster, type RunningAggregator, startBareCluster } from "./bare-cluster.ts";
import {
  AGENTS,
  type AgentPod,
  createAgentPod,
  publishedCertificates,
  put,
  reissued,
  reportAddress,
  requestToken,
  type Sending,
  untilUnknown,
} from "./report-scene.ts";

const RULE = { namespace: AGENTS, account: "mooring-agent" };
const MIB = 1024 * 1024;

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregator: RunningAggregator;
let url: URL;
let ca: string;
let agent: AgentPod;
let token: string;
/** A report whose end never comes: it is begun first, and cut off after half a minute. */
let slow: ReturnType<typeof put>;
/** All that were ever shown to the aggregator: none of them may be in its log. */
const shown: string[] = [];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  await cluster.api.create(`/api/v1/namespaces/${AGENTS}/serviceaccounts`, { metadata: { name: "other" } });
  for (const name of ["n1", "n2"]) await cluster.api.create("/api/v1/nodes", { metadata: { name } });
  const names = ["--tls-names", "127.0.0.1", "--pod-namespace", "mooring"];
  aggregator = await cluster.startAggregator(["--report-bind-address", "127.0.0.1:0", ...names]);
  url = await reportAddress(owner, aggregator);
  ca = (await publishedCertificates(cluster)) ?? "";
  agent = await createAgentPod(cluster, "agent-on-n1", { node: "n1" });
  token = await requestToken(cluster, { pod: agent });
  // Cut off: with an answer, or with the connection.
  slow = send({ token, body: report(), missingBytes: 10 }).catch(() => ({ status: 408, text: "" }));
});
afterAll(async () => {
  signals[Symbol.dispose]();
  await owner.close();
});

function send(sending: Sending): ReturnType<typeof put> {
  if (sending.token !== undefined) shown.push(sending.token);
  return put(url, ca, sending);
}

function report(fields: Parameters<typeof reportWith>[0] = {}): string {
  return JSON.stringify(reportWith({ podUid: agent.uid, ...fields }));
}

/** A token's parts are base64url: with one letter changed it is another token of the same shape. */
function forged(text: string): string {
  const [head, body, signature = ""] = text.split(".");
  return `${head}.${body}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
}

describe("a report with a real agent's token", () => {
  it("is taken, and an unencrypted one is not", async () => {
    const taken = await send({ token, body: report() });
    const plain = await fetch(`http://127.0.0.1:${url.port}/v1/nodes/n1/report`, { method: "PUT" }).catch(
      () => "refused",
    );

    expect(taken).toMatchObject({ status: 200, text: expect.stringContaining("forget") });
    expect(plain).toBe("refused");
  });

  it("is not taken at the address that only this machine reaches, as it would be without the other", async () => {
    expect(await aggregator.page("/v1/nodes/n1/report")).toBe("not found\n");
  });
});

describe("a report of thousands of ends of use", () => {
  it("of one claim is answered, and what comes beside it is answered, too", async () => {
    const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    const storage = {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "",
    };
    const claim = await cluster.api.create(claims, {
      metadata: { name: "busy" },
      spec: { ...storage, volumeName: "busy" },
    });
    const { uid } = parse(object({ metadata: object({ uid: string() }) }), claim).metadata;
    await cluster.api.create("/api/v1/persistentvolumes", {
      metadata: { name: "busy" },
      spec: {
        ...{ accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/busy" } },
        claimRef: { namespace: "default", name: "busy", uid },
      },
    });
    // Until its watches show both, the aggregator cannot attribute the unmount records.
    const check = async (): Promise<void> => {
      for (const list of ["claims", "volumes"])
        if (!(await aggregator.page(`/v1/${list}`)).includes('"busy"')) throw new Error(`not among ${list} yet`);
    };
    await waitUntil(owner, { what: "aggregator that has seen the claim and its volume", limitMs: 20_000, check });
    const pod = await createAgentPod(cluster, "agent-that-tells-much", { node: "n3" });
    const third = await requestToken(cluster, { pod });
    // All within the last millisecond before the report is sent: an end before the claim was made is an earlier claim's.
    const unmountRecords = Array.from({ length: MAX_REPORT_UNMOUNT_RECORDS }, (_, index) => ({
      ...unmountRecordOf(`pod-${index}`, { after: 999, by: 1_000 + index / MAX_REPORT_UNMOUNT_RECORDS }),
      volume: { by: "name", name: "busy" } as const,
    }));
    const body = JSON.stringify(reportWith({ node: "n3", podUid: pod.uid, unmountRecords }));

    const [large, beside] = await Promise.all([
      send({ node: "n3", token: third, body }),
      send({ token, body: report() }),
    ]);

    expect([large.status, beside.status]).toEqual([200, 200]);
    // All but the last: that is not stored.
    expect(JSON.parse(large.text).forget).toHaveLength(MAX_REPORT_UNMOUNT_RECORDS - 1);
  });
});

describe("a report is refused", () => {
  it.each<{ name: string; status: number; sending: () => Promise<Sending> | Sending }>([
    { name: "without a token", status: 401, sending: () => ({ body: report() }) },
    {
      name: "with another scheme",
      status: 401,
      sending: () => ({ headers: { authorization: `Basic ${token}` }, body: report() }),
    },
    {
      name: "with a token for another audience",
      status: 401,
      sending: async () => ({
        token: await requestToken(cluster, { pod: agent, audiences: ["other"] }),
        body: report(),
      }),
    },
    {
      name: "with the token for the API server itself, which names no other audience",
      status: 401,
      sending: async () => ({ token: await requestToken(cluster, { pod: agent, audiences: [] }), body: report() }),
    },
    {
      name: "with a token of another account, though it is bound to a pod on the node",
      status: 403,
      sending: async () => ({ token: await tokenOfAnotherAccount(), body: report() }),
    },
    {
      name: "with the token of another node's agent",
      status: 403,
      sending: () => ({ node: "n2", token, body: report({ node: "n2" }) }),
    },
    {
      name: "of another node than its path",
      status: 400,
      sending: () => ({ token, body: report({ node: "n2" }) }),
    },
    {
      name: "of another pod than the token's",
      status: 403,
      sending: () => ({ token, body: report({ podUid: "another" }) }),
    },
    {
      name: "with a token that has expired",
      status: 401,
      sending: () => ({
        token: reissued(cluster, token, { exp: Math.floor(owner.clock.wallMs() / 1000) - 61 }),
        body: report(),
      }),
    },
    {
      name: "with the token of a pod that is gone",
      status: 401,
      sending: async () => {
        const pod = await createAgentPod(cluster, "gone", { node: "n1" });
        const stale = await requestToken(cluster, { pod });
        await cluster.api.remove(`/api/v1/namespaces/${AGENTS}/pods/gone`);
        await untilUnknown(owner, cluster, { token: stale, limitMs: 60_000 });
        return { token: stale, body: report({ podUid: pod.uid }) };
      },
    },
    {
      name: "with the token of a pod whose name another one has by now",
      status: 401,
      sending: async () => {
        const pod = await createAgentPod(cluster, "again", { node: "n1" });
        const stale = await requestToken(cluster, { pod });
        await cluster.api.remove(`/api/v1/namespaces/${AGENTS}/pods/again`);
        await createAgentPod(cluster, "again", { node: "n1" });
        await untilUnknown(owner, cluster, { token: stale, limitMs: 60_000 });
        return { token: stale, body: report({ podUid: pod.uid }) };
      },
    },
    {
      name: "with a token that is bound to no pod",
      status: 403,
      sending: async () => ({ token: await requestToken(cluster, {}), body: report() }),
    },
    {
      name: "with the token of a pod that is on no node",
      status: 403,
      sending: async () => {
        const pod = await createAgentPod(cluster, "unplaced", {});
        return { token: await requestToken(cluster, { pod }), body: report({ podUid: pod.uid }) };
      },
    },
    { name: "with a forged signature", status: 401, sending: () => ({ token: forged(token), body: report() }) },
    {
      name: "with an unsigned token",
      status: 401,
      sending: () => {
        const head = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
        return { token: `${head}.${token.split(".")[1]}.x`, body: report() };
      },
    },
    { name: "with what is no token", status: 401, sending: () => ({ token: "hello", body: report() }) },
    { name: "with two tokens", status: 401, sending: () => ({ token: `${token} ${token}`, body: report() }) },
    { name: "that is no JSON", status: 400, sending: () => ({ token, body: "{" }) },
    { name: "that is empty", status: 400, sending: () => ({ token }) },
    { name: "that is JSON of something else", status: 400, sending: () => ({ token, body: "[]" }) },
    {
      name: "that is nested a million deep",
      status: 413,
      sending: () => ({ token, body: `${"[".repeat(MIB)}${"]".repeat(MIB)}` }),
    },
    {
      name: "that is nested as deep as a body may be",
      status: 400,
      sending: () => ({ token, body: `${"[".repeat(20_000)}${"]".repeat(20_000)}` }),
    },
    {
      name: "of a million empty entries, before it is parsed",
      status: 413,
      sending: () => ({
        token,
        body: report().replace('"mountedVolumes":[]', `"mountedVolumes":[${"{},".repeat(1_300_000)}{}]`),
      }),
    },
    {
      name: "of more entries than are taken",
      status: 400,
      sending: () => ({
        token,
        body: report().replace('"mountedVolumes":[]', `"mountedVolumes":[${"0,".repeat(20_000)}0]`),
      }),
    },
    { name: "that is too large", status: 413, sending: () => ({ token, body: "x".repeat(MAX_REPORT_BYTES + 1) }) },
    {
      name: "that announces far too much",
      status: 413,
      sending: () => ({ token, body: "x", missingBytes: 1024 * MIB }),
    },
    {
      name: "that is a compressed bomb",
      status: 415,
      sending: () => ({ token, headers: { "content-encoding": "gzip" }, body: gzipSync(Buffer.alloc(64 * MIB)) }),
    },
    {
      name: "that is a bomb compressed otherwise",
      status: 415,
      sending: () => ({ token, headers: { "content-encoding": "br" }, body: brotliCompressSync(Buffer.alloc(MIB)) }),
    },
    {
      name: "with a head that is too large",
      status: 431,
      sending: () => ({ token, headers: { "x-large": "x".repeat(20_000) }, body: report() }),
    },
    {
      name: "with a token that is too large",
      status: 401,
      sending: () => ({ token: `${"a".repeat(9_000)}.b.c`, body: report() }),
    },
  ])("$name: $status", async ({ status, sending }) => {
    const answer = await send(await sending());

    expect(answer).toMatchObject({ status });
  });

  it("of a node that has three unfinished already, whose memory is bounded with those of all", async () => {
    const pod = await createAgentPod(cluster, "agent-that-dawdles", { node: "n2" });
    const second = await requestToken(cluster, { pod });
    const body = JSON.stringify(reportWith({ node: "n2", podUid: pod.uid }));
    const unfinished = Array.from({ length: 3 }, () =>
      put(url, ca, { node: "n2", token: second, body, missingBytes: 9 }),
    );
    for (const one of unfinished) one.catch(() => {});

    const check = async (): Promise<void> => {
      const { status } = await send({ node: "n2", token: second, body });
      if (status !== 429) throw new Error(`answered ${status}`);
    };
    await waitUntil(owner, { what: "a refusal", limitMs: 10_000, check });

    expect(await send({ token, body: report() })).toMatchObject({ status: 200 });
  });

  it("a good one is taken while a stranger at its own address brings bad tokens in its pod's name, also with a new token", async () => {
    const bad = Array.from({ length: 60 }, (_, index) =>
      reissued(cluster, token, { jti: `made-up-${index}` }).slice(0, -4),
    );
    const statuses: number[] = [];
    for (const one of bad) statuses.push((await send({ token: `${one}AAAA`, body: report() })).status);

    const known = await send({ token, body: report() });
    const rotated = await send({ token: await requestToken(cluster, { pod: agent }), body: report() });

    expect(new Set(statuses)).toEqual(new Set([401]));
    expect([known.status, rotated.status]).toEqual([200, 200]);
  });

  it("without a token before any of its body has come", async () => {
    const answer = await send({ body: "x", missingBytes: 10_000 });

    expect(answer.status).toBe(401);
  });

  it("that arrives too slowly", async () => {
    expect((await slow).status).toBe(408);
  });

  it("with 503, and not as if the token were bad, when the API server does not answer", async () => {
    const logger = createFakeLogger();
    const transport = createUndiciTransport({ origin: "https://127.0.0.1:1" });
    const nobody = { transport, basePath: "", authorization: async () => undefined, server: "https://127.0.0.1:1" };
    const client = createKubeClient(nobody, owner);
    const { clock } = owner;
    const grant = createGrant({ client, clock, logger, metrics: createMetrics() }, RULE);

    const access = await grant({ authorization: `Bearer ${token}`, node: "n1" });
    await client.close();

    expect(access).toMatchObject({ outcome: "review-failed", answer: { status: 503 } });
    expect(JSON.stringify(logger.lines)).not.toContain(token);
  });

  it("with 503 when the aggregator has no right to ask", async () => {
    const logger = createFakeLogger();
    const kubeconfig = await cluster.plane.kubeconfigFor({ user: "nobody-in-particular" });
    const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), owner);
    const { clock } = owner;
    const grant = createGrant({ client, clock, logger, metrics: createMetrics() }, RULE);

    const access = await grant({ authorization: `Bearer ${token}`, node: "n1" });
    await client.close();

    expect(access).toMatchObject({ outcome: "review-failed", answer: { status: 503 } });
  });
});

describe("after all that", () => {
  it("the agent's own reports are still taken", async () => {
    expect(await send({ token, body: report() })).toMatchObject({ status: 200 });
  });

  it("no token, nor the part of one that signs it, is in the log or the metrics", async () => {
    const told = JSON.stringify(aggregator.logger.lines) + (await aggregator.page("/metrics"));

    const parts = shown.flatMap((one) => one.split(".")).filter((part) => part.length >= 20);
    expect(parts.length).toBeGreaterThan(30);
    expect(parts.filter((part) => told.includes(part.slice(0, 20)))).toEqual([]);
  });

  it("each refusal has been counted", async () => {
    expect(await aggregator.metric('mooring_reports_received_total{outcome="unauthenticated"}')).toBeGreaterThan(8);
    expect(await aggregator.metric('mooring_reports_received_total{outcome="forbidden"}')).toBeGreaterThan(4);
  });
});

async function tokenOfAnotherAccount(): Promise<string> {
  const pod = await createAgentPod(cluster, "other", { node: "n1", account: "other" });
  return await requestToken(cluster, { account: "other", pod });
}
