import { describe, expect, it } from "vitest";
import { FactIndex } from "../../../../aggregator/core/fact-index.ts";
import { nodeMountedVolume, nodeUnmountRecord, viewWith } from "../world.ts";
import { countedRecords } from "./evidence.ts";

const WANTED = [{ by: "name", name: "pv-7" }] as const;

function near(count: number): readonly [mounts: number, records: number] {
  const names = Array.from({ length: count }, (_, index) => `pv-${index}`);
  const mountedVolumes = names.map((name) => nodeMountedVolume("pod-1", name));
  const unmountRecords = new Map(names.map((name) => [name, nodeUnmountRecord({ volume: { by: "name", name } })]));
  const found = new FactIndex().near(viewWith({ mountedVolumes, unmountRecords }), WANTED);
  return [found.mountedVolumes.length, found.unmountRecords.length];
}

describe("what a node shows near a volume", () => {
  it.each([
    { name: "everything, of a node with few mounts", count: 64, found: [64, 64] },
    { name: "just the volume's, of a node with more", count: 65, found: [1, 1] },
  ])("is $name", ({ count, found }) => {
    expect(near(count)).toEqual(found);
  });

  it("takes one look at each unmount record, however many claims ask for theirs", () => {
    const index = new FactIndex();
    const { unmountRecords, looks } = countedRecords(1_000);
    const view = viewWith({ unmountRecords });
    const nearOf = (at: number) => index.near(view, [{ by: "name", name: `pv-${at}` }]).unmountRecords;

    const found = Array.from({ length: 1_000 }, (_, at) => nearOf(at)[0]?.id);

    expect(found).toEqual([...unmountRecords.keys()]);
    expect(looks()).toBe(1_000);
  });
});
