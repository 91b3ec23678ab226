import { describe, expect, it } from "vitest";
import { rejectionPatch } from "../../../../agent/core/affinity/rejection.ts";
import { createPodRejector, type RejectedPod } from "../../../../agent/sinks/pod-rejector.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";

const POD: RejectedPod = { namespace: "team", name: "web", uid: "u1", resourceVersion: "90" };
const PATCH = rejectionPatch({
  node: "node-1",
  at: "2026-11-21T10:00:00Z",
  level: 0,
  volumes: [{ volume: "data", claim: "orders", pv: "pv-1", why: "zone is not b" }],
});

/** The pod as the API server shows it. */
function pod(status: object, metadata: object = {}): FakeAnswer {
  return json({ metadata: { namespace: "team", name: "web", uid: "u1", ...metadata }, status });
}
const PENDING = pod({ phase: "Pending" });
const REJECTED = pod(PATCH.status, PATCH.metadata);

function refusal(code: number, reason: string, more: object = {}): FakeAnswer {
  return json({ kind: "Status", code, reason, message: `${reason} it is`, ...more }, code);
}
const NOT_FOUND = refusal(404, "NotFound", { details: { name: "web", kind: "pods" } });
const CONFLICT = refusal(409, "Conflict");

interface Script {
  /** The answer to the change. */
  readonly change?: FakeAnswer;
  /** The answer to a later look at the pod. */
  readonly run?: FakeAnswer;
}

function start({ change = REJECTED, run = PENDING }: Script) {
  const clock = createFakeClock();
  const transport = createFakeTransport(({ method }) => (method === "GET" ? run : change));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const rejector = createPodRejector({ client, clock });
  const never = new AbortController().signal;
  return {
    clock,
    methods: () => transport.requests.map(({ method }) => method),
    request: () => transport.requests[0],
    reject: (mayBeSent = () => true) => rejector.reject({ pod: POD, patch: PATCH, mayBeSent }, never),
    remove: (mayBeSent = () => true) => rejector.remove({ pod: POD, mayBeSent }, never),
    rejectionState: () => rejector.rejectionState(POD, never),
  };
}

describe("rejecting a pod", () => {
  it("is one patch of its status with the UID and resource version of the decision", async () => {
    const { reject, request, methods } = start({});

    const outcome = await reject();

    expect(outcome).toEqual({ kind: "rejected" });
    expect(methods()).toEqual(["PATCH"]);
    expect(request()).toMatchObject({
      path: "/api/v1/namespaces/team/pods/web/status?fieldManager=mooring-agent",
      headers: { "content-type": "application/merge-patch+json" },
    });
    expect(JSON.parse(request()?.body ?? "")).toEqual({
      metadata: { ...PATCH.metadata, namespace: "team", uid: "u1", resourceVersion: "90" },
      status: PATCH.status,
    });
  });

  it.each<{ readonly name: string; readonly change: FakeAnswer; readonly kind: string }>([
    { name: "has changed since", change: CONFLICT, kind: "conflict" },
    { name: "does not exist any more", change: NOT_FOUND, kind: "gone" },
    {
      name: "was re-created under its name",
      change: refusal(422, "Invalid", { details: { name: "web", causes: [{ field: "metadata.uid" }] } }),
      kind: "gone",
    },
    { name: "is protected by an admission policy", change: refusal(403, "Forbidden"), kind: "refused" },
    { name: "would become invalid", change: refusal(422, "Invalid"), kind: "refused" },
    {
      name: "the agent may not change",
      change: refusal(403, "Forbidden", { message: 'User "agent" cannot patch resource "pods/status"' }),
      kind: "forbidden",
    },
    { name: "is behind a proxy that refuses", change: { status: 403, body: "no" }, kind: "forbidden" },
    {
      name: "is patched with an invalid token",
      change: refusal(401, "Unauthorized"),
      kind: "forbidden",
    },
    {
      name: "meets an overloaded API server",
      change: refusal(429, "TooManyRequests"),
      kind: "overloaded",
    },
  ])("answers $kind for a pod that $name, without another request", async ({ change, kind }) => {
    const { reject, methods } = start({ change });

    expect(await reject()).toMatchObject({ kind });
    expect(methods()).toEqual(["PATCH"]);
  });

  it.each<{ readonly name: string; readonly change: FakeAnswer }>([
    { name: "the connection breaks", change: "broken" },
    { name: "the server fails", change: refusal(500, "InternalError") },
    { name: "a proxy times out", change: { status: 504, body: "gateway timeout" } },
    { name: "a proxy answers with a page", change: { status: 200, body: "<html>" } },
    { name: "a proxy answers with something else", change: json({}) },
    { name: "the answer shows the pod as it was", change: PENDING },
    { name: "nothing is served there", change: { status: 404, body: "404 page not found" } },
  ])("reads the pod when $name: a visible rejection is done, anything else is unknown", async ({ change }) => {
    const done = start({ change, run: REJECTED });
    const open = start({ change, run: PENDING });
    const dark = start({ change, run: "broken" });

    expect(await done.reject()).toEqual({ kind: "rejected" });
    expect(await open.reject()).toMatchObject({ kind: "unanswered" });
    expect(await dark.reject()).toMatchObject({ kind: "unanswered" });
    for (const { methods } of [done, open, dark]) expect(methods()).toEqual(["PATCH", "GET"]);
  });

  it("waits ten seconds for an answer, and then reads the pod", async () => {
    const { reject, methods, clock } = start({ change: "silence", run: REJECTED });

    const outcome = reject();
    await clock.advance(9_000);
    const before = methods();
    await clock.advance(2_000);

    expect(before).toEqual(["PATCH"]);
    expect(await outcome).toEqual({ kind: "rejected" });
  });

  it("does not take a rejection of another pod, or by another component, for its own", async () => {
    const other = start({ change: "broken", run: pod(PATCH.status, { ...PATCH.metadata, uid: "u2" }) });
    const foreign = start({ change: "broken", run: pod(PATCH.status) });

    expect(await other.reject()).toMatchObject({ kind: "unanswered" });
    expect(await foreign.reject()).toMatchObject({ kind: "unanswered" });
  });

  it("sends nothing when its reads are too old at the moment of sending", async () => {
    const { reject, methods } = start({});

    expect(await reject(() => false)).toMatchObject({ kind: "stale" });
    expect(methods()).toEqual([]);
  });

  it("does not hide a bug", async () => {
    const { reject } = start({});

    await expect(
      reject(() => {
        throw new TypeError("a bug");
      }),
    ).rejects.toThrow("a bug");
  });
});

