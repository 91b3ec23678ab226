import { afterEach, describe, expect, it } from "vitest";
import { startAggregator, stopAggregators } from "./started-aggregator.ts";

afterEach(stopAggregators);

const LEASE = {
  metadata: { name: "mooring-aggregator", uid: "lease-1", resourceVersion: "1" },
  spec: { holderIdentity: "another", leaseDurationSeconds: 15 },
};

const ARGV = ["--report-bind-address", "127.0.0.1:0"];

describe("an aggregator that finds a free Lease", () => {
  const leases = [{ ...LEASE, spec: {} }];
  const configmaps = [{ metadata: { name: "mooring-aggregator-certificates" }, data: {}, immutable: true }];

  it.each([
    { name: "leads at once where it can publish its certificate", objects: { leases }, leads: [true, true] },
    { name: "lets the others try first where it cannot", objects: { leases, configmaps }, leads: [false, true] },
  ])("$name", async ({ objects, leads }) => {
    const { clock, logger } = await startAggregator(ARGV, objects);
    const isLeading = (): boolean => logger.messages().includes("leading from now on");
    await clock.advance(2_000);
    const early = isLeading();
    await clock.advance(8_000);

    expect([early, isLeading()]).toEqual(leads);
  });
});

describe("an aggregator with a certificate of its own, while another one leads", () => {
  it("publishes and serves it all the same, so that agents trust it when it takes over", async () => {
    const { clock, server, logger } = await startAggregator(ARGV, { leases: [LEASE] });
    await clock.advance(2_000);

    const ready = await server.get("/readyz?verbose");

    expect(ready.status).toBe(200);
    expect(ready.body).toContain("[+]certificate ok: it lasts for 2159 h");
    expect(logger.messages()).toContain("certificate published");
    expect(ready.body).not.toContain("this one leads");
  });
});
