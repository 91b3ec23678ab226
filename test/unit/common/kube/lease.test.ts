import { describe, expect, it } from "vitest";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createLeaseStore, type LeaseChange } from "../../../../common/kube/lease.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../../fakes/transport.ts";

const never = new AbortController().signal;
const PATH = "/apis/coordination.k8s.io/v1/namespaces/mooring/leases";
const TIME = "2026-11-21T12:00:00.000000Z";
const object = {
  metadata: { name: "one", uid: "lease-1", resourceVersion: "7", annotations: { a: "b" } },
  spec: { holderIdentity: "x", leaseDurationSeconds: 15, acquireTime: TIME, renewTime: TIME, leaseTransitions: 2 },
};
const lease = {
  uid: "lease-1",
  resourceVersion: "7",
  annotations: { a: "b" },
  holder: "x",
  durationMs: 15_000,
  acquireTime: TIME,
  renewTime: TIME,
  transitions: 2,
};
const change: LeaseChange = { holder: "me", durationMs: 15_000, renewTime: TIME };

function refusal(status: number, reason: string, name = "one"): FakeAnswer {
  return json({ kind: "Status", code: status, reason, message: reason, details: { name, kind: "leases" } }, status);
}

function storeWith(...answers: readonly FakeAnswer[]) {
  const transport = createFakeTransport(inTurn(...answers));
  const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
  const store = createLeaseStore(client, { namespace: "mooring", name: "one", fieldManager: "tests" });
  const bodies = (): readonly unknown[] => transport.requests.map(({ body }) => JSON.parse(body ?? "null"));
  return { store, transport, bodies };
}

describe("a Lease of the API server", () => {
  it.each([
    { name: "as it is stored", answer: json(object), expected: lease },
    {
      name: "that was never held",
      answer: json({ metadata: { uid: "lease-1", resourceVersion: "7" }, spec: null }),
      expected: {
        ...lease,
        annotations: {},
        holder: "",
        durationMs: undefined,
        acquireTime: undefined,
        renewTime: undefined,
        transitions: 0,
      },
    },
    { name: "that does not exist as undefined", answer: refusal(404, "NotFound"), expected: undefined },
  ])("is read $name", async ({ answer, expected }) => {
    const { store, transport } = storeWith(answer);

    expect(await store.read(never)).toEqual(expected);
    expect(transport.requests).toMatchObject([{ method: "GET", path: `${PATH}/one` }]);
  });

  it.each([
    { name: "a proxy's page", answer: { body: "{}" } },
    { name: "a 404 that names no Lease", answer: { status: 404, body: "no such route" } },
    { name: "a 503", answer: { status: 503 } },
  ])("is not taken for missing after $name", async ({ answer }) => {
    const { store } = storeWith(answer);

    await expect(store.read(never)).rejects.toMatchObject({ name: "MooringError" });
  });

  it("is created with whole seconds", async () => {
    const { store, transport, bodies } = storeWith(json(object, 201));

    const made = await store.create({ ...change, durationMs: 1_500, acquireTime: TIME, transitions: 0 }, never);

    expect(made).toEqual({ kind: "written", lease });
    expect(transport.requests).toMatchObject([{ method: "POST", path: `${PATH}?fieldManager=tests` }]);
    expect(bodies()).toEqual([
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "one" },
        spec: {
          holderIdentity: "me",
          leaseDurationSeconds: 2,
          acquireTime: TIME,
          renewTime: TIME,
          leaseTransitions: 0,
        },
      },
    ]);
  });

  it("is changed in just the state that was decided on, and keeps what is not stated", async () => {
    const { store, transport, bodies } = storeWith(json(object));

    await store.update(lease, { ...change, annotations: { output: "this" } }, never);

    expect(transport.requests).toMatchObject([
      { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } },
    ]);
    expect(bodies()).toEqual([
      {
        metadata: { namespace: "mooring", uid: "lease-1", resourceVersion: "7", annotations: { output: "this" } },
        spec: { holderIdentity: "me", leaseDurationSeconds: 15, renewTime: TIME },
      },
    ]);
  });

  it.each([
    { name: "was created by another process", answer: refusal(409, "AlreadyExists"), write: "create" },
    { name: "was changed by another client", answer: refusal(409, "Conflict"), write: "update" },
    { name: "is gone", answer: refusal(404, "NotFound"), write: "update" },
  ] as const)("that $name is a conflict", async ({ answer, write }) => {
    const { store } = storeWith(answer);

    const made = await (write === "create" ? store.create(change, never) : store.update(lease, change, never));

    expect(made).toEqual({ kind: "conflict" });
  });

  it("that is refused for good is a failure", async () => {
    const { store } = storeWith(refusal(422, "Invalid"));

    await expect(store.update(lease, change, never)).rejects.toThrow("the lease was refused: ");
  });
});