describe("removing a pod", () => {
  it("deletes the pod in the state of the decision only, with its own grace period", async () => {
    const { remove, request } = start({
      change: pod({ phase: "Pending" }, { deletionTimestamp: "2026-11-21T10:00:30Z" }),
    });

    expect(await remove()).toEqual({ kind: "rejected" });
    expect(request()).toMatchObject({ method: "DELETE", path: "/api/v1/namespaces/team/pods/web" });
    expect(JSON.parse(request()?.body ?? "")).toEqual({
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions: { uid: "u1", resourceVersion: "90" },
    });
  });

  it.each<{ readonly name: string; readonly change: FakeAnswer; readonly run?: FakeAnswer; readonly kind: string }>([
    { name: "a deletion that is answered with a status is done", change: json({ kind: "Status" }), kind: "rejected" },
    { name: "a pod that has changed is not deleted", change: CONFLICT, kind: "conflict" },
    { name: "a pod that is gone is gone", change: NOT_FOUND, kind: "gone" },
    { name: "a missing permission is reported", change: { status: 403, body: "no" }, kind: "forbidden" },
    { name: "a lost answer whose pod is gone is done", change: "broken", run: NOT_FOUND, kind: "rejected" },
    {
      name: "a lost answer whose pod is terminating is done",
      change: "broken",
      run: pod({}, { deletionTimestamp: "2026-11-21T10:00:30Z" }),
      kind: "rejected",
    },
    { name: "a lost answer whose pod is unchanged is unknown", change: "broken", run: PENDING, kind: "unanswered" },
    { name: "an answer that is no pod proves nothing", change: "broken", run: json({}), kind: "unanswered" },
  ])("$name", async ({ change, run = PENDING, kind }) => {
    expect(await start({ change, run }).remove()).toMatchObject({ kind });
  });

  it("sends nothing when its reads are too old", async () => {
    const { remove, methods } = start({});

    expect(await remove(() => false)).toMatchObject({ kind: "stale" });
    expect(methods()).toEqual([]);
  });
});

describe("the state of a rejected pod", () => {
  it.each<{ readonly name: string; readonly run: FakeAnswer; readonly rejectionState: string }>([
    { name: "held", run: REJECTED, rejectionState: "held" },
    {
      name: "held, also when another client wrote the annotation again",
      run: pod(PATCH.status),
      rejectionState: "held",
    },
    { name: "without its reason for a moment", run: pod({ phase: "Failed" }), rejectionState: "without-reason" },
    { name: "reverted", run: PENDING, rejectionState: "reverted" },
    { name: "reverted to a pod that runs", run: pod({ phase: "Running" }), rejectionState: "reverted" },
    { name: "gone", run: NOT_FOUND, rejectionState: "gone" },
    {
      name: "gone with another one in its place",
      run: pod({ phase: "Pending" }, { uid: "u2" }),
      rejectionState: "gone",
    },
  ])("is $name", async ({ run, rejectionState }) => {
    expect(await start({ run }).rejectionState()).toBe(rejectionState);
  });

  it.each<{ readonly name: string; readonly run: FakeAnswer }>([
    { name: "the API server is away", run: "broken" },
    { name: "a proxy says 404", run: { status: 404, body: "404 page not found" } },
    { name: "the answer is no pod", run: json({}) },
  ])("is unknown while $name", async ({ run }) => {
    await expect(start({ run }).rejectionState()).rejects.toThrow(MooringError);
  });
});

describe("a pod without a UID", () => {
  it.each([
    { name: "is not rejected", pod: { ...POD, uid: "" }, act: "reject" },
    { name: "is not deleted", pod: { ...POD, uid: "" }, act: "remove" },
    { name: "is not deleted in any state", pod: { ...POD, resourceVersion: "" }, act: "remove" },
  ] as const)("$name: that would be no precondition, and is a bug before anything is sent", async ({ pod, act }) => {
    const transport = createFakeTransport(() => REJECTED);
    const clock = createFakeClock();
    const client = createKubeClient(createFakeConnection(transport), { clock });
    const rejector = createPodRejector({ client, clock });
    const order = { pod, patch: PATCH, mayBeSent: () => true };

    await expect(rejector[act](order, new AbortController().signal)).rejects.toThrow(TypeError);

    expect(transport.requests).toEqual([]);
  });
});
