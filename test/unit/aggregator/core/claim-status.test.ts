import { describe, expect, it } from "vitest";
import type { PendingNode } from "../../../../aggregator/core/claims/decide.ts";
import { endMessage } from "../../../../aggregator/core/claims/message.ts";
import { endOf, type UseEnd } from "../../../../aggregator/core/claims/use-end.ts";
import type { ClaimStatus, LastUse } from "../../../../common/storage/claim-status.ts";
import { mountedStatus, NOON, statusWith } from "../world.ts";
import {
  desiredClaimStatus,
  endWith,
  factsWith,
  type Known,
  lastUseWith,
  NOW,
  newsOf,
  summaryOf,
  visitWith,
} from "./decisions.ts";

const ALONE = "left alone";
const idle = statusWith({ unused: true, reason: "Unmounted" });
const usedBy = (fields: Partial<LastUse>) => ({ ...idle, lastUse: lastUseWith(fields) });
const used = usedBy({});
const visited = { ...used, reason: "NoPodUsing" } as const;
const gone = statusWith({ unused: true, reason: "NodeGone", lastUse: lastUseWith({ evidence: "node-gone" }) });
const goneAtNoon = usedBy({ evidence: "node-gone", podUid: "pod-1", byMs: NOON });
const named = statusWith();
const namedBefore = statusWith({ lastUse: lastUseWith() });
const onN1 = mountedStatus(["n1"]);
const NAMED_BY = { references: ["shop/web-0"] };
const MADE_AHEAD = { earliestMs: NOW + 60_000 };
const BACK = { isNodeBack: true };
const at = (ms: number, status: ClaimStatus = idle) => ({ ...status, sinceMs: NOW + ms });
const on = (...usedOn: readonly string[]) => ({ usedOn });
const mounts = (...nodes: readonly string[]) => mountedStatus(nodes);
/** Ends of uses by milliseconds past noon. */
const ended = (byMs = 1_000, fields: Partial<UseEnd> = {}) => ({ ends: [endWith({ byMs: NOON + byMs, ...fields })] });

type Why = PendingNode["why"];
/** A node that may still answer, and one that should have long ago. */
const asked = (node: string, why?: Why, pod?: string) => ({ pendingNodes: [{ node, isSilent: false, why, pod }] });
const stale = (node: string, why?: Why, pod?: string) => ({ pendingNodes: [{ node, isSilent: true, why, pod }] });

type Row = readonly [name: string, stored: ClaimStatus | undefined, facts: Known, becomes: string];

function becomesOf([, stored, facts]: Row): string {
  return summaryOf(newsOf(factsWith({ stored, ...facts })));
}

describe("a claim that a node has mounted or a pod names", () => {
  const all = { ...NAMED_BY, ...stale("n2"), ...ended() };
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["is Mounted, whatever pods, Stale nodes and ends show", idle, { ...on("n1"), ...all }, "Mounted on n1 since now"],
      ["is Referenced, whatever Stale nodes and ends show", undefined, all, "Referenced since now, after r1 by noon+1s"],
      ["is Referenced, though a node is pending, where the status names no node", idle, { ...NAMED_BY, ...asked("n1", "was-mounted") }, "Referenced since now"],
      ["is Referenced once every node that had it mounted has answered", onN1, { ...NAMED_BY, ...asked("n2", "pod-ended", "shop/web-9") }, "Referenced since noon"],
      ["stays Mounted on a Stale node, for which it does not wait", onN1, { ...NAMED_BY, ...stale("n1", "was-mounted") }, ALONE],
      ["is left alone while it is not Bound", idle, { ...on("n1"), isEligible: false }, ALONE],
      ["is Referenced with the use that ended before a pod named it", onN1, { ...NAMED_BY, ...ended() }, "Referenced since noon, after r1 by noon+1s"],
      ["stays Referenced where a use ends while a pod names it", namedBefore, { ...NAMED_BY, ...ended() }, "Referenced since noon, after r0 by noon-1s"],
    ],
  )("%s", (...row) => {
    expect(becomesOf(row)).toBe(row[3]);
  });
});

