import { describe, expect, it } from "vitest";
import { createVolumeWriter } from "../../../../aggregator/sinks/volume-writer.ts";
import { json } from "../../../fakes/transport.ts";
import { volumeWith } from "../world.ts";
import { answeredBy, refusal } from "./server.ts";

const { signal } = new AbortController();
const volume = { ...volumeWith(), resourceVersion: "300" };

describe("the marks of a volume", () => {
  it("are set and removed on exactly the volume, in the state, that was decided on", async () => {
    const { counted, transport, ...parts } = answeredBy(json({}));

    const result = await createVolumeWriter(parts)(volume, { mountedOn: undefined, lastUse: "{}" }, signal);

    expect([result, counted]).toEqual([{ kind: "written" }, ["written"]]);
    expect(transport.requests).toMatchObject([
      {
        method: "PATCH",
        path: "/api/v1/persistentvolumes/pv-1/status?fieldManager=mooring-aggregator",
        headers: { "content-type": "application/merge-patch+json" },
      },
    ]);
    const annotations = { "mooring.dev/mounted-on": null, "mooring.dev/last-use": "{}" };
    expect(JSON.parse(transport.requests[0]?.body ?? "")).toEqual({
      metadata: { uid: "volume-1", resourceVersion: "300", annotations },
    });
  });

  it.each([
    ["stale", "has changed", refusal(409, { reason: "Conflict" })],
    ["overloaded", "the server has no time for", refusal(429)],
  ] as const)("are answered %s where it %s", async (kind, _, answer) => {
    const { counted, ...parts } = answeredBy(answer);

    expect((await createVolumeWriter(parts)(volume, { mountedOn: "{}" }, signal)).kind).toBe(kind);
    expect(counted).toEqual([kind]);
  });
});
