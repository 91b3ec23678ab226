import { describe, expect, it } from "vitest";
import type { NodeWords } from "../../../aggregator/core/list-items.ts";
import { volumeItem } from "../../../aggregator/core/volume-list.ts";
import { decodeVolumesPage } from "../../../cli/volume-answer.ts";
import { volumeWith } from "../aggregator/world.ts";
import { NOW_MS } from "./claims.ts";

const HEAD = {
  ...{ apiVersion: "api.mooring.dev/v1", kind: "VolumeList", cluster: "c1", synced: true, continue: null },
  serverTime: "2026-09-10T00:26:40.000Z",
  nodes: { total: 1, silent: 0, unheard: 0 },
};
const WORDS: NodeWords = {
  stateOf: () => "agent",
  isKnown: () => true,
  podName: () => "shop/web-0",
  isPodThere: () => true,
};

/** An item as the aggregator makes it. */
function item(): object {
  const sight = {
    volume: volumeWith({ phase: "Released" }),
    phaseSince: { ms: NOW_MS, from: "first-seen" },
    use: { held: [{ node: "n1", pods: [] }], staged: ["n2"] },
    references: [],
    attached: ["n3"],
    idleSince: () => undefined,
    nowMs: NOW_MS,
  } as const;
  return JSON.parse(JSON.stringify(volumeItem(sight, WORDS)));
}

describe("decodeVolumesPage", () => {
  it("reads what the aggregator answers", () => {
    const page = decodeVolumesPage({ ...HEAD, items: [item()] });

    expect(page?.items).toEqual([
      {
        ...{ name: "pv-1", uid: "volume-1", phase: "Released", since: { ms: NOW_MS, from: "first-seen" } },
        ...{ storageClass: "fast", capacity: "10Gi", reclaimPolicy: "Delete", driver: undefined },
        claim: { namespace: "shop", name: "data", uid: "claim-1" },
        ...{ mountedOn: { items: ["n1"], omitted: 0 }, stagedOn: { items: ["n2"], omitted: 0 } },
        ...{ attachedTo: { items: ["n3"], omitted: 0 }, lastUse: undefined },
      },
    ]);
  });

  it("reads an answer of an aggregator that does not say what a time is known from", () => {
    const { phaseSinceFrom: _, ...earlier } = { phaseSinceFrom: undefined, ...item() };

    expect(decodeVolumesPage({ ...HEAD, items: [earlier] })?.items[0]?.since).toEqual({ ms: NOW_MS, from: "api" });
  });

  it.each([
    { name: "a list of something else", body: { ...HEAD, kind: "ClaimList", items: [] } },
    { name: "an item that is none", body: { ...HEAD, items: [item(), {}] } },
    { name: "no list", body: [] },
  ])("takes $name for no answer", ({ body }) => {
    expect(decodeVolumesPage(body)).toBeUndefined();
  });
});
