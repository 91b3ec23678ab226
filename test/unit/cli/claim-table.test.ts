import { describe, expect, it } from "vitest";
import { type TableView, tableOf } from "../../../cli/claim-table.ts";
import { type ClaimUse, useOf } from "../../../cli/claim-use.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import { claimOf, lastUseOf, liveOf, NOW_MS, statusOf, unusedFor } from "./claims.ts";

const narrow: TableView = { withNamespace: false, isWide: false, hasLive: false, nowMs: NOW_MS };
const wide: TableView = { withNamespace: true, isWide: true, hasLive: false, nowMs: NOW_MS };

/** The text in one column of a claim's row. */
function cell(claim: Partial<Claim>, title: string, view: TableView = narrow): string | undefined {
  const { columns, rows } = tableOf([useOf(claimOf({ name: "orders", ...claim }))], view);
  return rows[0]?.[columns.findIndex((column) => column.title === title)]?.text;
}

describe("tableOf", () => {
  it("has the columns that fit into the terminal", () => {
    const { columns } = tableOf([], narrow);

    expect(columns.map(({ title }) => title)).toEqual([
      ...["CLAIM", "STATUS", "SINCE", "EVIDENCE", "NODE", "LAST POD", "KUBERNETES"],
    ]);
  });

  it("has all that is known when it is wide, and shortens nothing", () => {
    const { columns } = tableOf([], wide);

    expect(columns.map(({ title }) => title)).toEqual([
      ...["NAMESPACE", "CLAIM", "STATUS", "SINCE", "EVIDENCE", "NODE", "LAST POD", "KUBERNETES"],
      ...["VOLUME", "CLASS", "SIZE", "REASON", "RELEASED AT", "UNCERTAINTY", "MESSAGE"],
    ]);
    expect(columns.filter(({ shorten }) => shorten !== undefined)).toEqual([]);
  });

  it.each([
    { name: "a bound claim without condition", claim: {}, status: "Not watched" },
    { name: "a pending claim", claim: { phase: "Pending" }, status: "Pending" },
    { name: "a claim without a phase", claim: { phase: "" }, status: "Not bound" },
    {
      name: "a pending claim that is being deleted",
      claim: { phase: "Pending", isDeleting: true },
      status: "Pending (deleting)",
    },
    {
      name: "a mounted claim that is being deleted",
      claim: { status: statusOf("Mounted", 1), isDeleting: true },
      status: "Mounted (deleting)",
    },
    {
      name: "a claim that lost its volume",
      claim: { status: statusOf("Unmounted", 1), phase: "Lost" },
      status: "Unused (lost)",
    },
  ])("shows for $name: $status", ({ claim, status }) => {
    expect(cell(claim, "STATUS")).toBe(status);
  });

  it("shows that only protection keeps a claim that is being deleted", () => {
    const claim = claimOf({ name: "data", status: statusOf("Mounted", 1), isDeleting: true });

    const { rows } = tableOf([{ ...useOf(claim), isDeletionHeld: true }], narrow);

    expect(rows[0]?.map(({ text }) => text)).toContain("Mounted (deleting, kept)");
  });

  it.each([
    { name: "an age", view: narrow, since: "5h" },
    { name: "the time itself when it is wide", view: wide, since: "2026-09-09T19:26:40Z" },
    {
      name: "the time when the server's clock is not known",
      view: { ...narrow, nowMs: undefined },
      since: "2026-09-09T19:26:40Z",
    },
  ])("gives $name", ({ view, since }) => {
    expect(cell({ status: statusOf("Unmounted", 5) }, "SINCE", view)).toBe(since);
  });

  it.each([
    { name: "one node", nodes: ["a"], more: false, short: "a", whole: "a" },
    { name: "several", nodes: ["a", "b", "c"], more: false, short: "a +2", whole: "a,b,c" },
    { name: "more than are known", nodes: ["a", "b"], more: true, short: "a +1…", whole: "a,b,…" },
    { name: "none", nodes: [], more: false, short: "", whole: "" },
  ])("counts nodes: $name", ({ nodes, more, short, whole }) => {
    const status = statusOf("Mounted", 1, { mountedOn: { nodes, more } });

    expect([cell({ status }, "NODE"), cell({ status }, "NODE", wide)]).toEqual([short, whole]);
  });

  it.each([
    {
      name: "drops its domain",
      text: "ip-10-0-14-203.eu-central-1.compute.internal",
      room: 20,
      short: "ip-10-0-14-203",
    },
    {
      name: "loses its middle when that does not do",
      text: "ip-10-0-14-203.internal",
      room: 12,
      short: "ip-10…14-203",
    },
    { name: "that is an address has no domain", text: "10.120.114.203", room: 12, short: "10.12…14.203" },
    { name: "keeps the number of further nodes", text: "node-a.some.where.example +2", room: 12, short: "node-a +2" },
  ])("a node's name that is too long $name", ({ text, room, short }) => {
    const { columns } = tableOf([], narrow);

    expect(columns.find(({ title }) => title === "NODE")?.shorten?.(text, room)).toBe(short);
  });

  it.each([
    { name: "the name of the pod", lastUse: lastUseOf(), pod: "web-0" },
    { name: "its UID where the name is not known", lastUse: lastUseOf({ pod: undefined }), pod: "pod-uid" },
    {
      name: "nothing of a use that went unobserved",
      lastUse: lastUseOf({ pod: undefined, podUid: undefined }),
      pod: "",
    },
    { name: "nothing of a claim without a use", lastUse: undefined, pod: "" },
  ])("shows as last pod $name", ({ lastUse, pod }) => {
    expect(cell({ status: statusOf("Unmounted", 1, { lastUse }) }, "LAST POD")).toBe(pod);
  });

  it("shows no last pod of a mounted claim, which could be taken for the present one", () => {
    expect(cell({ status: statusOf("Mounted", 1, { lastUse: lastUseOf() }) }, "LAST POD")).toBe("");
  });

  it.each([
    { name: "known", widthMs: 12, text: "12ms" },
    { name: "not known", widthMs: undefined, text: "unknown" },
  ])("gives the uncertainty of a release where it is $name", ({ widthMs, text }) => {
    const status = statusOf("Unmounted", 1, { lastUse: lastUseOf({ widthMs }) });

    expect(cell({ status }, "UNCERTAINTY", wide)).toBe(text);
    expect(cell({ status }, "RELEASED AT", wide)).toBe("2026-09-09T23:26:40.000Z");
  });

  it.each([
    { name: "unused", upstream: unusedFor(3), text: "Unused 3h" },
    { name: "in use", upstream: { unused: false, sinceMs: NOW_MS }, text: "In use 0s" },
    { name: "unused without a time", upstream: { unused: true, sinceMs: undefined }, text: "Unused" },
    { name: "nothing", upstream: undefined, text: "" },
  ])("shows Kubernetes' own condition: $name", ({ upstream, text }) => {
    expect(cell({ upstream }, "KUBERNETES")).toBe(text);
  });

  it("marks a claim that is mounted although Kubernetes' condition says unused", () => {
    const claim = claimOf({ name: "orders", status: statusOf("Mounted", 9), upstream: unusedFor(3) });

    const { rows } = tableOf([useOf(claim)], narrow);

    expect(rows[0]?.filter(({ isAlarm }) => isAlarm).map(({ text }) => text)).toEqual([
      "Mounted",
      "Unused 3h STILL MOUNTED",
    ]);
  });
});

