import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createReportSender } from "../../agent/sinks/report-sender.ts";
import { createReportTransport } from "../../agent/sinks/report-transport.ts";
import { keepCertificates } from "../../aggregator/certificates/certificate-issuer.ts";
import { readCertificates, SERVING_SECRET } from "../../aggregator/certificates/certificate-store.ts";
import { readTexts } from "../../aggregator/certificates/objects.ts";
import { createSecretServing, type Serving } from "../../aggregator/certificates/serving.ts";
import { certificatePlan, type StoredCertificates } from "../../aggregator/core/certificate-plan.ts";
import { ReportAccess } from "../../aggregator/sources/report-access.ts";
import { reportRoute } from "../../aggregator/sources/report-server.ts";
import { createTokenReviews } from "../../aggregator/sources/token-reviews.ts";
import { createKubeClient, type KubeParts } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { listen, type Route } from "../../common/runtime/http-server.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { createProjectedVolume } from "../fakes/projected-volume.ts";
import { oneStep } from "../fakes/steps.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { reportWith } from "../unit/aggregator/world.ts";
import { type BareCluster, startBareCluster } from "./bare-cluster.ts";
import { AGENTS, authorities, createAgentPod, requestToken } from "./report-scene.ts";

const SENDERS = 8;
const MINUTE = 60_000;
/** Of the issuer's time, which goes on only when every kubelet and every replica has caught up: they may take as long as they like. */
const TIMES = { authorityMs: 34 * MINUTE, certificateMs: 10 * MINUTE };
const PLACES = { namespace: "mooring", agentNamespace: AGENTS };
const NAMES = ["127.0.0.1"];
const RULE = { audience: "mooring-aggregator", namespace: AGENTS, account: "mooring-agent" };
const never = new AbortController().signal;

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let parts: KubeParts;
const logger = createFakeLogger();
/** What the issuer takes for the time is ahead of the real one by this: certificates age by the minute, and stay valid to TLS. */
let aheadMs = 0;
const servings: Serving[] = [];
/** What each agent's volume shows. */
const shown = new Map<number, string>();

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  const account = { serviceAccount: { namespace: "mooring", name: "mooring-aggregator" } } as const;
  const kubeconfig = await cluster.plane.kubeconfigFor(account);
  const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => client.close());
  parts = { client, clock: owner.clock, random: createSystemRandom(), logger };
});
afterAll(async () => {
  signals[Symbol.dispose]();
  await owner.close();
});

/** Runs until the owner closes. */
function inBackground(run: (signal: AbortSignal) => Promise<void>): void {
  const stopping = new AbortController();
  const running = run(stopping.signal);
  owner.defer(async () => {
    stopping.abort();
    await running;
  });
}

/** A replica's server, with real reviews of tokens; each third answer ends its connection, so that handshakes go on. */
async function startReplica(): Promise<string> {
  const { clock } = parts;
  const serving = createSecretServing(parts, PLACES.namespace);
  servings.push(serving);
  inBackground(serving.run);
  const reviews = { increment: () => {} };
  const review = createTokenReviews(parts, RULE.audience);
  const route = reportRoute(
    {
      turnAway: () => undefined,
      onReport: () => oneStep({ kind: "accepted", answer: { forget: [] } }),
      pauseRejections: () => undefined,
      session: () => undefined,
      newYield: () => () => undefined,
    },
    { increment: () => {} },
    new ReportAccess({ clock, logger, review, reviews, nowMs: clock.wallMs }, RULE).grant,
  );
  let answers = 0;
  const churning: Route = {
    ...route,
    answer: async (request) => {
      answers += 1;
      return { ...(await route.answer(request)), isLast: answers % 3 === 0 };
    },
  };
  const server = await listen([churning], { host: "127.0.0.1", port: 0, identity: serving }, logger);
  owner.defer(() => server.close());
  return server.url;
}

