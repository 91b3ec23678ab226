import { describe, expect, it } from "vitest";
import { createClaimStatusWriter, type WriteResult } from "../../../../aggregator/sinks/claim-status-writer.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { formatSecondsUp } from "../../../../common/storage/timestamp.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";

const never = new AbortController().signal;
const CLAIMS = "/api/v1/namespaces/shop/persistentvolumeclaims";

function setUp(answer: FakeAnswer) {
  const transport = createFakeTransport(() => answer);
  const clock = createFakeClock();
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const counted: string[] = [];
  const writer = createClaimStatusWriter({
    client,
    clock,
    writes: { increment: ({ outcome }) => void counted.push(outcome) },
    seconds: { observe: () => {} },
  });
  return { writer, counted, transport };
}

const written = {
  metadata: { namespace: "shop", name: "data", uid: "claim-1", resourceVersion: "101" },
  spec: { volumeName: "pv-1" },
  status: { phase: "Bound" },
};

function refusal(code: number, status: Readonly<Record<string, unknown>> = {}): FakeAnswer {
  const details = { name: "data", kind: "persistentvolumeclaims" };
  return json({ kind: "Status", status: "Failure", message: "no", code, details, ...status }, code);
}

const otherUid = { reason: "Invalid", details: { name: "data", causes: [{ field: "metadata.uid" }] } };
const noRole = { reason: "Forbidden", message: 'claims "data" is forbidden: User "a" cannot patch resource "claims"' };
const policy = { reason: "Forbidden", message: 'claims "data" is forbidden: ValidatingAdmissionPolicy' };

