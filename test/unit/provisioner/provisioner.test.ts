import { afterEach, describe, expect, it } from "vitest";
import { imageWith, UID } from "./objects.ts";
import { startProvisioner, stopProvisioners } from "./started-provisioner.ts";

afterEach(stopProvisioners);

const AWAY = { ok: false, code: "keeper-away", message: "no reply from the keeper" } as const;

describe("a provisioner at rest", () => {
  it("is ready, asks the keeper alone and writes nothing", async () => {
    const { clock, page, logger } = await startProvisioner();
    await clock.advance(10_000);
    const requests = async (): Promise<readonly string[]> =>
      (await page("/metrics")).text.split("\n").filter((line) => line.startsWith("rest_client_requests_total{"));
    const before = await requests();

    await clock.advance(60_000);

    expect(await requests()).toEqual(before);
    expect((await page("/readyz?verbose")).text).toContain("[+]pools ok: 1 ready");
    expect(logger.messages("warn")).toEqual([]);
  });
});

describe("a provisioner whose keeper is away", () => {
  it("is not ready, with the reason, stays live, and recovers by itself", async () => {
    const { clock, keeper, page, logger } = await startProvisioner();
    await clock.advance(10_000);
    keeper.intercept(async () => AWAY);
    await clock.advance(20_000);
    const [ready, live] = [await page("/readyz"), await page("/livez")];
    keeper.intercept(undefined);
    await clock.advance(10_000);

    expect(ready).toEqual({ status: 503, text: expect.stringContaining("[-]keeper failed: no reply from the keeper") });
    expect(live.status).toBe(200);
    expect((await page("/readyz")).status).toBe(200);
    expect(logger.messages("warn")).toEqual(["the keeper does not answer"]);
  });
});

describe("pools and images of a node", () => {
  it("that are lost or without a volume are reported, and do not stop a rollout", async () => {
    const { clock, keeper, page } = await startProvisioner();
    await clock.advance(10_000);
    keeper.setState("default", "lost", "its disk is not mounted");
    await clock.advance(10_000);

    const { status, text } = await page("/readyz?verbose");

    expect(status).toBe(200);
    expect(text).toContain("[+]pools ok (degraded): default is lost: its disk is not mounted");
    expect((await page("/metrics")).text).toContain('mooring_pool_state{pool="default",state="lost"} 1');
  });

  it("that were never begun are begun when no volume names them", async () => {
    const { clock, keeper, metrics } = await startProvisioner();
    keeper.setState("default", "empty");
    await clock.advance(10_000);

    expect(keeper.requests).toContainEqual({ verb: "begin", pool: "default" });
    expect(await metrics.text()).toContain('mooring_pool_state{pool="default",state="ready"} 1');
  });

  it("are not deleted before it is certain that nothing of an earlier run is on its way", async () => {
    const { clock, keeper } = await startProvisioner();
    keeper.put(imageWith({ volume: `pvc-${UID}`, state: "made" }));

    await clock.advance(64_000);

    expect(keeper.images.size).toBe(1);
    expect(keeper.requests.filter(({ verb }) => verb === "remove")).toEqual([]);
  });
});