describe("the nodes that the status of a mounted claim names", () => {
  const many = Array.from({ length: 33 }, (_, index) => `n${index + 10}`);
  const most = many.slice(0, 32);
  const mostAndMore = `Mounted on ${most.join(" ")} and more since noon`;
  const andMore = (...nodes: readonly string[]) => mountedStatus([], { mountedOn: { nodes, more: true } });
  const three = { ...on("n1"), ...stale("n4"), ...ended(1_000, { node: "n3" }) };
  const n9 = { ...on("n9"), ...asked("n5", "was-mounted") };
  it.each<Row>([
    ["are sorted by name", onN1, on("n3", "n2"), "Mounted on n2 n3 since noon"],
    ["keep those that have to answer or to settle", mounts("n2", "n3", "n4"), three, "Mounted on n1 n3 n4 since noon"],
    ["are 32", undefined, on(...most), `Mounted on ${most.join(" ")} since now`],
    ["are 32 and more", mounts("n10"), on(...many), mostAndMore],
    ["stay 32 and more", andMore(...most), { ...on("n10"), ...NAMED_BY }, mostAndMore],
    ["stay too many while a node has to answer", andMore("n1"), n9, "Mounted on n1 and more since noon"],
    ["are known again once all have answered", andMore("n1"), on("n9"), "Mounted on n9 since noon"],
  ])("%s", (...row) => {
    expect(becomesOf(row)).toBe(row[3]);
  });
});

describe("a claim with pending nodes", () => {
  const disbelieved = { hasInvalidCondition: true };
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["gets no status yet, whatever ended", undefined, { ...stale("n2"), ...ended() }, ALONE],
      ["gets none for an invalid condition, while they may answer", undefined, { ...asked("n2"), ...disbelieved }, ALONE],
      ["gets none while it is not bound", undefined, { ...stale("n2"), ...disbelieved, isEligible: false }, ALONE],
      ["stays as it is while they may answer", mounts("n2"), asked("n2"), ALONE],
      ["moves with a later end where it is idle", idle, { ...stale("n2"), ...ended() }, "Unmounted since noon+1s, after r1 by noon+1s"],
      ["keeps a time far ahead until the barrier opens: a new status would have the present time", at(5_001), asked("n1"), ALONE],
      ["gets the present time for it, though a Stale node has to answer", at(5_001), stale("n1", "attached"), "Unmounted since now"],
    ],
  )("%s", (...row) => {
    expect(becomesOf(row)).toBe(row[3]);
  });
});

