import { describe, expect, it } from "vitest";
import { volumeRemovalFrom } from "../../../../cli/uninstall/volume-traces.ts";

function volume(annotations: unknown): object {
  return { metadata: { name: "pv-1", uid: "u1", resourceVersion: "7", annotations } };
}

describe("volumeRemovalFrom", () => {
  it.each([
    { name: "a volume without annotations", annotations: undefined },
    { name: "a volume whose annotations are null", annotations: null },
    {
      name: "a volume with other people's annotations",
      annotations: { "pv.kubernetes.io/bound-by-controller": "yes" },
    },
    { name: "an override, which is its administrator's", annotations: { "mooring.dev/force-release": "x" } },
  ])("leaves $name alone", ({ annotations }) => {
    expect(volumeRemovalFrom(volume(annotations))).toBeUndefined();
  });

  it.each([
    {
      name: "the mark",
      annotations: { "mooring.dev/mounted-on": "{}", "a.b/c": "d" },
      removed: { "mooring.dev/mounted-on": null },
    },
    {
      name: "both annotations",
      annotations: { "mooring.dev/mounted-on": "", "mooring.dev/last-use": "{}" },
      removed: { "mooring.dev/mounted-on": null, "mooring.dev/last-use": null },
    },
  ])("removes $name from exactly the volume and state that was seen", ({ annotations, removed }) => {
    expect(volumeRemovalFrom(volume(annotations))).toEqual({
      volume: "pv-1",
      path: "/api/v1/persistentvolumes/pv-1/status",
      body: { metadata: { uid: "u1", resourceVersion: "7", annotations: removed } },
    });
  });
});
