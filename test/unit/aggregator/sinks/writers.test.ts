import { describe, expect, it } from "vitest";
import { createClaimStatusWriter } from "../../../../aggregator/sinks/claim-status-writer.ts";
import { createVolumeWriter } from "../../../../aggregator/sinks/volume-writer.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { formatSecondsUp } from "../../../../common/storage/timestamp.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";

const never = new AbortController().signal;
const CLAIMS = "/api/v1/namespaces/shop/persistentvolumeclaims";
const identity = { namespace: "shop", name: "data", uid: "claim-1" };
const written = { metadata: { ...identity, resourceVersion: "101" }, spec: {}, status: { phase: "Bound" } };
const mounted = { status: mountedStatus(["n1"]), upstream: "none" } as const;

/** What an API server says that refuses a write. */
function refusal(code: number, status: Readonly<Record<string, unknown>> = {}): FakeAnswer {
  const details = { name: "data", kind: "persistentvolumeclaims" };
  return json({ kind: "Status", status: "Failure", message: "no", code, details, ...status }, code);
}

/** Writers to a server that answers everything with the same. */
function setUp(answer: FakeAnswer = json(written)) {
  const [transport, clock] = [createFakeTransport(() => answer), createFakeClock()];
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const counted: string[] = [];
  const writes = { increment: ({ outcome = "" }) => void counted.push(outcome) };
  const writer = createClaimStatusWriter({ client, clock, writes, seconds: { observe: () => {} } });
  const sent = () => JSON.parse(transport.requests[0]?.body ?? "");
  return { writer, writeVolume: createVolumeWriter({ client, writes }), counted, transport, sent };
}