describe("a claim that no node has mounted and no pod names", () => {
  const usedAt1s = statusWith({ lastUse: lastUseWith({ byMs: NOON + 1_000 }) });
  const usedAhead = statusWith({ lastUse: lastUseWith({ byMs: NOW + 60_000 }) });
  const aheadOfBoth = at(70_000, usedBy({ byMs: NOW + 69_500 }));
  const byPod = { ...at(-601_000, usedBy({ evidence: "pod-status" })), reason: "NoPodUsing" as const };
  const firstScan = endWith({ id: "first-read", pod: undefined, podUid: undefined, byMs: NOON + 9_000 });
  const unknown = { isEndUnknown: true };
  const twoEnds = { ...BACK, ends: [endWith({ byMs: NOON + 5_000 }), endWith({ id: "r-2", node: "n2", byMs: NOON })] };
  const back = (byMs: number, fields?: Partial<UseEnd>) => ({ ...BACK, ...ended(byMs, fields) });
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["keeps its last use where a pod came and went", namedBefore, { ends: [visitWith()] }, "NoPodUsing since noon+1s, after r0 by noon-1s"],
      ["has no stored use that ends in the future", usedAhead, ended(), "Unmounted since now, after r0 by now"],
      ["was used until the first scan", onN1, { ends: [firstScan] }, "Unmounted since noon+9s, after first-read by noon+9s"],
      ["was used until now where no node is known", named, { ...unknown, ...ended() }, "NoPodUsing since now, after r1 by noon+1s"],
      ["was used until now where its condition cannot be read", undefined, { ...unknown, ...ended() }, "NoPodUsing since now, after r1 by noon+1s"],
      ["is unused since it was made where its server's clock is ahead", undefined, MADE_AHEAD, "NeverObservedInUse since now+60s"],
      ["has no end from before it was made", undefined, { earliestMs: NOON + 9_000, ...ended() }, "Unmounted since noon+9s, after r1 by noon+9s"],
      ["does not hide that a pod came and went after it", visited, ended(-500), "NoPodUsing since noon, after r1 by noon-500ms"],
      ["keeps a use by a clock that was set back since, as over by now", aheadOfBoth, {}, "Unmounted since now, after r0 by now"],
      ["changes nothing for the stored record, dated later", usedBy({ id: "record-1" }), ended(2_000), ALONE],
      ["replaces a use known by its pod, and the time stays", byPod, ended(-1_000), "NoPodUsing since noon-1s, after r1 by noon-1s"],
      ["was used until then where a pod came and went just as its last use ended", usedAt1s, { ends: [visitWith()] }, "Unmounted since noon+1s, after r0 by noon+1s"],
      ["had no use by a pod that only named it", undefined, { ends: [visitWith()] }, "NoPodUsing since noon+1s"],
      ["stays as its node left it while that is gone", gone, {}, ALONE],
      ["is unused since now where another node reports an end", gone, back(1_000, { node: "n2" }), "NoPodUsing since now, after r1 by noon+1s"],
      ["stays unused where no last use is stored", idle, BACK, ALONE],
      ["takes the end of its use from the record of a node that is back", gone, twoEnds, "Unmounted since noon+5s, after r1 by noon+5s"],
      ["does not take another pod's earlier end", goneAtNoon, back(-1, { podUid: "pod-0" }), "NoPodUsing since now, after r1 by noon-1ms"],
      ["takes an earlier end of the same pod", goneAtNoon, back(-1), "Unmounted since noon, after r1 by noon-1ms"],
      ["takes a later end of another pod", goneAtNoon, back(1_000, { podUid: "pod-0" }), "Unmounted since noon+1s, after r1 by noon+1s"],
      ["takes the first scan of an agent", goneAtNoon, back(-1, { podUid: undefined }), "Unmounted since noon, after r1 by noon-1ms"],
    ],
  )("%s", (...row) => {
    expect(becomesOf(row)).toBe(row[3]);
  });

  it.each([onN1, named, idle, gone, goneAtNoon])("is decided alike whatever its stored texts say, %#", (stored) => {
    const decided = [stored, { ...stored, message: "other words", staged: "other words" }].map((one) => {
      const status = desiredClaimStatus(factsWith({ stored: one, ...ended() }));
      return status && { ...status, message: "", staged: "" };
    });

    expect(decided[1]).toEqual(decided[0]);
  });

  it("has all that is known of its last use", () => {
    const status = desiredClaimStatus(factsWith({ stored: onN1, earliestMs: NOON + 9_000, ...ended() }));

    const user = { id: "record-1", node: "n1", pod: "shop/web-0", podUid: "pod-1" };
    const until = { byMs: NOON + 9_000, widthMs: undefined, evidence: "mount-table" };
    expect(status?.lastUse).toEqual({ ...user, ...until });
  });
});