/** An agent's way of reporting, in a loop, with a volume that a kubelet keeps. */
async function startSender(index: number, aggregatorUrl: string, outcomes: Map<string, number>): Promise<void> {
  const node = `node-${index}`;
  const pod = await createAgentPod(cluster, `agent-${index}`, { node });
  const token = await requestToken(cluster, { pod });
  const volume = createProjectedVolume(join(mkdtempSync(join(owner.folder, "agent-")), "mooring"));
  inBackground(async (signal) => {
    while (!signal.aborted) {
      const ca = (await authorities(cluster)) ?? "";
      await owner.clock.sleep(50 + index * 40, signal);
      if (ca !== shown.get(index)) volume.write({ token, "ca.crt": ca });
      shown.set(index, ca);
    }
  });
  const check = async (): Promise<void> => expect(shown.get(index)).toContain("BEGIN");
  await waitUntil(owner, { what: "a volume", limitMs: 60_000, check });
  const target = {
    aggregatorUrl,
    aggregatorCaFile: join(volume.folder, "ca.crt"),
    aggregatorTokenFile: join(volume.folder, "token"),
  };
  const transport = createReportTransport(target, parts);
  const reports = {
    increment: ({ outcome }: { readonly outcome: string }) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
  };
  const sender = createReportSender(
    { ...parts, transport, reports },
    { path: `/v1/nodes/${node}/report`, onAnswer: () => {} },
  );
  inBackground(async (signal) => {
    const running = sender.run(signal);
    while (!signal.aborted) {
      sender.submit(() => reportWith({ node, podUid: pod.uid }));
      await owner.clock.sleep(60, signal);
    }
    await running;
    await transport.close();
  });
}

/** What is stored, once every agent is shown it and every replica serves it. */
async function caughtUp(): Promise<StoredCertificates> {
  const place = { kind: "Secret", namespace: PLACES.namespace, name: SERVING_SECRET } as const;
  let stored = (await readCertificates(parts, PLACES, never)).stored;
  const check = async (): Promise<void> => {
    ({ stored } = await readCertificates(parts, PLACES, never));
    expect(certificatePlan(owner.clock.wallMs() + aheadMs, stored, { ...TIMES, names: NAMES })).toEqual({
      kind: "keep",
    });
    const certificate = (await readTexts(parts.client, place, never))?.texts["tls.crt"];
    for (const serving of servings) expect(serving.pair()?.certificate).toBe(certificate);
    const ca = await authorities(cluster);
    expect([...shown.values()].filter((text) => text !== ca)).toEqual([]);
  };
  await waitUntil(owner, { what: "everybody", limitMs: 120_000, check, everyMs: 200 });
  return stored;
}

/** Why reports were not delivered. */
function failures(): readonly unknown[] {
  return logger.lines.filter(({ message }) => message.startsWith("report not")).map(({ fields }) => fields.err);
}

describe("certificates that are renewed while agents report", () => {
  it("cost not one report, whichever CA signs them", async () => {
    const issuer = { ...parts, nowMs: () => owner.clock.wallMs() + aheadMs, onStored: () => {} };
    const config = { ...PLACES, names: NAMES, times: TIMES, lookEveryMs: 200 };
    inBackground((signal) => keepCertificates(issuer, config, signal));
    await caughtUp();
    const replicas = [await startReplica(), await startReplica()];
    const outcomes = new Map<string, number>();
    await Promise.all(
      Array.from({ length: SENDERS }, (_, index) => startSender(index, replicas[index % 2] ?? "", outcomes)),
    );
    const [signers, certificates] = [new Set<string>(), new Set<number>()];
    // Beyond the hour that certificates are backdated by, TLS would not take them yet.
    for (const limitMs = 57 * MINUTE; aheadMs < limitMs; aheadMs += 2.5 * MINUTE) {
      const { serving } = await caughtUp();
      signers.add(serving?.signedBy ?? "");
      certificates.add(serving?.notBeforeMs ?? 0);
      const before = outcomes.get("accepted") ?? 0;
      const check = async (): Promise<void> => expect(outcomes.get("accepted")).toBeGreaterThan(before + SENDERS * 2);
      await waitUntil(owner, { what: "more reports", limitMs: 60_000, check });
    }

    expect(failures()).toEqual([]);
    expect([...outcomes.keys()]).toEqual(["accepted"]);
    expect(signers.size).toBeGreaterThanOrEqual(4);
    expect(certificates.size).toBeGreaterThanOrEqual(7);
  });
});
