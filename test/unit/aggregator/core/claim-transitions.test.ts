import { describe, expect, it } from "vitest";
import type { ClaimFacts } from "../../../../aggregator/core/claim-status.ts";
import { isSameStatus } from "../../../../aggregator/core/claim-write.ts";
import { type ClaimStatus, readClaimStatus, writeClaimStatus } from "../../../../common/storage/claim-status.ts";
import { mountedStatus, NOON, statusWith } from "../world.ts";
import {
  desiredClaimStatus,
  endWith,
  factsWith,
  inWords,
  lastUseWith,
  NOW,
  newsOf,
  nodeGoneWith,
  podEndWith,
  visitWith,
} from "./decisions.ts";

/** What stands in the claim's status since noon; all but the first two tell of a use that ended a second before. */
const STORED = {
  nothing: undefined,
  NeverObservedInUse: statusWith({ unused: true, reason: "NeverObservedInUse" }),
  Mounted: mountedStatus(["n1"], { message: "In use: mounted on node n1", lastUse: lastUseWith() }),
  Referenced: statusWith({ lastUse: lastUseWith() }),
  Unmounted: statusWith({ unused: true, reason: "Unmounted", lastUse: lastUseWith() }),
  NoPodUsing: statusWith({ unused: true, reason: "NoPodUsing", lastUse: lastUseWith() }),
  NodeGone: statusWith({ unused: true, reason: "NodeGone", lastUse: lastUseWith({ evidence: "node-gone" }) }),
} as const satisfies Record<string, ClaimStatus | undefined>;

const [NEW, IN_USE, USED] = ["nothing NeverObservedInUse", "Mounted Referenced", "Unmounted NoPodUsing NodeGone"];
const ANY = `${NEW} ${IN_USE} ${USED}`;

const HELD = { holders: ["n1"], references: ["shop/web-0"] };
const NAMED = { references: ["shop/web-0"] };
const VISITED = { ends: [visitWith()] };
const SILENT = { pendingNodes: [{ node: "n2", isSilent: true }] };
const BACK = { isNodeBack: true };
const BACK_AND_SILENT = { ...BACK, pendingNodes: [{ node: "n1", isSilent: true }] };
const back = (...ends: ClaimFacts["ends"]) => ({ ...BACK, ends });

/** Ten minutes later. */
// biome-ignore format: a row is a line
const ROWS: readonly (readonly [when: string, facts: Partial<ClaimFacts>, from: string, becomes: string])[] = [
  ["a node has it mounted", HELD, NEW, "Mounted on n1 since now"],
  ["a node has it mounted", HELD, USED, "Mounted on n1 since now, after r0 by noon-1s"],
  ["a node has it mounted", HELD, "Referenced", "Mounted on n1 since noon, after r0 by noon-1s"],
  ["a node has it mounted", HELD, "Mounted", "left alone"],
  ["a pod names it", NAMED, NEW, "Referenced since now"],
  ["a pod names it", NAMED, USED, "Referenced since now, after r0 by noon-1s"],
  ["a pod names it", NAMED, IN_USE, "Referenced since noon, after r0 by noon-1s"],
  ["an unmount is learnt", { ends: [endWith()] }, ANY, "Unmounted since noon+1s, after r1 by noon+1s"],
  ["a pod is over that used it unseen", { ends: [podEndWith()] }, ANY, "NoPodUsing since noon+1s, after p/1 by noon+1s"],
  ["a pod is over that never used it", VISITED, NEW, "NoPodUsing since noon+1s"],
  ["a pod is over that never used it", VISITED, `${IN_USE} ${USED}`, "NoPodUsing since noon+1s, after r0 by noon-1s"],
  ["its node is gone", { ends: [nodeGoneWith()] }, ANY, "NodeGone since noon+1s, after n1/gone by noon+1s"],
  ["nothing is known", {}, "nothing", "NeverObservedInUse since now"],
  ["nothing is known", {}, `NeverObservedInUse ${USED}`, "left alone"],
  ["nothing is known", {}, IN_USE, "NoPodUsing since now, after r0 by noon-1s"],
  ["a silent node has to answer", SILENT, `${NEW} ${USED}`, "left alone"],
  ["a silent node has to answer", SILENT, "Mounted", "Mounted on n1 since noon, after r0 by noon-1s"],
  ["a silent node has to answer", SILENT, "Referenced", "Referenced since noon, after r0 by noon-1s"],
  ["the node is back and has it mounted", { ...HELD, ...BACK }, "NodeGone", "Mounted on n1 since now"],
  ["the node is back and a pod names it", { ...NAMED, ...BACK }, "NodeGone", "Referenced since now"],
  ["the node is back and tells an earlier end", back(endWith({ byMs: NOON - 500 })), "NodeGone", "Unmounted since noon, after r1 by noon-500ms"],
  ["the node is back and tells a later end", back(endWith()), "NodeGone", "Unmounted since noon+1s, after r1 by noon+1s"],
  ["the node is back and knows nothing", BACK, "NodeGone", "NoPodUsing since now"],
  ["the node is back and knows nothing", BACK, "Unmounted", "left alone"],
  ["the node is back and another tells an end", back(endWith({ node: "n2" })), "NodeGone", "NoPodUsing since now, after r1 by noon+1s"],
  ["the node is back and has to answer", BACK_AND_SILENT, "NodeGone", "NoPodUsing since now"],
];

const EACH = ROWS.flatMap(([when, facts, from, becomes]) =>
  Object.entries(STORED)
    .filter(([name]) => from.split(" ").includes(name))
    .map(([name, stored]) => ({ name: `${name}, and ${when}: ${becomes}`, stored, facts, becomes })),
);

/** What stands in the claim's status once the decision is written. */
function written(stored: ClaimStatus | undefined, desired: ClaimStatus | undefined): ClaimStatus | undefined {
  const uid = "claim-1";
  return desired ? readClaimStatus({ uid, ...writeClaimStatus(uid, desired) }) : stored;
}

describe("a claim's status", () => {
  it.each(EACH)("$name; and then nothing changes", ({ stored, facts, becomes }) => {
    const desired = newsOf(factsWith({ ...facts, stored }));
    const then = written(stored, desired);
    const again = desiredClaimStatus(factsWith({ ...facts, stored: then, nowMs: NOW + 60_000 }));

    expect(inWords(desired)).toBe(becomes);
    expect(then === undefined).toBe(desired === undefined && stored === undefined);
    expect(again === undefined || isSameStatus(then, again)).toBe(true);
  });
});
