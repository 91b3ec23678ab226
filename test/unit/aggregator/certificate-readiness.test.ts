import { afterEach, describe, expect, it } from "vitest";
import { startAggregator, stopAggregators } from "./started-aggregator.ts";

afterEach(stopAggregators);

const LEASE = {
  metadata: { name: "mooring-aggregator", uid: "lease-1", resourceVersion: "1" },
  spec: { holderIdentity: "another", leaseDurationSeconds: 15 },
};

describe("an aggregator that is to issue certificates, behind one that was given its own", () => {
  it("is ready without one, so that the other can be replaced, and not ready once it leads", async () => {
    const argv = ["--report-bind-address", "127.0.0.1:0"];
    const { clock, server } = await startAggregator(argv, { leases: [LEASE] });
    await clock.advance(2_000);

    const waiting = await server.get("/readyz?verbose");
    await clock.advance(60_000);
    const leading = await server.get("/readyz?verbose");

    const why = "there is no certificate yet: agents cannot connect";
    expect(waiting.status).toBe(200);
    expect(waiting.body).toContain(`[+]certificate ok (degraded): ${why}`);
    expect(leading.body).toContain("[+]leader ok: this one leads");
    expect(leading.body).toContain(`[-]certificate failed: ${why}`);
  });
});
