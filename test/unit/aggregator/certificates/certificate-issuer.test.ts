import { afterEach, describe, expect, it } from "vitest";
import { keepCertificates } from "../../../../aggregator/certificates/certificate-issuer.ts";
import { readBundle, readPair } from "../../../../aggregator/certificates/pem.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";
import { FakeObjects } from "./fake-objects.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const AUTHORITIES = "/api/v1/namespaces/mooring/secrets/mooring-aggregator-ca";
const SERVING = "/api/v1/namespaces/mooring/secrets/mooring-aggregator-tls";
const BUNDLE = "/api/v1/namespaces/mooring-agents/configmaps/mooring-aggregator-ca";
const LOOK_MS = 45_000;
const NAMES = ["Mooring.example", "fd00::1"];
const CONFIG = {
  namespace: "mooring",
  agentNamespace: "mooring-agents",
  names: NAMES,
  times: { authorityMs: 40 * DAY, certificateMs: 8 * DAY, overlapMs: HOUR },
  // Unlike any other time that it waits for.
  lookEveryMs: LOOK_MS,
};

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function start(objects = new FakeObjects()) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const client = createKubeClient(createFakeConnection(createFakeTransport(objects.serve)), { clock });
  const stop = new AbortController();
  // The API server's clock is known to a fraction of a millisecond.
  const parts = {
    client,
    clock,
    logger,
    random: createFixedRandom(0.5),
    nowMs: () => clock.wallMs() + 0.25,
    onStored: () => {},
  };
  const running = keepCertificates(parts, CONFIG, stop.signal);
  ends.push(async () => {
    stop.abort();
    await running;
  });
  const atRest = (): Promise<void> => eventually(() => clock.sleeps().some((ms) => ms > LOOK_MS - 10 && ms <= LOOK_MS));
  /** Lets time pass until the next look, and waits for its end: keys are made in real time. */
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms);
    await clock.advance(LOOK_MS + 1);
    await atRest();
  };
  return {
    ...{ clock, logger, objects, atRest, pass },
    served: () => {
      const { "tls.crt": certificate = "", "tls.key": key = "" } = objects.texts(SERVING);
      return readPair({ certificate, key });
    },
    trusted: () => readBundle(objects.texts(BUNDLE)["ca.crt"] ?? ""),
    keys: () => Object.keys(objects.texts(AUTHORITIES)).filter((name) => name.endsWith(".key")).length,
  };
}

describe("the leader", () => {
  it("makes what is not there, for every name, and then rests", async () => {
    const { atRest, pass, served, trusted, objects, logger } = start();
    await atRest();
    const { writes } = objects;
    await pass(0);

    const [authority] = trusted();
    expect(served()?.names).toEqual(["fd00::1", "mooring.example"]);
    expect(authority && served()?.isSignedBy(authority)).toBe(true);
    expect([writes, objects.writes]).toEqual([3, 3]);
    expect(objects.held.get(SERVING)?.type).toBe("kubernetes.io/tls");
    expect(logger.messages()).toEqual([
      "certificate authority made",
      "agents told which authorities to trust",
      "certificate issued",
    ]);
  });

  it("never writes a key where agents look, or into its log", async () => {
    const { atRest, objects, logger } = start();
    await atRest();

    const told = JSON.stringify([objects.texts(BUNDLE), logger.lines]);
    expect(told).not.toContain("PRIVATE");
    expect(objects.texts(SERVING)["tls.key"]).toContain("PRIVATE");
  });

  it("renews the certificate after two thirds of its life, by the same authority", async () => {
    const { atRest, pass, served, trusted } = start();
    await atRest();
    const [first, authorities] = [served(), trusted()];

    await pass(5.4 * DAY);

    expect(served()?.id).not.toBe(first?.id);
    expect(trusted().map(({ id }) => id)).toEqual(authorities.map(({ id }) => id));
  });

  it("replaces an authority step by step, and keeps no key that it does not need", async () => {
    const { atRest, pass, served, trusted, keys } = start();
    await atRest();
    const steps = [];
    for (const ms of [5.4 * DAY, 5.4 * DAY, 5.4 * DAY, 5.4 * DAY, 5.3 * DAY, HOUR, HOUR]) {
      await pass(ms);
      const signer = trusted().findIndex((one) => served()?.isSignedBy(one));
      steps.push({ trusted: trusted().length, signer, keys: keys() });
    }

    expect(steps.slice(3)).toEqual([
      { trusted: 1, signer: 0, keys: 1 },
      { trusted: 2, signer: 0, keys: 2 },
      { trusted: 2, signer: 1, keys: 1 },
      { trusted: 1, signer: 0, keys: 1 },
    ]);
  });

  it.each([
    { what: "what agents trust", path: BUNDLE },
    { what: "the certificate", path: SERVING },
    { what: "the authority", path: AUTHORITIES },
  ])("puts $what right where somebody deleted it", async ({ path }) => {
    const { atRest, pass, objects, served, trusted } = start();
    await atRest();
    objects.held.delete(path);

    await pass(0);

    expect(objects.held.has(path)).toBe(true);
    expect(trusted().some((one) => served()?.isSignedBy(one))).toBe(true);
  });

  it("serves on what a lost authority signed, until agents have been told of the new one for long enough", async () => {
    const { atRest, pass, objects, served, trusted } = start();
    await atRest();
    const first = served();
    objects.held.delete(AUTHORITIES);

    await pass(0);
    const between = { served: served()?.id, trusted: trusted().length };
    await pass(HOUR);

    expect(between).toEqual({ served: first?.id, trusted: 2 });
    expect(served()?.id).not.toBe(first?.id);
  });

  it("trusts no authority that somebody else put there", async () => {
    const [mine, other] = [start(), start()];
    await mine.atRest();
    await other.atRest();
    const bundle = mine.objects.held.get(BUNDLE);
    const own = mine.trusted().map(({ id }) => id);
    if (bundle)
      bundle.data = { "ca.crt": mine.objects.texts(BUNDLE)["ca.crt"] + (other.objects.texts(BUNDLE)["ca.crt"] ?? "") };

    await mine.pass(0);

    expect(mine.trusted().map(({ id }) => id)).toEqual(own);
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
    {
      name: "the API server refuses",
      answer: json({ kind: "Status", message: "forbidden", reason: "Forbidden" }, 403),
    },
    { name: "the API server does not answer", answer: "broken" as const },
  ])("goes on when $name for a while, and says so once", async ({ answer }) => {
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
});
