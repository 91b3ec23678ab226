import { describe, expect, it } from "vitest";
import { jsonOf } from "../../../cli/claim-json.ts";
import type { ClaimUse } from "../../../cli/claim-use.ts";
import { useOf } from "../../../cli/claim-use.ts";
import { claimOf, HOUR_MS, lastUseOf, liveOf, NOW_MS, statusOf, unusedFor } from "./claims.ts";

function jsonWith(uses: readonly ClaimUse[], nowMs: number | undefined): string {
  return jsonOf({ uses, nowMs, source: { kind: "api-server", server: "https://api:6443", unused: undefined } });
}

const source = { kind: "api-server", url: "https://api:6443", cluster: null };

describe("jsonOf", () => {
  it("has every field of a claim that Mooring knows", () => {
    const status = statusOf("Mounted", 2, { mountedOn: { nodes: ["a", "b"], more: true }, lastUse: lastUseOf() });

    const text = jsonWith([useOf(claimOf({ name: "orders", status, upstream: unusedFor(1) }))], NOW_MS);

    expect(JSON.parse(text)).toEqual({
      apiVersion: "cli.mooring.dev/v1",
      kind: "ClaimUseList",
      serverTime: "2026-09-10T00:26:40.000Z",
      ...{ source, nodes: null },
      items: [
        {
          ...{
            namespace: "shop",
            name: "orders",
            uid: "uid-orders",
            phase: "Bound",
            deleting: false,
            deletionHeld: null,
            volume: "pv-orders",
            storageClass: "fast",
            capacity: "10Gi",
          },
          ...{ status: "Mounted", since: "2026-09-09T22:26:40Z", reason: "Mounted", message: "because of Mounted" },
          ...{ evidence: "mount-table", mountedOn: { nodes: ["a", "b"], more: true } },
          lastUse: {
            ...{ node: "node-b", pod: "shop/web-0", podUid: "pod-uid", evidence: "mount-table" },
            ...{ releasedAt: "2026-09-09T23:26:40.000Z", uncertaintyMs: 12 },
          },
          kubernetes: { unused: true, since: "2026-09-09T23:26:40Z" },
          ...{ blindGap: null, unusedWhileMounted: true, pending: null, live: null },
        },
      ],
    });
  });

  it("contains the gap", () => {
    const gap = { fromMs: NOW_MS - 60_000, toMs: NOW_MS - 30_000 };
    const status = { ...statusOf("NoPodUsing", 0), sinceMs: NOW_MS - 30_000, gap };

    const { items } = JSON.parse(jsonWith([useOf(claimOf({ name: "idle", status }))], undefined));

    expect(items).toMatchObject([
      { evidence: "unwatched", blindGap: { from: "2026-09-10T00:25:40.000Z", to: "2026-09-10T00:26:10.000Z" } },
    ]);
  });

  it("has the same fields, with null, of a claim of which nothing is known", () => {
    const text = jsonWith(
      [useOf(claimOf({ name: "idle", phase: "Pending", volume: undefined, capacity: undefined }))],
      undefined,
    );

    expect(JSON.parse(text)).toEqual({
      apiVersion: "cli.mooring.dev/v1",
      kind: "ClaimUseList",
      serverTime: null,
      ...{ source, nodes: null },
      items: [
        {
          ...{
            namespace: "shop",
            name: "idle",
            uid: "uid-idle",
            phase: "Pending",
            deleting: false,
            deletionHeld: null,
            volume: null,
          },
          ...{ storageClass: "fast", capacity: null },
          ...{ status: "NotBound", since: null, reason: null, message: null, evidence: null, mountedOn: null },
          ...{ lastUse: null, blindGap: null, kubernetes: null, unusedWhileMounted: false, pending: null, live: null },
        },
      ],
    });
  });

  it("has null where a use or a condition has no value", () => {
    const lastUse = lastUseOf({ node: undefined, pod: undefined, podUid: undefined, widthMs: undefined });
    const upstream = { unused: false, sinceMs: undefined };

    const text = jsonWith(
      [useOf(claimOf({ name: "a", status: statusOf("NodeGone", 1, { lastUse }), upstream }))],
      NOW_MS,
    );

    expect(JSON.parse(text)).toMatchObject({
      items: [
        {
          lastUse: { node: null, pod: null, podUid: null, uncertaintyMs: null },
          kubernetes: { unused: false, since: null },
          mountedOn: null,
        },
      ],
    });
  });

  it("contains the aggregator's facts and its address", () => {
    const live = {
      ...liveOf({}),
      pendingNodes: { items: [{ node: "n1", state: "Stale", why: "pod-ended" }], omitted: 3 },
    };
    const nodes = { total: 9, stale: 1, unreported: 0 };
    const use = { ...useOf(claimOf({ name: "orders" })), live, isPending: true };

    const text = jsonOf({
      uses: [use],
      nowMs: NOW_MS,
      source: { kind: "aggregator", url: "http://127.0.0.1:9809", cluster: "c1", nodes },
    });

    expect(JSON.parse(text)).toMatchObject({
      source: { kind: "aggregator", url: "http://127.0.0.1:9809", cluster: "c1" },
      nodes,
      items: [{ pending: true, live }],
    });
  });

  it("is a list without items when there are no claims", () => {
    expect(JSON.parse(jsonWith([], NOW_MS - HOUR_MS))).toMatchObject({ items: [] });
  });
});
