import { describe, expect, it } from "vitest";
import { createClaimStatusWriter, createVolumeWriter } from "../../../../aggregator/sinks/writers.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { claimWith, mountedStatus, volumeWith } from "../world.ts";

const never = new AbortController().signal;
const mounted = mountedStatus(["n1"], { staged: "on n1" });

/** What an API server says that refuses a write. */
function refusal(code: number, status: Readonly<Record<string, unknown>> = {}): FakeAnswer {
  const details = { name: "data", kind: "persistentvolumeclaims" };
  return json({ kind: "Status", status: "Failure", message: "no", code, details, ...status }, code);
}

/** Writers to a server that answers everything with the same. */
function setUp(answer: FakeAnswer) {
  const [transport, clock] = [createFakeTransport(() => answer), createFakeClock()];
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const metrics = createMetrics();
  const counted = async (): Promise<readonly unknown[]> =>
    [...(await metrics.text()).matchAll(/writes_total\{outcome="(\w+)"\} 1$/gm)].map(([, outcome]) => outcome);
  const parts = { client, clock, metrics };
  return { writer: createClaimStatusWriter(parts), writeVolume: createVolumeWriter(parts), counted };
}

describe("a write", () => {
  const otherUid = { reason: "Invalid", details: { name: "data", causes: [{ field: "metadata.uid" }] } };
  const forbidden = (why: string) => ({ reason: "Forbidden", message: `claims "data" is forbidden: ${why}` });
  const noRole = forbidden('User "a" cannot patch resource "claims"');
  const invalid = { kind: "refused", reason: "Invalid", message: expect.stringContaining("no") };
  const later = { status: 429, headers: { "retry-after": "7" }, body: "" };

  it.each<readonly [name: string, answer: FakeAnswer, result: Readonly<Record<string, unknown>>]>(
    // biome-ignore format: a row is a line
    [
      ["stale where the claim has changed", refusal(409, { reason: "Conflict" }), { kind: "stale" }],
      ["stale where the claim is gone", refusal(404, { reason: "NotFound" }), { kind: "stale" }],
      ["stale where the claim is another one", refusal(422, otherUid), { kind: "stale" }],
      ["refused where the API server does not accept it", refusal(422, { reason: "Invalid" }), invalid],
      ["refused where a policy forbids it", refusal(403, forbidden("ValidatingAdmissionPolicy")), { kind: "refused", reason: "Forbidden" }],
      ["refused where a proxy does not accept it", { status: 413, body: "" }, { kind: "refused", reason: "413" }],
      ["forbidden where no role allows it", refusal(403, noRole), { kind: "forbidden" }],
      ["forbidden where the token is not valid", refusal(401), { kind: "forbidden" }],
      ["overloaded where there are too many requests", later, { kind: "overloaded", retryAfterMs: 7_000 }],
      ["overloaded where the server is not there", { status: 503 }, { kind: "overloaded", retryAfterMs: 0 }],
      ["overloaded where the server has no time", { status: 504 }, { kind: "overloaded" }],
      ["overloaded where the connection breaks", "broken", { kind: "overloaded" }],
      ["failed where the server fails", refusal(500), { kind: "failed" }],
      ["failed where the answer is no claim", json({ kind: "Page" }), { kind: "failed" }],
    ],
  )("is %s, which is counted", async (_, answer, result) => {
    const { writer, counted } = setUp(answer);

    expect(await writer.apply(claimWith(), mounted, never)).toMatchObject(result);
    expect(await counted()).toEqual([result.kind]);
  });

  it("of the marks of a volume is stale where it has changed, which is counted", async () => {
    const { writeVolume, counted } = setUp(refusal(409, { reason: "Conflict" }));
    const volume = { ...volumeWith(), resourceVersion: "300" };

    expect(await writeVolume(volume, { "mooring.dev/mounted-on": "{}" }, never)).toMatchObject({ kind: "stale" });
    expect(await counted()).toEqual(["stale"]);
  });
});
