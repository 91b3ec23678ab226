import { describe, expect, it } from "vitest";
import { jsonOf } from "../../../cli/claim-json.ts";
import { useOf } from "../../../cli/claim-use.ts";
import { claimOf, HOUR_MS, lastUseOf, NOW_MS, statusOf, unusedFor } from "./claims.ts";

describe("jsonOf", () => {
  it("has every field of a claim that Mooring knows", () => {
    const status = statusOf("Mounted", 2, { mountedOn: { nodes: ["a", "b"], more: true }, lastUse: lastUseOf() });

    const text = jsonOf([useOf(claimOf({ name: "orders", status, upstream: unusedFor(1) }))], NOW_MS);

    expect(JSON.parse(text)).toEqual({
      apiVersion: "cli.mooring.dev/v1",
      kind: "ClaimUseList",
      serverTime: "2026-09-10T00:26:40.000Z",
      items: [
        {
          ...{
            namespace: "shop",
            name: "orders",
            uid: "uid-orders",
            phase: "Bound",
            deleting: false,
            volume: "pv-orders",
          },
          ...{ status: "Mounted", since: "2026-09-09T22:26:40Z", reason: "Mounted", message: "because of Mounted" },
          ...{ evidence: "mount-table", mountedOn: { nodes: ["a", "b"], more: true } },
          lastUse: {
            ...{ node: "node-b", pod: "shop/web-0", podUid: "pod-uid", evidence: "mount-table" },
            ...{ releasedAt: "2026-09-09T23:26:40.000Z", uncertaintyMs: 12 },
          },
          kubernetes: { unused: true, since: "2026-09-09T23:26:40Z" },
          disagrees: true,
        },
      ],
    });
  });

  it("has the same fields, with null, of a claim of which nothing is known", () => {
    const text = jsonOf([useOf(claimOf({ name: "idle", phase: "Pending", volume: undefined }))], undefined);

    expect(JSON.parse(text)).toEqual({
      apiVersion: "cli.mooring.dev/v1",
      kind: "ClaimUseList",
      serverTime: null,
      items: [
        {
          ...{ namespace: "shop", name: "idle", uid: "uid-idle", phase: "Pending", deleting: false, volume: null },
          ...{ status: "NotBound", since: null, reason: null, message: null, evidence: null, mountedOn: null },
          ...{ lastUse: null, kubernetes: null, disagrees: false },
        },
      ],
    });
  });

  it("says null where a use or a condition has left something out", () => {
    const lastUse = lastUseOf({ node: undefined, pod: undefined, podUid: undefined, uncertaintyMs: undefined });
    const upstream = { unused: false, sinceMs: undefined };

    const text = jsonOf(
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

  it("is a list without items when there are no claims", () => {
    expect(JSON.parse(jsonOf([], NOW_MS - HOUR_MS))).toMatchObject({ items: [] });
  });
});
