import { describe, expect, it, onTestFinished } from "vitest";
import { issueAuthority } from "../../../../aggregator/certificates/issuing.ts";
import { readBundle, readPair } from "../../../../aggregator/certificates/pem.ts";
import { createReportServing } from "../../../../aggregator/reports/report-serving.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";
import { FakeObjects } from "./fake-objects.ts";

const DAY = 86_400_000;
const AUTHORITIES = "/api/v1/namespaces/mooring/secrets/mooring-aggregator-ca";
const SERVING = "/api/v1/namespaces/mooring/secrets/mooring-aggregator-tls";
const BUNDLE = "/api/v1/namespaces/mooring-agents/configmaps/mooring-aggregator-ca";
/** Unlike any other time that it waits for. */
const LOOK_MS = 45_000;
const AGENTS = { namespace: "mooring-agents", account: "mooring-agent" };
const CONFIG = {
  address: { host: "", port: 8443 },
  agents: AGENTS,
  certificate: {
    ...({ kind: "issued", namespace: "mooring", lookEveryMs: LOOK_MS } as const),
    agentNamespace: AGENTS.namespace,
    names: ["Mooring.example", "fd00::1"],
    times: { authorityMs: 40 * DAY, certificateMs: 8 * DAY },
  },
} as const;
const WHY = "agents are not told to trust the authority that signed the certificate";

function start(objects = new FakeObjects()) {
  const [clock, logger, stop] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const client = createKubeClient(createFakeConnection(createFakeTransport(objects.serve)), { clock });
  // The API server's clock is known to a fraction of a millisecond.
  const nowMs = (): number => clock.wallMs() + 0.25;
  const parts = { client, clock, nowMs, logger, random: createFixedRandom(0.5), metrics: createMetrics() };
  const reporting = createReportServing(parts, CONFIG);
  const running = reporting.keep(client, stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  const atRest = (): Promise<void> => eventually(() => clock.sleeps().some((ms) => ms > LOOK_MS - 10 && ms <= LOOK_MS));
  /** Lets time pass until the next check, and waits for its end: keys are made in real time. */
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms);
    await clock.advance(LOOK_MS + 1);
    await atRest();
  };
  return {
    ...{ clock, logger, objects, atRest, pass, end },
    /** Readiness says that agents do not trust the served certificate. */
    isRefused: (): boolean => {
      const result = reporting.check({ nowMs: nowMs(), leads: true });
      return !result.ok && result.why === WHY;
    },
    served: () => {
      const { "tls.crt": certificate = "", "tls.key": key = "" } = objects.texts(SERVING);
      return readPair({ certificate, key });
    },
    trusted: () => readBundle(objects.texts(BUNDLE)["ca.crt"] ?? ""),
    keys: () => Object.keys(objects.texts(AUTHORITIES)).filter((name) => name.endsWith(".key")).length,
  };
}

/** As `start` does, when everything is made. */
async function started() {
  const leader = start();
  await leader.atRest();
  return leader;
}

type Started = Awaited<ReturnType<typeof started>>;

