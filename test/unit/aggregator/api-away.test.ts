import { afterEach, describe, expect, it } from "vitest";
import type { Absence } from "../../fakes/api-server.ts";
import { settle } from "../../fakes/clock.ts";
import { startAggregator, stopAggregators } from "./started-aggregator.ts";

afterEach(stopAggregators);

const HOUR_MS = 3_600_000;
const PROBE_MS = 30_000;

type Aggregator = Awaited<ReturnType<typeof startAggregator>>;

/** The answers of `/livez` while the time passes, each other one counted. */
async function probed({ clock, server }: Aggregator, forMs: number): Promise<ReadonlySet<string>> {
  const answers = new Set<string>();
  for (let passed = 0; passed < forMs; passed += PROBE_MS) {
    await clock.advance(PROBE_MS);
    answers.add((await server.get("/livez")).body);
  }
  return answers;
}

async function readiness({ server }: Aggregator): Promise<string> {
  return (await server.get("/readyz?verbose")).body;
}

describe("an aggregator whose API server is away for an hour", () => {
  it.each<{ readonly name: string; readonly how: Absence }>([
    { name: "refuses connections", how: "broken" },
    { name: "never answers", how: "silence" },
    { name: "is answered for by a proxy", how: "unavailable" },
  ])("is restarted by nobody, and leads again afterwards, when it $name", async ({ how }) => {
    const aggregator = await startAggregator();
    await aggregator.clock.advance(5_000);
    await settle();
    const before = await readiness(aggregator);

    aggregator.api.goAway(how);
    const answers = await probed(aggregator, HOUR_MS);
    const meanwhile = await readiness(aggregator);
    aggregator.api.comeBack();
    const afterwards = await probed(aggregator, 180_000);

    expect(before).toContain("[+]leader ok: this one leads");
    expect([...answers, ...afterwards]).toEqual(["ok", "ok"]);
    expect(meanwhile).toContain("[-]leader failed: nobody has been seen to lead for long");
    expect(meanwhile).toContain("[+]state ok: not-ready");
    expect(await readiness(aggregator)).toContain("[+]leader ok: this one leads");
    expect(aggregator.logger.messages("error")).toEqual([]);
  });

  it("is restarted by nobody when it was started meanwhile", async () => {
    const aggregator = await startAggregator({ away: "broken" });

    const answers = await probed(aggregator, HOUR_MS);
    const meanwhile = await readiness(aggregator);
    aggregator.api.comeBack();
    await probed(aggregator, 180_000);

    expect([...answers]).toEqual(["ok"]);
    expect(meanwhile).toContain("[+]state ok: starting");
    expect(meanwhile).toContain("[-]cluster failed: not listed yet: pods");
    expect(await readiness(aggregator)).toContain("[+]leader ok: this one leads");
  });
});

describe("an aggregator that is told to stop", () => {
  it("gives its Lease back within its grace period, and says meanwhile that it drains", async () => {
    const aggregator = await startAggregator();
    await aggregator.clock.advance(5_000);

    aggregator.stop.abort();
    const draining = await aggregator.server.get("/readyz");
    const live = await aggregator.server.get("/livez");
    const begunAt = aggregator.clock.monotonicMs();
    await aggregator.end();

    const release = aggregator.api.transport.requests.findLast(
      ({ method, path }) => method === "PATCH" && path.includes("/leases/"),
    );
    expect([draining.status, live.status]).toEqual([503, 200]);
    expect(draining.body).toContain("[-]state failed: draining");
    expect(JSON.parse(release?.body ?? "{}").spec).toMatchObject({ holderIdentity: "" });
    expect(aggregator.clock.monotonicMs() - begunAt).toBeLessThan(30_000);
  });

  it("is gone within its grace period though the API server does not answer", async () => {
    const aggregator = await startAggregator();
    await aggregator.clock.advance(5_000);
    aggregator.api.goAway("silence");
    const begunAt = aggregator.clock.monotonicMs();

    await aggregator.end();

    expect(aggregator.clock.monotonicMs() - begunAt).toBeLessThan(25_000);
  });
});
