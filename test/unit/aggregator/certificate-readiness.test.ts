import { afterEach, describe, expect, it } from "vitest";
import { startAggregator, stopAggregators } from "./started-aggregator.ts";

afterEach(stopAggregators);

const LEASE = {
  metadata: { name: "mooring-aggregator", uid: "lease-1", resourceVersion: "1" },
  spec: { holderIdentity: "another", leaseDurationSeconds: 15 },
};

describe("an aggregator with a certificate of its own, while another one leads", () => {
  it("publishes and serves it all the same, so that agents trust it when it takes over", async () => {
    const argv = ["--report-bind-address", "127.0.0.1:0"];
    const { clock, server, logger } = await startAggregator(argv, { leases: [LEASE] });
    await clock.advance(2_000);

    const ready = await server.get("/readyz?verbose");

    expect(ready.status).toBe(200);
    expect(ready.body).toContain("[+]certificate ok: it lasts for 2159 h");
    expect(logger.messages()).toContain("certificate published");
    expect(ready.body).not.toContain("this one leads");
  });
});
