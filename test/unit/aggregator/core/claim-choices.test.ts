import { describe, expect, it } from "vitest";
import { endMessage } from "../../../../aggregator/core/claim-messages.ts";
import { endOf } from "../../../../aggregator/core/use-end.ts";
import type { MountedOn } from "../../../../common/storage/claim-status.ts";
import { mountedStatus, NOON, statusWith } from "../world.ts";
import { desiredClaimStatus, endWith, factsWith, lastUseWith, NOW } from "./decisions.ts";

describe("of several ends", () => {
  const ends = [1, 2, 3].map((second) => endWith({ id: `release-${second}`, byMs: NOON + second * 1_000 }));

  it.each([
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ])("the latest decides in whatever order they come (%i %i %i)", (...order) => {
    const inOrder = order.flatMap((index) => ends[index] ?? []);

    const status = desiredClaimStatus(factsWith({ stored: statusWith({ sinceMs: NOON - 9_000 }), ends: inOrder }));

    expect(status).toMatchObject({ sinceMs: NOON + 3_000, lastUse: { releaseId: "release-3" } });
  });

  it("that were at once the name decides, not the order", () => {
    const [one, other] = [endWith({ id: "release-a" }), endWith({ id: "release-b", pod: "shop/web-b" })];
    const stored = statusWith({ sinceMs: NOON - 9_000 });

    const forth = desiredClaimStatus(factsWith({ stored, ends: [one, other] }));
    const back = desiredClaimStatus(factsWith({ stored, ends: [other, one] }));

    expect(forth).toMatchObject({ lastUse: { releaseId: "release-b" } });
    expect(forth?.message).toContain("shop/web-b");
    expect(back).toEqual(forth);
  });

  it("that were at once the message tells of the one that is named as the last use, though it was stored before", () => {
    const lastUse = lastUseWith({ releaseId: "release-z", releasedAtMs: NOON + 1_000 });
    const stored = statusWith({ sinceMs: NOON - 9_000, lastUse });

    const status = desiredClaimStatus(factsWith({ stored, ends: [endWith({ id: "release-a" })] }));

    expect(status).toMatchObject({ lastUse: { releaseId: "release-z" }, message: endMessage(endOf(lastUse)) });
  });

  it("one of the node that is back is enough to know how a use ended that was assumed with it", () => {
    const lastUse = lastUseWith({ evidence: "node-gone" });
    const stored = statusWith({ unused: true, reason: "NodeGone", lastUse });
    const told = [endWith({ byMs: NOON + 5_000 }), endWith({ id: "release-2", node: "n2", byMs: NOON })];

    const status = desiredClaimStatus(factsWith({ stored, isNodeBack: true, ends: told }));

    expect(status).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 5_000 });
  });

  it.each([
    { name: "an earlier end of another pod", end: { podUid: "pod-0", byMs: NOON - 1 }, sinceMs: NOW, explains: false },
    { name: "an earlier end of the same pod", end: { byMs: NOON - 1 }, sinceMs: NOON, explains: true },
    { name: "a later end of another pod", end: { podUid: "pod-0" }, sinceMs: NOON + 1_000, explains: true },
    { name: "the first scan of an agent", end: { podUid: undefined, byMs: NOON - 1 }, sinceMs: NOON, explains: true },
  ])("$name on the node that is back tells how a use ended that was assumed with it: $explains", (row) => {
    const lastUse = lastUseWith({ evidence: "node-gone", podUid: "pod-1", releasedAtMs: NOON });
    const stored = statusWith({ unused: true, reason: "NodeGone", sinceMs: NOON, lastUse });

    const status = desiredClaimStatus(factsWith({ stored, isNodeBack: true, ends: [endWith(row.end)] }));

    expect(status).toMatchObject({ unused: true, sinceMs: row.sinceMs });
    expect(status?.reason).toBe(row.explains ? "Unmounted" : "NoPodUsing");
  });
});

