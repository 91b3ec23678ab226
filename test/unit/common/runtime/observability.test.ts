import { describe, expect, it } from "vitest";
import { type CheckResult, degraded, failed, PASSED } from "../../../../common/runtime/health.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { observabilityRoutes } from "../../../../common/runtime/observability.ts";
import { createFakeListen } from "../../../fakes/listen.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

async function start() {
  const now: { cluster: CheckResult; isDraining: boolean } = { cluster: failed("not listed yet"), isDraining: false };
  const metrics = createMetrics();
  const server = createFakeListen();
  const live = { ping: () => PASSED };
  const ready = { cluster: () => now.cluster };
  const routes = observabilityRoutes(metrics, { live, ready, isDraining: () => now.isDraining });
  await server.listen(routes, { host: "", port: 0 }, createFakeLogger());
  return { now, server, metrics };
}

describe("health of a process", () => {
  it("is starting until it has been ready once, and not ready when it is no longer", async () => {
    const { now, server } = await start();

    const states = [(await server.get("/readyz")).body];
    now.cluster = PASSED;
    states.push((await server.get("/readyz?verbose")).body);
    now.cluster = failed("gone");
    states.push((await server.get("/readyz")).body);

    expect(states).toEqual([
      "[+]state ok: starting\n[-]cluster failed: not listed yet\nreadyz check failed\n",
      "[+]state ok: ready\n[+]cluster ok\nreadyz check passed\n",
      "[+]state ok: not-ready\n[-]cluster failed: gone\nreadyz check failed\n",
    ]);
  });

  it("is degraded and ready when a check reports that, with what is missing", async () => {
    const { now, server } = await start();
    now.cluster = degraded("half of it");

    const answer = await server.get("/readyz?verbose");

    expect(answer).toMatchObject({
      status: 200,
      body: "[+]state ok: degraded\n[+]cluster ok (degraded): half of it\nreadyz check passed\n",
    });
  });

  it("is alive, but not ready, while it drains", async () => {
    const { now, server } = await start();
    now.cluster = PASSED;
    now.isDraining = true;

    const [ready, live] = [await server.get("/readyz"), await server.get("/livez")];

    expect([ready.status, live.status]).toEqual([503, 200]);
    expect(ready.body).toContain("[-]state failed: draining");
  });

  it("is in the metrics, check by check and as a state", async () => {
    const { now, metrics } = await start();
    now.cluster = degraded("half of it");

    const text = await metrics.text();

    expect(text).toContain('mooring_health_check{endpoint="readyz",check="cluster"} 1');
    expect(text).toContain('mooring_health_check{endpoint="livez",check="ping"} 1');
    expect(text.match(/^mooring_state\{state="\S+"\} 1$/gm)).toEqual(['mooring_state{state="degraded"} 1']);
  });
});
