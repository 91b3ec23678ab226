import { describe, expect, it } from "vitest";
import { volumesJson } from "../../../cli/volume-json.ts";
import { volumeNotices } from "../../../cli/volume-notices.ts";
import type { VolumeListing } from "../../../cli/volume-source.ts";
import { lastUseOf, NOW_MS } from "./claims.ts";
import { volumeOfHours } from "./volumes.ts";

const api = { kind: "api-server", server: "https://api:6443", unused: undefined } as const;
const listing: VolumeListing = { items: [volumeOfHours(1)], nowMs: NOW_MS, source: api, missing: [] };
const view = { isWide: false, isFiltered: false };

describe("volumeNotices", () => {
  it.each([
    { name: "nothing where the list is complete", change: {}, said: [] },
    { name: "that there is none", change: { items: [] }, said: ["No volumes."] },
    {
      name: "what may not be read",
      change: { missing: ["volumeattachments"] },
      said: ['You lack the right "list volumeattachments": what they would say is missing.'],
    },
    {
      name: "an aggregator that was asked for and not used",
      change: { source: { ...api, unused: { url: "http://a", why: "connection refused" } } },
      said: [
        "The aggregator http://a was not used: connection refused.",
        "What is mounted is what stands on the claims; a node that unmounted a volume may still be named.",
      ],
    },
    {
      name: "stale nodes",
      change: {
        source: {
          kind: "aggregator" as const,
          url: "http://a",
          cluster: "c1",
          nodes: { total: 3, stale: 1, unreported: 0 },
        },
      },
      said: ["1 of 3 nodes is stale: what it reported last may be over."],
    },
    {
      name: "volumes that are mounted without a claim, last of all",
      change: { items: [volumeOfHours(1, { mountedOn: { items: ["n1"], omitted: 0 } })] },
      said: ["1 volume is mounted although no claim is bound to it; do not delete."],
    },
    {
      name: "no bound volume that is mounted",
      change: { items: [volumeOfHours(1, { phase: "Bound", mountedOn: { items: ["n1"], omitted: 0 } })] },
      said: [],
    },
  ])("mention $name", ({ change, said }) => {
    expect(volumeNotices({ ...listing, ...change }, view)).toEqual(said);
  });

  it("mention that no volume matches the filter, and in a wide table the source", () => {
    expect(volumeNotices({ ...listing, items: [] }, { isWide: true, isFiltered: true })).toEqual([
      "No volume is as you asked for.",
      "Read from the API server https://api:6443.",
    ]);
  });
});

describe("volumesJson", () => {
  it("has every field, and null for what is not known", () => {
    const known = volumeOfHours(1, { lastUse: lastUseOf(), mountedOn: { items: ["n1"], omitted: 3 } });
    const none = { storageClass: undefined, capacity: undefined, reclaimPolicy: undefined, driver: undefined };
    const unknown = volumeOfHours(0, { ...none, since: undefined, claim: undefined, attachedTo: undefined });

    const { items, ...head } = JSON.parse(volumesJson({ ...listing, items: [known, unknown] }));

    expect(head).toMatchObject({ apiVersion: "cli.mooring.dev/v1", kind: "VolumeViewList", nodes: null });
    expect(items[0]).toMatchObject({
      ...{ phase: "Released", phaseSince: "2026-09-09T23:26:40Z", phaseSinceFrom: "api", stagedOn: null },
      ...{ mountedOn: { nodes: ["n1"], more: true }, attachedTo: { nodes: [], more: false } },
      lastUse: { pod: "shop/web-0", node: "node-b", evidence: "mount-table" },
    });
    expect(items[1]).toMatchObject({
      ...{ phaseSince: null, phaseSinceFrom: null, storageClass: null, capacity: null, reclaimPolicy: null },
      ...{ driver: null, claim: null, attachedTo: null, lastUse: null },
    });
    expect(Object.keys(items[0])).toEqual(Object.keys(items[1]));
  });
});