describe("the status of a claim", () => {
  const lastTransitionTime = formatSecondsUp(NOON);
  const own = { type: "mooring.dev/Unused", status: "False", reason: "Mounted", message: "", lastTransitionTime };

  it("is applied to exactly the claim that was decided for, which is answered as it is now", async () => {
    const { writer, counted, transport, sent } = setUp();

    const result = await writer.apply(claimWith(), mounted, never);

    expect(result).toMatchObject({ kind: "written", claim: { key: "shop/data", resourceVersion: "101" } });
    expect(counted).toEqual(["written"]);
    const path = `${CLAIMS}/data/status?fieldManager=mooring-aggregator&force=true`;
    const headers = { "content-type": "application/apply-patch+yaml" };
    expect(transport.requests).toMatchObject([{ method: "PATCH", path, headers }]);
    const annotations = { "mooring.dev/mounted-on": '{"claimUID":"claim-1","nodes":["n1"]}' };
    expect(sent()).toEqual({
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
      metadata: { ...identity, resourceVersion: "100", annotations },
      status: { conditions: [own] },
    });
  });

  it("has Kubernetes' own condition in the same apply", async () => {
    const { writer, sent } = setUp();

    await writer.apply(claimWith(), { ...mounted, upstream: "all" }, never);

    const upstream = { type: "Unused", status: "False", reason: "PodUsingPVC", lastTransitionTime };
    expect(sent().status.conditions).toMatchObject([own, upstream]);
  });

  it.each([
    ["a staged volume", "on n1", undefined, ["True", "Staged", "on n1"]],
    ["one that is no longer staged", undefined, "on n1", ["False", "NotStaged", "No node has the volume staged"]],
    ["none", undefined, undefined, undefined],
  ] as const)("says beside of %s", async (...[, staged, before, expected]) => {
    const { writer, sent } = setUp();
    const unused = statusWith({ unused: true, reason: "Unmounted" });
    const claim = claimWith({ status: { ...unused, staged: before } });

    await writer.apply(claim, { status: { ...unused, staged }, upstream: "none" }, never);

    const [first, beside] = sent().status.conditions;
    expect(first.type).toBe("mooring.dev/Unused");
    expect(beside && [beside.status, beside.reason, beside.message]).toEqual(expected);
  });

  it("loses annotations of exactly the claim that was decided for", async () => {
    const { writer, counted, transport, sent } = setUp();

    const result = await writer.clean(claimWith(), ["mooring.dev/unused-since"], never);

    expect([result.kind, counted]).toEqual(["written", ["cleaned"]]);
    const path = `${CLAIMS}/data/status?fieldManager=mooring-aggregator`;
    const headers = { "content-type": "application/merge-patch+json" };
    expect(transport.requests).toMatchObject([{ method: "PATCH", path, headers }]);
    const annotations = { "mooring.dev/unused-since": null };
    expect(sent()).toEqual({
      metadata: { namespace: "shop", uid: "claim-1", resourceVersion: "100", annotations },
    });
  });

  const otherUid = { reason: "Invalid", details: { name: "data", causes: [{ field: "metadata.uid" }] } };
  const noRole = {
    reason: "Forbidden",
    message: 'claims "data" is forbidden: User "a" cannot patch resource "claims"',
  };
  const policy = { reason: "Forbidden", message: 'claims "data" is forbidden: ValidatingAdmissionPolicy' };
  const invalid = { kind: "refused", reason: "Invalid", message: expect.stringContaining("no") };
  const later = { status: 429, headers: { "retry-after": "7" }, body: "" };

  it.each<
    readonly [name: string, answer: FakeAnswer, result: { readonly kind: string; readonly [more: string]: unknown }]
  >([
    ["the claim has changed", refusal(409, { reason: "Conflict" }), { kind: "stale" }],
    ["the claim is gone", refusal(404, { reason: "NotFound" }), { kind: "stale" }],
    ["the claim is another one", refusal(422, otherUid), { kind: "stale" }],
    ["the API server will not have it", refusal(422, { reason: "Invalid" }), invalid],
    ["a policy forbids it", refusal(403, policy), { kind: "refused", reason: "Forbidden" }],
    ["a proxy will not have it", { status: 413, body: "" }, { kind: "refused", reason: "413" }],
    ["no role allows it", refusal(403, noRole), { kind: "forbidden" }],
    ["the token is not valid", refusal(401), { kind: "forbidden" }],
    ["there are too many requests", later, { kind: "overloaded", retryAfterMs: 7_000 }],
    ["the server is not there", { status: 503 }, { kind: "overloaded", retryAfterMs: 0 }],
    ["the server has no time", { status: 504 }, { kind: "overloaded" }],
    ["the connection breaks", "broken", { kind: "overloaded" }],
    ["the server fails", refusal(500), { kind: "failed" }],
    ["the answer is no claim", json({ kind: "Page" }), { kind: "failed" }],
  ])("is answered, and counted, where %s", async (_, answer, result) => {
    const { writer, counted } = setUp(answer);

    expect(await writer.apply(claimWith(), mounted, never)).toMatchObject(result);
    expect(counted).toEqual([result.kind]);
  });
});

describe("the marks of a volume", () => {
  const volume = { ...volumeWith(), resourceVersion: "300" };

  it("are set and removed on exactly the volume, in the state, that was decided on", async () => {
    const { writeVolume, counted, transport, sent } = setUp(json({}));

    const result = await writeVolume(volume, { mountedOn: undefined, lastUse: "{}" }, never);

    expect([result, counted]).toEqual([{ kind: "written" }, ["written"]]);
    expect(transport.requests).toMatchObject([
      {
        method: "PATCH",
        path: "/api/v1/persistentvolumes/pv-1/status?fieldManager=mooring-aggregator",
        headers: { "content-type": "application/merge-patch+json" },
      },
    ]);
    const annotations = { "mooring.dev/mounted-on": null, "mooring.dev/last-use": "{}" };
    expect(sent()).toEqual({
      metadata: { uid: "volume-1", resourceVersion: "300", annotations },
    });
  });

  it.each([
    ["stale", "it has changed", refusal(409, { reason: "Conflict" })],
    ["overloaded", "the server has no time", refusal(429)],
  ] as const)("are answered %s where %s", async (kind, _, answer) => {
    const { writeVolume, counted } = setUp(answer);

    expect((await writeVolume(volume, { mountedOn: "{}" }, never)).kind).toBe(kind);
    expect(counted).toEqual([kind]);
  });
});
