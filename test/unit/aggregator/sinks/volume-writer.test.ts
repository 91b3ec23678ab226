import { describe, expect, it } from "vitest";
import { createVolumeWriter } from "../../../../aggregator/sinks/volume-writer.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { volumeWith } from "../world.ts";

const { signal } = new AbortController();
const volume = { ...volumeWith(), resourceVersion: "300" };

function setUp(answer: FakeAnswer) {
  const transport = createFakeTransport(() => answer);
  const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
  const counted: string[] = [];
  const writes = { increment: ({ outcome }: { readonly outcome: string }) => void counted.push(outcome) };
  return { write: createVolumeWriter({ client, writes }), counted, transport };
}

function refusal(code: number, status: object = {}): FakeAnswer {
  const details = { name: "pv-1", kind: "persistentvolumes" };
  return json({ kind: "Status", status: "Failure", message: "no", code, details, ...status }, code);
}

describe("createVolumeWriter", () => {
  it.each([
    { name: "sets one", changes: { mountedOn: "{}" }, annotations: { "mooring.dev/mounted-on": "{}" } },
    {
      name: "removes one and sets the other",
      changes: { mountedOn: undefined, lastUse: "{}" },
      annotations: { "mooring.dev/mounted-on": null, "mooring.dev/last-use": "{}" },
    },
  ])("$name of exactly the volume, in the state, that was decided on", async ({ changes, annotations }) => {
    const { write, counted, transport } = setUp(json({}));

    const result = await write(volume, changes, signal);

    expect([result, counted]).toEqual([{ kind: "written" }, ["written"]]);
    const [request] = transport.requests;
    expect(request).toMatchObject({
      method: "PATCH",
      path: "/api/v1/persistentvolumes/pv-1/status?fieldManager=mooring-aggregator",
      headers: { "content-type": "application/merge-patch+json" },
    });
    expect(JSON.parse(request?.body ?? "")).toEqual({
      metadata: { uid: "volume-1", resourceVersion: "300", annotations },
    });
  });

  it.each([
    { name: "has changed", answer: refusal(409, { reason: "Conflict" }), kind: "stale" },
    { name: "the server has no time for", answer: refusal(429), kind: "overloaded" },
  ])("answers $kind for a volume that $name", async ({ answer, kind }) => {
    const { write, counted } = setUp(answer);

    expect((await write(volume, { mountedOn: "{}" }, signal)).kind).toBe(kind);
    expect(counted).toEqual([kind]);
  });
});
