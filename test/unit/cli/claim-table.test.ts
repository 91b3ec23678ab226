import { describe, expect, it } from "vitest";
import { type TableView, tableOf } from "../../../cli/claim-table.ts";
import { useOf } from "../../../cli/claim-use.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import { claimOf, lastUseOf, NOW_MS, statusOf, unusedFor } from "./claims.ts";

const narrow: TableView = { withNamespace: false, isWide: false, nowMs: NOW_MS };
const wide: TableView = { withNamespace: true, isWide: true, nowMs: NOW_MS };

/** The text in one column of a claim's row. */
function cell(claim: Partial<Claim>, title: string, view: TableView = narrow): string | undefined {
  const { columns, rows } = tableOf([useOf(claimOf({ name: "orders", ...claim }))], view);
  return rows[0]?.[columns.findIndex((column) => column.title === title)]?.text;
}

describe("tableOf", () => {
  it("has the columns that a terminal has room for", () => {
    const { columns } = tableOf([], narrow);

    expect(columns.map(({ title }) => title)).toEqual([
      ...["CLAIM", "STATUS", "SINCE", "EVIDENCE", "NODE", "LAST POD", "KUBERNETES"],
    ]);
  });

  it("has all that is known when it is wide, and shortens nothing", () => {
    const { columns } = tableOf([], wide);

    expect(columns.map(({ title }) => title)).toEqual([
      ...["NAMESPACE", "CLAIM", "STATUS", "SINCE", "EVIDENCE", "NODE", "LAST POD", "KUBERNETES"],
      ...["VOLUME", "REASON", "RELEASED AT", "UNCERTAINTY", "MESSAGE"],
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
  ])("says of $name: $status", ({ claim, status }) => {
    expect(cell(claim, "STATUS")).toBe(status);
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
      name: "nothing of a use that nobody watched",
      lastUse: lastUseOf({ pod: undefined, podUid: undefined }),
      pod: "",
    },
    { name: "nothing of a claim without a use", lastUse: undefined, pod: "" },
  ])("tells as last pod $name", ({ lastUse, pod }) => {
    expect(cell({ status: statusOf("Unmounted", 1, { lastUse }) }, "LAST POD")).toBe(pod);
  });

  it("tells no last pod of a mounted claim: it would pass for the present one", () => {
    expect(cell({ status: statusOf("Mounted", 1, { lastUse: lastUseOf() }) }, "LAST POD")).toBe("");
  });

  it.each([
    { name: "known", uncertaintyMs: 12, text: "12ms" },
    { name: "not known", uncertaintyMs: undefined, text: "unknown" },
  ])("gives the uncertainty of a release where it is $name", ({ uncertaintyMs, text }) => {
    const status = statusOf("Unmounted", 1, { lastUse: lastUseOf({ uncertaintyMs }) });

    expect(cell({ status }, "UNCERTAINTY", wide)).toBe(text);
    expect(cell({ status }, "RELEASED AT", wide)).toBe("2026-09-09T23:26:40.000Z");
  });

  it.each([
    { name: "unused", upstream: unusedFor(3), text: "Unused 3h" },
    { name: "in use", upstream: { unused: false, sinceMs: NOW_MS }, text: "In use 0s" },
    { name: "unused without a time", upstream: { unused: true, sinceMs: undefined }, text: "Unused" },
    { name: "nothing", upstream: undefined, text: "" },
  ])("repeats what Kubernetes says: $name", ({ upstream, text }) => {
    expect(cell({ upstream }, "KUBERNETES")).toBe(text);
  });

  it("marks a claim that is mounted although Kubernetes says unused", () => {
    const claim = claimOf({ name: "orders", status: statusOf("Mounted", 9), upstream: unusedFor(3) });

    const { rows } = tableOf([useOf(claim)], narrow);

    expect(rows[0]?.filter(({ isAlarm }) => isAlarm).map(({ text }) => text)).toEqual([
      "Mounted",
      "Unused 3h DISAGREES",
    ]);
  });
});
