import { describe, expect, it, onTestFinished } from "vitest";
import { createOwnServing, isDue } from "../../../../aggregator/certificates/own-serving.ts";
import { makeSelfSigned } from "../../../../aggregator/certificates/self-signed.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { readCertificate, readCertificates } from "../../../../common/runtime/certificates.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { FakeConfigMap } from "./fake-config-map.ts";

const DAY = 86_400_000;
const LOOK_MS = 60_000;
const NONE = { ok: false, why: "there is no certificate yet: agents cannot connect" };

function start(replica: string, map = new FakeConfigMap(), clock = createFakeClock()) {
  const [logger, stop] = [createFakeLogger(), new AbortController()];
  const client = createKubeClient(createFakeConnection(createFakeTransport(map.serve)), { clock });
  const parts = { client, clock, nowMs: clock.wallMs, logger, random: createFixedRandom(0.5) };
  const own = { replica, names: ["mooring.example"], agentNamespace: "mooring-agents" };
  const serving = createOwnServing(parts, own);
  const running = serving.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return {
    ...{ clock, logger, map, serving },
    /** Lets time pass until a look. */
    pass: async (ms = LOOK_MS) => {
      clock.pass(ms);
      await clock.advance(1);
    },
    published: () => readCertificates(map.data?.[`${replica}.crt`] ?? "").map(({ pem }) => pem),
  };
}

async function started(replica = "one", map = new FakeConfigMap()) {
  const scene = start(replica, map);
  await eventually(() => scene.serving.pair() !== undefined);
  return scene;
}

/** Made at a time in days from now, for 90 days. */
function certificateOf(day: number): string {
  return makeSelfSigned({ nowMs: createFakeClock().wallMs() + day * DAY, lifetimeMs: 90 * DAY }, ["x"]).certificate;
}

describe("a certificate of 90 days is due", () => {
  it.each([
    ["before it is valid", -30 * DAY - 1_000, true],
    ["not from its first moment on", -30 * DAY, false],
    ["not until two thirds of its life are over", 60 * DAY - 1_000, false],
    ["from then on", 60 * DAY, true],
  ])("%s", (_, afterMs, due) => {
    const madeAt = Math.floor(createFakeClock().wallMs() / 1_000) * 1_000;
    const { certificate } = makeSelfSigned({ nowMs: madeAt, lifetimeMs: 90 * DAY }, ["x"]);

    expect(isDue(certificate, madeAt + afterMs)).toBe(due);
  });
});