describe("the leader", () => {
  it("makes what is not there, for every name, and then rests; no key is in the agents' bundle or in its log", async () => {
    const { pass, served, trusted, objects, logger } = await started();
    const { writes } = objects;
    await pass(0);

    expect(served()?.names).toEqual(["fd00::1", "mooring.example"]);
    expect(trusted().map((one) => served()?.isSignedBy(one))).toEqual([true, false]);
    expect([writes, objects.writes]).toEqual([4, 4]);
    expect(objects.stored.get(SERVING)?.type).toBe("kubernetes.io/tls");
    const [made, told] = ["certificate authority made", "agents told which authorities to trust"];
    expect(logger.messages()).toEqual([made, made, told, "certificate issued"]);
    expect(JSON.stringify([objects.texts(BUNDLE), logger.lines])).not.toContain("PRIVATE");
    expect(objects.texts(SERVING)["tls.key"]).toContain("PRIVATE");
  });

  it("renews the certificate after two thirds of its life, and lets a successor sign when an authority is due", async () => {
    const { pass, served, trusted, keys } = await started();
    const steps = [];
    const certificates = new Set([served()?.id]);
    for (let step = 0; step < 5; step += 1) {
      await pass(5.4 * DAY);
      const signer = trusted().findIndex((one) => served()?.isSignedBy(one));
      steps.push({ trusted: trusted().length, signer, keys: keys() });
      certificates.add(served()?.id);
    }

    expect(certificates.size).toBe(6);
    expect(steps).toEqual([
      { trusted: 2, signer: 0, keys: 2 },
      { trusted: 2, signer: 0, keys: 2 },
      { trusted: 3, signer: 1, keys: 3 },
      { trusted: 2, signer: 0, keys: 3 },
      { trusted: 3, signer: 1, keys: 3 },
    ]);
  });

  it("takes over from a version that kept one authority: it signs on, and agents are told of another one", async () => {
    const { pass, served, trusted, objects } = await started();
    const [before, [own, other]] = [served()?.id, trusted()];
    const { data: keys } = objects.stored.get(AUTHORITIES) ?? expect.fail("there are no authorities");
    for (const name of Object.keys(keys)) if (other?.id.startsWith(name.slice(0, 16))) delete keys[name];
    const { data: bundle } = objects.stored.get(BUNDLE) ?? expect.fail("agents have no bundle");
    bundle["ca.crt"] = own?.pem ?? "";
    await pass(0);

    const known = trusted().map(({ id }) => id);
    expect(served()?.id).toBe(before);
    expect([known.length, known[0], known.includes(other?.id ?? "")]).toEqual([2, own?.id, false]);
  });

  it("does not overwrite what another leader made at the same time, but goes on from there", async () => {
    const objects = new FakeObjects();
    let isFirst = true;
    objects.interfere = ({ method, path }) => {
      if (method !== "PATCH" || !path.startsWith(AUTHORITIES) || !isFirst) return undefined;
      isFirst = false;
      return json({ kind: "Status", reason: "Conflict", message: "made meanwhile", details: { name: "x" } }, 409);
    };
    const { atRest, clock, served } = start(objects);
    await eventually(() => !isFirst && clock.sleeps().length > 0);
    await clock.advance(1_000);
    await atRest();

    expect(served()).toBeDefined();
  });

  it.each([
    ["refuses", json({ kind: "Status", message: "forbidden", reason: "Forbidden" }, 403)],
    ["does not answer", "broken"],
  ] as const)("goes on when the API server %s for a while, and says so once", async (_, answer) => {
    const objects = new FakeObjects();
    objects.interfere = () => answer;
    const { clock, logger, served, atRest } = start(objects);
    await clock.advance(10_000);
    const early = served();

    objects.interfere = undefined;
    await clock.advance(60_000);
    await atRest();

    expect(early).toBeUndefined();
    expect(served()).toBeDefined();
    expect(logger.messages("warn")).toEqual(["certificates cannot be kept"]);
  });

  it.each([
    [
      "until it can correct that",
      async ({ objects, clock }: Started) => {
        objects.interfere = undefined;
        await clock.advance(2 * LOOK_MS);
      },
    ],
    ["and knows nothing of it any more once another process leads", ({ end }: Started) => end()],
  ])("is not ready while the bundle of agents has another authority that it cannot remove, %s", async (_, after) => {
    const leader = await started();
    const { objects, clock, isRefused } = leader;
    const bundle = objects.stored.get(BUNDLE) ?? expect.fail("agents have no bundle");
    bundle.data["ca.crt"] = (await issueAuthority({ nowMs: clock.wallMs(), lifetimeMs: DAY })).certificate;
    const refusal = { kind: "Status", reason: "Invalid", message: "field is immutable when `immutable` is set" };
    objects.interfere = ({ method, path }) =>
      method !== "GET" && path.startsWith(BUNDLE) ? json(refusal, 422) : undefined;
    const before = isRefused();

    await clock.advance(2 * LOOK_MS);
    await eventually(isRefused);
    await after(leader);

    expect(before).toBe(false);
    await eventually(() => !isRefused());
  });
});