describe("a table from the aggregator", () => {
  const [narrowLive, wideLive] = [narrow, wide].map((view) => ({ ...view, hasLive: true }));
  const stale = { node: "node-a.example", state: "Stale", why: "pod-ended" };
  const behind = { node: "node-b", state: "ScanDue", why: "attached" };
  const unreported = { node: "node-c", state: "Unreported", why: "start" };
  const alone = { items: [{ uid: "u1", name: "shop/web-0", gone: false }], omitted: 0 };
  const left = { items: [{ uid: "u2", name: null, gone: true }], omitted: 2 };

  function liveCell(use: Partial<ClaimUse>, title: string, view: TableView | undefined): string | undefined {
    const known = { ...useOf(claimOf({ name: "orders" })), live: liveOf({}), ...use };
    const { columns, rows } = tableOf([known], view ?? narrow);
    return rows[0]?.[columns.findIndex((column) => column.title === title)]?.text;
  }

  it.each([
    {
      name: "one node, and that it is stale",
      items: [stale],
      short: "node-a.example (stale)",
      whole: "node-a.example (stale)",
    },
    {
      name: "the first of several nodes, and all of them in a wide table",
      items: [behind, unreported, stale],
      short: "node-b (scan due) +2",
      whole: "node-b (scan due), node-c (not reported yet), node-a.example (stale)",
    },
  ])("shows the pending nodes of a claim: $name", ({ items, short, whole }) => {
    const use = { isPending: true, live: liveOf({ pendingNodes: { items, omitted: 0 } }) };

    expect(liveCell(use, "PENDING NODES", narrowLive)).toBe(short);
    expect(liveCell(use, "PENDING NODES", wideLive)).toBe(whole);
  });

  it.each([
    { name: "loses its state first", text: "node-a (stale)", room: 12, short: "node-a" },
    { name: "then its domain", text: "node-a.some.where (stale) +2", room: 12, short: "node-a +2" },
    { name: "is complete where it fits", text: "node-a (stale)", room: 15, short: "node-a (stale)" },
  ])("a node that is waited for $name", ({ text, room, short }) => {
    const waits = { ...useOf(claimOf({ name: "a" })), isPending: true };
    const { columns } = tableOf([waits], narrow);

    expect(columns.find(({ title }) => title === "PENDING NODES")?.shorten?.(text, room)).toBe(short);
  });

  it("counts the nodes that the aggregator has left out, too", () => {
    const use = { isPending: true, live: liveOf({ pendingNodes: { items: [stale, behind], omitted: 30 } }) };

    expect(liveCell(use, "PENDING NODES", narrowLive)).toBe("node-a.example (stale) +31");
    expect(liveCell(use, "PENDING NODES", wideLive)).toBe("node-a.example (stale), node-b (scan due), +30");
  });

  it.each([
    { name: "for the watch of pods alone", items: [], short: "pods not watched" },
    { name: "for a node as well", items: [stale], short: "node-a.example (stale)" },
  ])("shows that a claim waits $name", ({ items, short }) => {
    const use = { isPending: true, live: liveOf({ pendingNodes: { items, omitted: 0 }, podsUnwatched: true }) };

    expect(liveCell(use, "PENDING NODES", narrowLive)).toBe(short);
    expect(liveCell(use, "PENDING NODES", wideLive)).toBe(short);
  });

  it("has no column for waiting while no claim waits", () => {
    const use = { live: liveOf({ pendingNodes: { items: [stale], omitted: 0 } }) };

    expect(liveCell(use, "PENDING NODES", narrowLive)).toBeUndefined();
  });

  it("shows no waiting for a claim that does not wait, beside one that does", () => {
    const waits = {
      ...useOf(claimOf({ name: "a" })),
      isPending: true,
      live: liveOf({ pendingNodes: { items: [stale], omitted: 0 } }),
    };
    const rests = { ...useOf(claimOf({ name: "b" })), live: liveOf({ pendingNodes: { items: [stale], omitted: 0 } }) };

    const { rows } = tableOf([waits, rests], narrow);

    expect(rows.map((row) => row.at(-1)?.text)).toEqual(["node-a.example (stale)", ""]);
  });

  it("names in a wide table the nodes and pods of a claim, its references and where it is staged", () => {
    const live = liveOf({
      mountedOn: {
        items: [
          { node: "node-a", state: "Reporting", pods: alone },
          { node: "node-b", state: "Stale", pods: left },
        ],
        omitted: 0,
      },
      references: { items: [{ pod: "shop/web-0", node: "node-a" }], omitted: 0 },
      stagedOn: { items: [{ node: "node-b", state: "Stale" }], omitted: 1 },
    });

    expect(liveCell({ live }, "MOUNTED BY", wideLive)).toBe("node-a: shop/web-0, node-b (stale): u2 (gone), +2");
    expect(liveCell({ live }, "REFERRED TO BY", wideLive)).toBe("shop/web-0");
    expect(liveCell({ live }, "STAGED ON", wideLive)).toBe("node-b (stale), +1");
    expect(liveCell({ live }, "MOUNTED BY", narrowLive)).toBeUndefined();
  });

  it.each([
    { name: "are counted", nodes: ["a", "b"], omittedNodes: 7, short: "a +8", whole: "a,b,+7" },
    { name: "are some", nodes: ["a", "b"], omittedNodes: "some" as const, short: "a +1…", whole: "a,b,…" },
  ])("nodes that were left out $name", ({ nodes, omittedNodes, short, whole }) => {
    expect(liveCell({ nodes, omittedNodes }, "NODE", narrowLive)).toBe(short);
    expect(liveCell({ nodes, omittedNodes }, "NODE", wideLive)).toBe(whole);
  });
});
