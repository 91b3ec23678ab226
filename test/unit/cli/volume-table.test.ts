import { describe, expect, it } from "vitest";
import { layOut } from "../../../cli/table.ts";
import { type VolumeTableView, volumeTable } from "../../../cli/volume-table.ts";
import type { VolumeView } from "../../../cli/volume-view.ts";
import { HOUR_MS, lastUseOf, NOW_MS } from "./claims.ts";
import { volumeOfHours } from "./volumes.ts";

const DAY_HOURS = 24;

/** The cells of a volume by their titles. */
function cellsOf(volume: VolumeView, change: Partial<VolumeTableView> = {}): Readonly<Record<string, string>> {
  const { columns, rows } = volumeTable([volume], { isWide: false, hasLive: false, nowMs: NOW_MS, ...change });
  return Object.fromEntries(columns.map(({ title }, index) => [title, rows[0]?.[index]?.text ?? ""]));
}

describe("a table of volumes", () => {
  it("shows since when a volume is Released, and its last use", () => {
    const lastUse = lastUseOf({ pod: "shop/reports-1", byMs: NOW_MS - 213 * DAY_HOURS * HOUR_MS });

    expect(cellsOf(volumeOfHours(40 * DAY_HOURS, { lastUse }))).toEqual({
      ...{ VOLUME: "pv-reports", PHASE: "Released", SINCE: "40d", SIZE: "10Gi", CLASS: "fast", POLICY: "Retain" },
      ...{ CLAIM: "shop/reports", "MOUNTED ON": "", "ATTACHED TO": "", "LAST USED": "213d ago by shop/reports-1" },
    });
  });

  it("marks an age from the first observation as a lower bound", () => {
    const since = { ms: NOW_MS - 12 * DAY_HOURS * HOUR_MS, from: "first-seen" } as const;

    expect(cellsOf(volumeOfHours(0, { since })).SINCE).toBe(">12d");
  });

  it("has times instead of ages, and what they are known from, when it is wide", () => {
    const since = { ms: NOW_MS, from: "first-seen" } as const;
    const cells = cellsOf(volumeOfHours(0, { since, stagedOn: { items: ["n1"], omitted: 0 } }), {
      isWide: true,
      hasLive: true,
    });

    expect(cells).toMatchObject({ SINCE: "2026-09-10T00:26:40Z", "SINCE FROM": "first-seen", DRIVER: "csi.example" });
    expect(cells["STAGED ON"]).toBe("n1");
  });

  it.each([
    { name: "one node", nodes: { items: ["n1"], omitted: 0 }, short: "n1", wide: "n1" },
    { name: "several", nodes: { items: ["n1", "n2", "n3"], omitted: 0 }, short: "n1 +2", wide: "n1,n2,n3" },
    { name: "more than are named", nodes: { items: ["n1", "n2"], omitted: 7 }, short: "n1 +8", wide: "n1,n2,+7" },
    {
      name: "some more than are named",
      nodes: { items: ["n1"], omitted: "some" as const },
      short: "n1 +0…",
      wide: "n1,…",
    },
    { name: "what may not be read", nodes: undefined, short: "?", wide: "?" },
  ])("names $name", ({ nodes, short, wide }) => {
    const volume = volumeOfHours(1, { attachedTo: nodes });

    expect([cellsOf(volume)["ATTACHED TO"], cellsOf(volume, { isWide: true })["ATTACHED TO"]]).toEqual([short, wide]);
  });

  it("shows no last use while the volume is mounted", () => {
    const volume = volumeOfHours(1, { mountedOn: { items: ["n1"], omitted: 0 }, lastUse: lastUseOf() });

    expect(cellsOf(volume)).toMatchObject({ "MOUNTED ON": "n1", "LAST USED": "" });
  });

  it("alarms for a volume that is mounted without a claim, and for none that is bound", () => {
    const mountedOn = { items: ["n1"], omitted: 0 };
    const volumes = [volumeOfHours(1, { mountedOn }), volumeOfHours(1, { mountedOn, phase: "Bound" })];
    const table = volumeTable(volumes, { isWide: false, hasLive: true, nowMs: NOW_MS });

    const [, released, bound] = layOut(table, { width: undefined, hasColour: true }).split("\n");

    expect([released?.includes("[1;31mn1"), bound?.includes("[1;31m")]).toEqual([true, false]);
  });

  it("has times where the clock is not known", () => {
    const cells = cellsOf(volumeOfHours(0, { lastUse: lastUseOf({ pod: undefined, podUid: undefined }) }), {
      nowMs: undefined,
    });

    expect(cells).toMatchObject({ SINCE: "2026-09-10T00:26:40Z", "LAST USED": "2026-09-09T23:26:40.000Z" });
  });
});
