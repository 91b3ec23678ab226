import { describe, expect, it, onTestFinished } from "vitest";
import { SERVING_SECRET } from "../../../../aggregator/certificates/certificate-store.ts";
import { issueAuthority, issueCertificate } from "../../../../aggregator/certificates/issuing.ts";
import { createSecretServing, type Serving } from "../../../../aggregator/certificates/serving.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { degraded, failed } from "../../../../common/runtime/health.ts";
import { createFakeApiServer } from "../../../fakes/api-server.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection } from "../../../fakes/transport.ts";

const HOUR = 3_600_000;
const NOW = createFakeClock().wallMs();

async function secret() {
  const authority = await issueAuthority({ nowMs: NOW, lifetimeMs: 48 * HOUR });
  const pair = await issueCertificate({ nowMs: NOW, lifetimeMs: 6 * HOUR }, ["127.0.0.1"], authority);
  const data = { "tls.crt": btoa(pair.certificate), "tls.key": btoa(pair.key) };
  return { metadata: { namespace: "mooring", name: SERVING_SECRET, uid: "uid-1", resourceVersion: "1" }, data };
}

type Stored = "nothing" | "one" | "what cannot be read";

/** What is stored, as a replica that watches it knows it. */
async function watched(stored: Stored): Promise<Serving> {
  const clock = createFakeClock();
  const api = createFakeApiServer(clock, stored === "one" ? { secrets: [await secret()] } : {});
  if (stored === "what cannot be read") api.goAway("broken");
  const client = createKubeClient(createFakeConnection(api.transport), { clock });
  const parts = { client, clock, random: createFixedRandom(0.5), logger: createFakeLogger() };
  const serving = createSecretServing(parts, "mooring");
  const stop = new AbortController();
  const running = serving.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  await clock.advance(1_000);
  await settle();
  return serving;
}

describe("a certificate that the leader stores", () => {
  const none = "there is no certificate yet: agents cannot connect";
  const over = "the certificate has ended: agents refuse it";
  const leads = true;
  it.each([
    ["is missed by a leader, who is to issue it", "nothing", 0, leads, failed(none)],
    [
      "holds up no replica that waits to lead: a leader may have been given another",
      "nothing",
      0,
      !leads,
      degraded(none),
    ],
    [
      "holds up one that cannot read it: as a leader it could not keep it",
      "what cannot be read",
      0,
      !leads,
      failed(none),
    ],
    ["lasts the same for whoever waits", "one", 0, !leads, { ok: true, detail: "it lasts for 6 h" }],
    ["is missed by a leader when it has ended", "one", 6, leads, failed(over)],
    ["holds up no replica that waits when it has ended", "one", 6, !leads, degraded(over)],
  ] as const)("%s", async (...[, stored, hours, leads, result]) => {
    const serving = await watched(stored);

    expect(serving.check({ nowMs: NOW + hours * HOUR, leads })).toEqual(result);
  });
});