describe("a replica's own certificate", () => {
  it("is published before it is served, and not written again; its key is in no request and in no log", async () => {
    const bodies: unknown[] = [];
    const map = new FakeConfigMap();
    const scene = start("one", map);
    map.interfere = ({ method, body }) => {
      bodies.push(body);
      return method === "PATCH" && scene.serving.pair() !== undefined ? expect.fail("it is served already") : undefined;
    };
    await eventually(() => scene.serving.pair() !== undefined);
    await scene.pass(DAY);

    expect(map.data).toEqual({ "one.crt": scene.serving.pair()?.certificate });
    expect(map.writes).toBe(1);
    expect(scene.logger.messages()).toEqual(["certificate published", "new certificate served"]);
    expect(scene.serving.pair()?.key).toContain("PRIVATE");
    expect(JSON.stringify([bodies, scene.logger.lines])).not.toContain("PRIVATE");
  });

  it("is made anew after two thirds of its life: the one before is published until the next look", async () => {
    const { serving, pass, published } = await started();
    const first = serving.pair()?.certificate;
    await pass(59 * DAY);
    const late = serving.pair()?.certificate;
    await pass(DAY);
    const renewed = serving.pair()?.certificate;
    const both = published();
    await pass();

    expect([late, renewed === first]).toEqual([first, false]);
    expect([both, published()]).toEqual([[renewed, first], [renewed]]);
    expect(serving.endsAtMs()).toBe(readCertificate(renewed ?? "")?.notAfterMs);
  });

  it("is made anew where the clock goes back so far that it is not valid yet", async () => {
    const { clock, serving, pass } = await started();
    const first = serving.pair()?.certificate;
    clock.jumpWall(-31 * DAY);
    await pass();

    expect(serving.pair()?.certificate).not.toBe(first);
    expect(serving.check(clock.wallMs())).toMatchObject({ ok: true });
  });

  it.each([
    ["is deleted", () => undefined],
    ["is changed", () => ({ "one.crt": certificateOf(1) })],
    ["is emptied", () => ({})],
  ])("is put back when it %s", async (_, changed) => {
    const { map, serving, pass } = await started();
    map.change(changed());
    await pass();

    expect([map.data, map.writes]).toEqual([{ "one.crt": serving.pair()?.certificate }, 2]);
  });

  it("stays beside those of other replicas; what has expired, cannot be read or has another key goes", async () => {
    const [other, old] = [certificateOf(-80), certificateOf(-90)];
    const map = new FakeConfigMap();
    map.change({ "other.crt": other, "old.crt": old, "bad.crt": "x", "ca.pem": other });
    const { serving } = await started("one", map);

    expect(map.data).toEqual({ "other.crt": other, "one.crt": serving.pair()?.certificate });
  });

  it("stays beside those of sixty newer pods that are gone, and nothing more is written", async () => {
    const { map, pass } = await started();
    const others = Array.from({ length: 60 }, (_, number) => [`other-${number}.crt`, certificateOf(1)]);
    map.change({ ...map.data, ...Object.fromEntries(others) });
    await pass();

    expect([Object.keys(map.data ?? {}).length, map.writes]).toEqual([61, 1]);
  });

  it("is one of 256: of those of more pods that are gone the newest stay", async () => {
    const map = new FakeConfigMap();
    const others = Array.from({ length: 260 }, (_, age) => [`${age}.crt`, certificateOf(-age / 10)]);
    map.change({ ...Object.fromEntries(others.toReversed()), "one.crt": certificateOf(1) });
    const { serving } = await started("one", map);

    const kept = others.slice(0, 255).map(([key]) => key);
    expect(new Set(Object.keys(map.data ?? {}))).toEqual(new Set([...kept, "one.crt"]));
    expect(map.data?.["one.crt"]).toBe(serving.pair()?.certificate);
  });

  it("is served on where it can no longer be published, but agents may not know it", async () => {
    const { clock, map, serving, pass } = await started();
    map.change(undefined);
    map.interfere = ({ method }) =>
      method === "PATCH" ? json({ kind: "Status", message: "forbidden" }, 403) : undefined;
    await pass();
    const refused = serving.check(clock.wallMs());
    map.interfere = undefined;
    await pass();

    expect(refused).toMatchObject({ ok: true, isDegraded: true, detail: expect.stringContaining("forbidden") });
    expect(serving.check(clock.wallMs())).not.toHaveProperty("isDegraded");
  });

  it("does not overwrite what another replica writes at the same time, and says nothing of it", async () => {
    const map = new FakeConfigMap();
    map.change({});
    map.interfere = ({ method }) => {
      if (method === "PATCH" && map.data?.["two.crt"] === undefined) map.change({ "two.crt": certificateOf(0) });
      return undefined;
    };
    const { logger } = await started("one", map);

    expect(Object.keys(map.data ?? {})).toEqual(["two.crt", "one.crt"]);
    expect(logger.messages("warn")).toEqual([]);
  });

  const refusal = { kind: "Status", reason: "Invalid", message: "field is immutable when `immutable` is set" };
  it.each<readonly [name: string, method: string, answer: FakeAnswer]>([
    ["has no right to", "PATCH", json({ kind: "Status", message: "forbidden", reason: "Forbidden" }, 403)],
    ["finds that it is immutable", "PATCH", json(refusal, 422)],
    ["gets no answer", "GET", "broken"],
    ["reads something else", "GET", json({ kind: "Table" })],
    ["meets a conflict each time", "PATCH", json({ kind: "Status", reason: "Conflict", details: { name: "x" } }, 409)],
  ])("is not served while the replica %s, which is logged once; then it is", async (_, hit, answer) => {
    const { clock, logger, map, serving } = start("one");
    map.interfere = ({ method }) => (method === hit ? answer : undefined);
    await clock.advance(2 * LOOK_MS);
    const early = serving.check(clock.wallMs());
    map.interfere = undefined;
    await clock.advance(LOOK_MS);

    expect([early, serving.check(clock.wallMs()).ok]).toEqual([NONE, true]);
    expect(logger.messages("warn")).toEqual(["certificate cannot be published"]);
  });
});
