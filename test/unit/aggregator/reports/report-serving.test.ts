import { describe, expect, it, onTestFinished } from "vitest";
import { LOOK_EVERY_MS } from "../../../../aggregator/certificates/certificate-issuer.ts";
import { issueAuthority } from "../../../../aggregator/certificates/issuing.ts";
import { createReportServing } from "../../../../aggregator/reports/report-serving.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";
import { FakeObjects } from "../certificates/fake-objects.ts";

const DAY = 86_400_000;
const BUNDLE = "/api/v1/namespaces/mooring-agents/configmaps/mooring-aggregator-ca";
const WHY = "agents are not told to trust the authority that signed the certificate";
const AGENTS = { namespace: "mooring-agents", account: "mooring-agent" };
const CONFIG = {
  address: { host: "", port: 8443 },
  agents: AGENTS,
  certificate: {
    kind: "issued",
    namespace: "mooring",
    agentNamespace: AGENTS.namespace,
    names: ["mooring.example"],
    times: { authorityMs: 40 * DAY, certificateMs: 8 * DAY, overlapMs: 3_600_000 },
    lookEveryMs: LOOK_EVERY_MS,
  },
} as const;

async function leading() {
  const [objects, clock] = [new FakeObjects(), createFakeClock()];
  const client = createKubeClient(createFakeConnection(createFakeTransport(objects.serve)), { clock });
  const nowMs = clock.wallMs;
  const parts = { client, clock, nowMs, logger: createFakeLogger(), random: createFixedRandom(0.5) };
  const reporting = createReportServing({ ...parts, metrics: createMetrics() }, CONFIG);
  const stop = new AbortController();
  const running = reporting.keep(client, stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  await eventually(() => objects.writes === 3 && clock.sleeps().length > 0);
  const isRefused = (): boolean => {
    const result = reporting.check({ nowMs: nowMs(), leads: true });
    return !result.ok && result.why === WHY;
  };
  const look = (): Promise<void> => clock.advance(2 * LOOK_EVERY_MS);
  const before = isRefused();
  // Agents are told to trust another authority, and that cannot be taken back.
  const held = objects.held.get(BUNDLE) ?? expect.fail("agents have been told nothing");
  held.data["ca.crt"] = (await issueAuthority({ nowMs: nowMs(), lifetimeMs: DAY })).certificate;
  const refusal = { kind: "Status", reason: "Invalid", message: "field is immutable when `immutable` is set" };
  objects.interfere = ({ method, path }) =>
    method !== "GET" && path.startsWith(BUNDLE) ? json(refusal, 422) : undefined;
  await look();
  await eventually(isRefused);
  return { objects, look, before, isRefused, end };
}

describe("a leader that issues certificates", () => {
  it("is not ready while agents are told to trust another authority, until it can correct that", async () => {
    const { objects, look, before, isRefused } = await leading();

    objects.interfere = undefined;
    await look();

    expect(before).toBe(false);
    await eventually(() => !isRefused());
  });

  it("knows nothing of it any more once another process leads", async () => {
    const { isRefused, end } = await leading();

    await end();

    expect(isRefused()).toBe(false);
  });
});
