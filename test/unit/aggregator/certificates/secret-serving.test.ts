import { describe, expect, it, onTestFinished } from "vitest";
import { SERVING_SECRET } from "../../../../aggregator/certificates/certificate-store.ts";
import { issueAuthority, issueCertificate } from "../../../../aggregator/certificates/issuing.ts";
import { createSecretServing, type Serving } from "../../../../aggregator/certificates/serving.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeApiServer } from "../../../fakes/api-server.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection } from "../../../fakes/transport.ts";

const HOUR = 3_600_000;
const LIFETIME_MS = 6 * HOUR;
const NOW = createFakeClock().wallMs();

/** What is stored, as a replica that watches it knows it. */
async function watched(stored: "nothing" | "a certificate" | "unreadable"): Promise<Serving> {
  const clock = createFakeClock();
  const objects = stored === "a certificate" ? { secrets: [await secret()] } : {};
  const api = createFakeApiServer(clock, objects);
  if (stored === "unreadable") api.goAway("broken");
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

async function secret() {
  const authority = await issueAuthority({ nowMs: NOW, lifetimeMs: 48 * HOUR });
  const pair = await issueCertificate({ nowMs: NOW, lifetimeMs: LIFETIME_MS }, ["127.0.0.1"], authority);
  const data = { "tls.crt": btoa(pair.certificate), "tls.key": btoa(pair.key) };
  return { metadata: { namespace: "mooring", name: SERVING_SECRET, uid: "uid-1", resourceVersion: "1" }, data };
}

describe("a certificate that the leader stores", () => {
  it.each([
    {
      name: "is missed by a leader, who is to issue it",
      stored: "nothing",
      leads: true,
      result: { ok: false, why: "there is no certificate yet: agents cannot connect" },
    },
    {
      name: "holds up no replica that waits to lead: one that leads may have been given another one",
      stored: "nothing",
      leads: false,
      result: { ok: true, isDegraded: true, detail: "there is no certificate yet: agents cannot connect" },
    },
    {
      name: "holds up a replica that cannot read whether there is one: as a leader it could not keep it either",
      stored: "unreadable",
      leads: false,
      result: { ok: false, why: "there is no certificate yet: agents cannot connect" },
    },
    {
      name: "lasts the same for whoever leads and whoever waits",
      stored: "a certificate",
      leads: false,
      result: { ok: true, detail: "it lasts for 6 h" },
    },
    {
      name: "is missed by a leader when it has ended",
      stored: "a certificate",
      leads: true,
      afterMs: LIFETIME_MS,
      result: { ok: false, why: "the certificate has ended: agents refuse it" },
    },
    {
      name: "holds up no replica that waits to lead when it has ended",
      stored: "a certificate",
      leads: false,
      afterMs: LIFETIME_MS,
      result: { ok: true, isDegraded: true, detail: "the certificate has ended: agents refuse it" },
    },
  ] as const)("$name", async ({ stored, leads, result, ...more }) => {
    const serving = await watched(stored);

    const checked = serving.check({ nowMs: NOW + ("afterMs" in more ? more.afterMs : 0), leads });

    expect(checked).toEqual(result);
  });
});
