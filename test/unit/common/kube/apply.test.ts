import { describe, expect, it } from "vitest";
import { applyObject, patchObject, type WriteTarget } from "../../../../common/kube/apply.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../../fakes/transport.ts";

const never = new AbortController().signal;
const CLAIM = "/api/v1/namespaces/default/persistentvolumeclaims/data";
const target: WriteTarget = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  path: CLAIM,
  namespace: "default",
  name: "data",
  uid: "uid-1",
  resourceVersion: "7",
};
const named = { name: "data", kind: "persistentvolumeclaims" };

function setUp(answer: FakeAnswer) {
  const transport = createFakeTransport(inTurn(answer));
  return { client: createKubeClient(createFakeConnection(transport), { clock: createFakeClock() }), transport };
}

function refusal(code: number, status: Readonly<Record<string, unknown>> = {}): FakeAnswer {
  return json({ kind: "Status", code, message: "no", details: named, ...status }, code);
}

function apply(answer: FakeAnswer, more: Partial<WriteTarget> = {}) {
  const { client, transport } = setUp(answer);
  const fields = { metadata: { annotations: { a: "b" }, uid: "forged" }, status: { phase: "Bound" } };
  const options = { fieldManager: "me", force: true };
  return { done: applyObject(client, { target: { ...target, ...more }, fields, options }, never), transport };
}

describe("a server-side apply", () => {
  it("names exactly the object and the state that it was decided for", async () => {
    const { done, transport } = apply(json({ metadata: { name: "data" } }), { subresource: "status" });

    expect(await done).toEqual({ kind: "applied", object: { metadata: { name: "data" } } });
    expect(transport.requests).toMatchObject([
      {
        method: "PATCH",
        path: `${CLAIM}/status?fieldManager=me&force=true`,
        headers: { "content-type": "application/apply-patch+yaml" },
      },
    ]);
    expect(JSON.parse(transport.requests[0]?.body ?? "")).toEqual({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { namespace: "default", name: "data", uid: "uid-1", resourceVersion: "7", annotations: { a: "b" } },
      status: { phase: "Bound" },
    });
  });

  it("applies to any state without a resource version, and forces no field unless told to", async () => {
    const { client, transport } = setUp(json({}));
    const { resourceVersion: _, ...anyState } = target;

    await applyObject(client, { target: anyState, fields: {}, options: { fieldManager: "me", force: false } }, never);

    expect(transport.requests[0]?.path).toBe(`${CLAIM}?fieldManager=me`);
    expect(JSON.parse(transport.requests[0]?.body ?? "").metadata).toEqual({
      namespace: "default",
      name: "data",
      uid: "uid-1",
    });
  });

  it.each([
    { name: "an empty UID", more: { uid: "" } },
    { name: "an empty resource version", more: { resourceVersion: "" } },
  ])("is a bug with $name: it would create an object, or overwrite any state", ({ more }) => {
    expect(() => apply(json({}), more)).toThrow(TypeError);
  });
});

describe("a merge patch", () => {
  it("names exactly the object and the state that it was decided for", async () => {
    const { client, transport } = setUp(json({}));
    const patch = { metadata: { annotations: { a: null } } };

    const outcome = await patchObject(client, { target, patch, fieldManager: "me" }, never);

    expect(outcome.kind).toBe("applied");
    expect(transport.requests).toMatchObject([
      {
        path: `${CLAIM}?fieldManager=me`,
        headers: { "content-type": "application/merge-patch+json" },
        body: JSON.stringify({
          metadata: { annotations: { a: null }, namespace: "default", uid: "uid-1", resourceVersion: "7" },
        }),
      },
    ]);
  });
});

const otherUid = {
  reason: "Invalid",
  details: { ...named, causes: [{ field: "metadata.uid", reason: "FieldValueInvalid" }] },
};
const owned = { reason: "Conflict", details: { causes: [{ reason: "FieldManagerConflict", field: ".status" }] } };
const absent = 'on claims "data": uid mismatch: the provided object specified uid u, and no existing object was found';

describe("the outcome of a write", () => {
  it.each([
    { name: "another state: a conflict", answer: refusal(409, { reason: "Conflict" }), kind: "conflict" },
    { name: "a 409 of a proxy: a conflict", answer: { status: 409, body: "<html>" }, kind: "conflict" },
    {
      name: "no object, in an apply: gone",
      answer: refusal(409, { reason: "Conflict", message: absent }),
      kind: "gone",
    },
    { name: "another UID: gone", answer: refusal(422, otherUid), kind: "gone" },
    { name: "no object: gone", answer: refusal(404, { reason: "NotFound" }), kind: "gone" },
    { name: "an invalid body: refused", answer: refusal(422, { reason: "Invalid" }), kind: "refused" },
    { name: "a body that is not understood: refused", answer: refusal(400, { reason: "BadRequest" }), kind: "refused" },
    { name: "too large: refused", answer: refusal(413, { reason: "RequestEntityTooLarge" }), kind: "refused" },
    {
      name: "a policy: refused",
      answer: refusal(403, { reason: "Forbidden", message: 'claims "data" is forbidden: ValidatingAdmissionPolicy' }),
      kind: "refused",
    },
    {
      name: "a quota: refused",
      answer: refusal(403, {
        reason: "Forbidden",
        message:
          'persistentvolumeclaims "data" is forbidden: exceeded quota: few, requested: count/x=1, used: count/x=9',
      }),
      kind: "refused",
    },
    { name: "a field of another manager: refused", answer: refusal(409, owned), kind: "refused" },
  ])("$name", async ({ answer, kind }) => {
    expect(await apply(answer).done).toMatchObject({ kind, message: expect.stringContaining("answered") });
  });

  it.each([
    {
      name: "no role allows it",
      answer: refusal(403, { reason: "Forbidden", message: 'x: User "a" cannot patch resource "c"' }),
    },
    { name: "a proxy forbids it", answer: { status: 403, body: "<html>forbidden</html>" } },
    { name: "the token is not valid", answer: refusal(401, { reason: "Unauthorized" }) },
    { name: "the server is overloaded", answer: refusal(429, { reason: "TooManyRequests" }) },
    { name: "the server fails", answer: refusal(500, { reason: "InternalError" }) },
    { name: "the API is not served", answer: { status: 404, body: "404 page not found" } },
    { name: "the resource is not served", answer: refusal(404, { reason: "NotFound", details: {} }) },
    { name: "the connection breaks", answer: "broken" },
  ] as const)("is thrown, to be tried again, when $name", async ({ answer }) => {
    await expect(apply(answer).done).rejects.toMatchObject({ name: "MooringError", retriable: true });
  });

  it("is thrown for good when the answer leads elsewhere", async () => {
    await expect(apply({ status: 302 }).done).rejects.toMatchObject({ status: 302, retriable: false });
  });
});
