import { describe, expect, it } from "vitest";
import type { UpstreamSetting } from "../../../../aggregator/core/claim-write.ts";
import { checkWrites, StatusWriting } from "../../../../aggregator/writing/status-writing.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";
import { claimWith, NOON, statusWith } from "../world.ts";
import { WriterHarness } from "./claim-writer-harness.ts";

const unused = statusWith({ unused: true, reason: "Unmounted" });

async function running(setting: UpstreamSetting) {
  const clock = createFakeClock();
  const transport = createFakeTransport(() => json({ major: "1", minor: "35" }));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const told: string[] = [];
  const parts = { clock, client, logger: createFakeLogger(), random: createFixedRandom(0.5), metrics: createMetrics() };
  const onPolicy = (): void => void told.push(writing.policy());
  const writing = new StatusWriting({ ...parts, nowMs: () => NOON, onPolicy }, setting);
  const before = writing.policy();
  const stopping = new AbortController();
  const tasks = [writing.watch, writing.tell].map((task) => task(stopping.signal));
  writing.warnings.tell(claimWith(), { kind: "write-refused", reason: "Forbidden", message: "no" });
  await clock.advance(1_000);
  stopping.abort();
  await Promise.all(tasks);
  return { before, told, requests: transport.requests.map(({ method, path }) => `${method} ${path}`) };
}

describe("StatusWriting", () => {
  it("asks for the server's version, and has all claims looked at when it is known what to do", async () => {
    const { before, told } = await running("auto");

    expect(before).toBe("leave");
    expect(told).toEqual(["write"]);
  });

  it("makes events of warnings", async () => {
    const { requests } = await running("never");

    expect(requests).toContain("POST /apis/events.k8s.io/v1/namespaces/shop/events");
  });
});

describe("what is told of writes", () => {
  it("is fine as long as nothing is forbidden, and names the namespaces and the reason when it is", async () => {
    const claims = ["a", "b", "c", "d", "e"].map((namespace) =>
      claimWith({ namespace, key: `${namespace}/data`, uid: namespace }),
    );
    const harness = new WriterHarness(claims);
    const before = checkWrites(harness.writer);
    harness.answer = () => ({ kind: "forbidden", message: "no role" });

    for (const { key } of claims) await harness.want(key, unused);

    expect(before).toEqual({ ok: true });
    expect(checkWrites(harness.writer)).toEqual({
      ok: false,
      why: "no permission to write claim status in a, b, c and 2 more: no role",
    });
    await harness.stop();
  });
});