describe("the nodes on which the status of an unused claim says that its device is mounted", () => {
  const many = Array.from({ length: 33 }, (_, index) => `n${index + 10}`).toReversed();
  const n9 = { ...idle, staged: "Staged on n9" };
  const rest = (nodes: string) => `Staged on ${nodes}: the device is still mounted, no pod has it`;
  it.each<readonly [name: string, stored: ClaimStatus, facts: Known, says: string | undefined]>(
    // biome-ignore format: a row is a line
    [
      ["are those of now, by name", n9, { stagedOn: ["n2", "n1"] }, rest("nodes n1 and n2")],
      ["are counted where they are many", idle, { stagedOn: many }, rest("33 nodes: n10, n11, n12 and 30 more")],
      ["are none where no node has it staged", n9, { stagedOn: [] }, undefined],
      ["stay while another node may have it staged", n9, { stagedOn: [], ...asked("n9", "was-mounted") }, "Staged on n9"],
      ["are those of now though others are pending", n9, { stagedOn: ["n1"], ...asked("n9", "was-mounted") }, rest("node n1")],
      ["are not named where protection is off", n9, { stagedOn: undefined, ...asked("n9", "was-mounted") }, undefined],
    ],
  )("%s", (...[, stored, facts, says]) => {
    expect(desiredClaimStatus(factsWith({ stored, ...facts }))?.staged).toBe(says);
  });
});

describe("the message of a claim", () => {
  const left = (where: string) =>
    `In use: still mounted on ${where}, although every pod that names the claim has ended`;
  const noReport = (nodes: string) => `Not known to be unused: no report from ${nodes}`;
  const awaits = "Not known to be unused: awaiting the next report from n1 (pod shop/web-7 ended there)";
  const was = (node: string, isSilent = true) => ({ node, isSilent, why: "was-mounted" as const });
  const waits = (...pendingNodes: readonly PendingNode[]) => ({ pendingNodes });
  const sixNodes = waits(...["n3", "n2", "n1", "n4", "n5"].map((node) => ({ node, isSilent: node !== "n1" })));
  const twoOfThree = { ...on("n1", "n2"), ...waits(was("n1", false), was("n2"), was("n3")) };
  const disbelieved = { ...stale("n2", "attached"), hasInvalidCondition: true };
  const leftOnN1 = { ...onN1, message: left("node n1") };
  const lastZ = lastUseWith({ id: "record-z", byMs: NOON + 1_000 });
  const byPod = lastUseWith({ evidence: "pod-status" });
  const unusedByPod = { reason: "NoPodUsing", message: endMessage(endOf(byPod)), sinceMs: byPod.byMs } as const;
  const statusByPod = statusWith({ unused: true, ...unusedByPod, lastUse: byPod });
  const atOnce = { ends: [endWith({ id: "b", pod: "shop/b" }), endWith({ id: "a" })] };
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["names Stale nodes in order", mounts("n2"), sixNodes, noReport("n2, n3, n4 and 1 more")],
      ["says why a Stale node is pending", undefined, disbelieved, noReport("n2 (the volume is attached to it)")],
      ["names a Stale node whose mount no pod explains", mounts("n1", "n2"), twoOfThree, `${left("nodes n1 and n2")}; no report of the mounts on n2, so this may be out of date`],
      ["names no Stale node while a pod names the claim", onN1, { ...on("n1"), ...NAMED_BY, ...stale("n1", "was-mounted") }, "In use: mounted on node n1"],
      ["says that no pod names the claim where none does", undefined, on("n1"), left("node n1")],
      ["says that reports are missing when every node is Stale", leftOnN1, waits(was("n1"), was("n2")), noReport("n1 (had it mounted) and n2 (had it mounted)")],
      ["names the pod that ended on a node that may answer", idle, asked("n1", "pod-ended", "shop/web-7"), awaits],
      ["describes the use that is named as the last one, though it was stored", statusWith({ lastUse: lastZ }), ended(), endMessage(endOf(lastZ))],
      ["describes the last use by name where two ended at once", named, atOnce, endMessage(endWith({ pod: "shop/b" }))],
      ["describes a use that is learnt later", statusByPod, ended(-1_000), endMessage(endWith({ byMs: NOON - 1_000 }))],
    ],
  )("%s", (...[, stored, facts, says]) => {
    expect(desiredClaimStatus(factsWith({ stored, ...facts }))?.message).toBe(says);
  });
});