describe("a later user that is learnt of a claim that counts as unused", () => {
  it("takes the place of one that was known from its pod only, and the time stays", () => {
    const lastUse = lastUseWith({ evidence: "pod-status" });
    const told = { reason: "NoPodUsing", message: endMessage(endOf(lastUse)), sinceMs: lastUse.releasedAtMs } as const;
    const stored = statusWith({ unused: true, ...told, lastUse });
    const end = endWith({ byMs: lastUse.releasedAtMs });

    const status = desiredClaimStatus(factsWith({ stored, ends: [end] }));

    expect(status).toMatchObject({ reason: "NoPodUsing", sinceMs: end.byMs, lastUse: { releaseId: "release-1" } });
    expect(status?.message).toContain("unmounted between");
  });

  it("is told beside a time that a pod left which had not used it", () => {
    const lastUse = lastUseWith({ evidence: "pod-status" });
    const told = { reason: "NoPodUsing", sinceMs: NOON + 60_000 } as const;
    const stored = statusWith({ unused: true, ...told, lastUse });

    const status = desiredClaimStatus(factsWith({ stored, ends: [endWith({ byMs: NOON + 50_000 })] }));

    expect(status).toMatchObject({ ...told, lastUse: { releaseId: "release-1" } });
  });
});

describe("the nodes that are written of a mounted claim", () => {
  const many = Array.from({ length: 33 }, (_, index) => `n${index + 10}`);

  it.each<{
    readonly name: string;
    readonly known: MountedOn;
    readonly holders: readonly string[];
    readonly pendingNodes?: string;
    readonly written: MountedOn;
  }>([
    {
      name: "are in order",
      known: { nodes: ["n1"], more: false },
      holders: ["n3", "n2"],
      written: { nodes: ["n2", "n3"], more: false },
    },
    {
      name: "become too many to keep",
      known: { nodes: ["n10"], more: false },
      holders: many,
      written: { nodes: many.slice(0, 32), more: true },
    },
    {
      name: "stay as they are where they were too many and a node has not told yet",
      known: { nodes: ["n1"], more: true },
      holders: ["n9"],
      pendingNodes: "n5",
      written: { nodes: ["n1"], more: true },
    },
    {
      name: "are known again once every node has told",
      known: { nodes: ["n1"], more: true },
      holders: ["n9"],
      written: { nodes: ["n9"], more: false },
    },
  ])("$name", ({ known, holders, pendingNodes, written }) => {
    const asked =
      pendingNodes === undefined ? [] : [{ node: pendingNodes, isSilent: false, why: "was-mounted" } as const];
    const stored = mountedStatus([], { mountedOn: known });

    const status = desiredClaimStatus(factsWith({ stored, holders, pendingNodes: asked }));

    expect(status?.mountedOn).toEqual(written);
  });
});

describe("the message while a node is awaited where a pod ended", () => {
  const stored = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON });
  const pendingNodes = { node: "n1", why: "pod-ended", pod: "shop/web-7" } as const;

  it("names the pod while the node may still tell", () => {
    const status = desiredClaimStatus(factsWith({ stored, pendingNodes: [{ ...pendingNodes, isSilent: false }] }));

    expect(status).toMatchObject({ unused: false, reason: "Referenced", sinceMs: NOW });
    expect(status?.message).toContain("shop/web-7");
  });

  it("is another one when the node is Stale, and names it", () => {
    const waiting = desiredClaimStatus(factsWith({ stored, pendingNodes: [{ ...pendingNodes, isSilent: false }] }));
    const silent = desiredClaimStatus(factsWith({ stored, pendingNodes: [{ ...pendingNodes, isSilent: true }] }));

    expect(silent?.message).toContain("n1");
    expect(silent?.message).not.toBe(waiting?.message);
  });
});

describe("the message of a mounted claim", () => {
  it("says whether a pod names it still", () => {
    const named = desiredClaimStatus(factsWith({ holders: ["n1"], references: ["shop/web-0"] }));
    const left = desiredClaimStatus(factsWith({ holders: ["n1"] }));

    expect(named?.message).not.toBe(left?.message);
  });
});