describe("createClaimStatusWriter", () => {
  it("applies to exactly the claim that was decided for, and answers what it is now", async () => {
    const { writer, counted, transport } = setUp(json(written));

    const result = await writer.apply(claimWith(), { status: mountedStatus(["n1"]), upstream: "none" }, never);

    const [request] = transport.requests;
    expect(result).toMatchObject({ kind: "written", claim: { key: "shop/data", resourceVersion: "101" } });
    expect(counted).toEqual(["written"]);
    expect(request).toMatchObject({
      method: "PATCH",
      path: `${CLAIMS}/data/status?fieldManager=mooring-aggregator&force=true`,
      headers: { "content-type": "application/apply-patch+yaml" },
    });
    expect(JSON.parse(request?.body ?? "")).toEqual({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        namespace: "shop",
        name: "data",
        uid: "claim-1",
        resourceVersion: "100",
        annotations: { "mooring.dev/mounted-on": '{"claimUID":"claim-1","nodes":["n1"]}' },
      },
      status: {
        conditions: [
          {
            type: "mooring.dev/Unused",
            status: "False",
            reason: "Mounted",
            message: "",
            lastTransitionTime: formatSecondsUp(NOON),
          },
        ],
      },
    });
  });

  it.each([
    { name: "a staged volume: true", staged: "on n1", stored: undefined, expected: ["True", "Staged", "on n1"] },
    {
      name: "one that is no longer staged: false, whoever wrote that it is",
      staged: undefined,
      stored: "on n1",
      expected: ["False", "NotStaged", "No node has the volume staged"],
    },
    { name: "none: nothing", staged: undefined, stored: undefined, expected: undefined },
  ])("writes beside its condition of $name", async ({ staged, stored, expected }) => {
    const { writer, transport } = setUp(json(written));
    const unused = statusWith({ unused: true, reason: "Unmounted" });

    await writer.apply(
      claimWith({ status: { ...unused, staged: stored } }),
      { status: { ...unused, staged }, upstream: "none" },
      never,
    );

    const [own, beside] = JSON.parse(transport.requests[0]?.body ?? "").status.conditions;
    expect(own.type).toBe("mooring.dev/Unused");
    expect(beside && [beside.status, beside.reason, beside.message]).toEqual(expected);
  });

  it("writes Kubernetes' own condition in the same apply", async () => {
    const { writer, transport } = setUp(json(written));

    await writer.apply(claimWith(), { status: mountedStatus(["n1"]), upstream: "all" }, never);

    const { status } = JSON.parse(transport.requests[0]?.body ?? "");
    expect(status.conditions).toMatchObject([
      { type: "mooring.dev/Unused" },
      { type: "Unused", status: "False", reason: "PodUsingPVC", lastTransitionTime: formatSecondsUp(NOON) },
    ]);
  });

  it("removes annotations of exactly the claim that was decided for", async () => {
    const { writer, counted, transport } = setUp(json(written));

    const result = await writer.clean(claimWith(), ["mooring.dev/unused-since"], never);

    expect(result.kind).toBe("written");
    expect(counted).toEqual(["cleaned"]);
    expect(transport.requests).toMatchObject([
      {
        method: "PATCH",
        path: `${CLAIMS}/data/status?fieldManager=mooring-aggregator`,
        headers: { "content-type": "application/merge-patch+json" },
      },
    ]);
    expect(JSON.parse(transport.requests[0]?.body ?? "")).toEqual({
      metadata: {
        namespace: "shop",
        uid: "claim-1",
        resourceVersion: "100",
        annotations: { "mooring.dev/unused-since": null },
      },
    });
  });

  it.each<{ readonly name: string; readonly answer: FakeAnswer; readonly result: Partial<WriteResult> }>([
    { name: "the claim has changed", answer: refusal(409, { reason: "Conflict" }), result: { kind: "stale" } },
    { name: "the claim is gone", answer: refusal(404, { reason: "NotFound" }), result: { kind: "stale" } },
    { name: "the claim is another one", answer: refusal(422, otherUid), result: { kind: "stale" } },
    {
      name: "the API server will not have it",
      answer: refusal(422, { reason: "Invalid" }),
      result: { kind: "refused", reason: "Invalid", message: expect.stringContaining("no") },
    },
    { name: "a policy forbids it", answer: refusal(403, policy), result: { kind: "refused", reason: "Forbidden" } },
    { name: "a proxy will not have it", answer: { status: 413, body: "" }, result: { kind: "refused", reason: "413" } },
    { name: "no role allows it", answer: refusal(403, noRole), result: { kind: "forbidden" } },
    { name: "the token is not valid", answer: refusal(401), result: { kind: "forbidden" } },
    {
      name: "there are too many requests",
      answer: { status: 429, headers: { "retry-after": "7" }, body: "" },
      result: { kind: "overloaded", retryAfterMs: 7_000 },
    },
    { name: "the server is not there", answer: { status: 503 }, result: { kind: "overloaded", retryAfterMs: 0 } },
    { name: "the server has no time", answer: { status: 504 }, result: { kind: "overloaded" } },
    { name: "the connection breaks", answer: "broken", result: { kind: "overloaded" } },
    { name: "the server fails", answer: refusal(500), result: { kind: "failed" } },
    { name: "the answer is no claim", answer: json({ kind: "Page" }), result: { kind: "failed" } },
  ])("$name: $result.kind", async ({ answer, result }) => {
    const { writer, counted } = setUp(answer);

    expect(await writer.apply(claimWith(), { status: mountedStatus(["n1"]), upstream: "none" }, never)).toMatchObject(
      result,
    );
    expect(counted).toEqual([result.kind]);
  });

  it.each<{ readonly name: string; readonly answer: FakeAnswer; readonly result: object }>([
    {
      name: "the claim",
      answer: json({ items: [written] }),
      result: { kind: "written", claim: expect.objectContaining({ resourceVersion: "101" }) },
    },
    {
      name: "that another one has its name",
      answer: json({ items: [{ ...written, metadata: { ...written.metadata, uid: "claim-2" } }] }),
      result: { kind: "stale" },
    },
    { name: "that it is gone", answer: json({ items: [] }), result: { kind: "stale" } },
    { name: "that it cannot tell", answer: refusal(500), result: { kind: "failed" } },
    { name: "that it does not know lists", answer: json({}), result: { kind: "failed" } },
  ])("reads $name, by a list of one and without counting a write", async ({ answer, result }) => {
    const { writer, counted, transport } = setUp(answer);

    expect(await writer.read(claimWith(), never)).toMatchObject(result);
    expect(transport.requests.map(({ path }) => path)).toEqual([`${CLAIMS}?fieldSelector=metadata.name%3Ddata`]);
    expect(counted).toEqual([]);
  });
});
