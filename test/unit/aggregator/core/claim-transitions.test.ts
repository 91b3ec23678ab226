import { describe, expect, it } from "vitest";
import type { ClaimFacts } from "../../../../aggregator/core/claim-status.ts";
import { isSameStatus } from "../../../../aggregator/core/claim-write.ts";
import { type ClaimStatus, readClaimStatus, writeClaimStatus } from "../../../../common/storage/claim-status.ts";
import { mountedStatus, NOON, statusWith } from "../world.ts";
import {
  desiredClaimStatus,
  endWith,
  factsWith,
  lastUseWith,
  NOW,
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

/** What is the case ten minutes later. */
const CASES = {
  "a node has it mounted": { holders: ["n1"], references: ["shop/web-0"] },
  "a pod names it": { references: ["shop/web-0"] },
  "an unmount is learnt": { ends: [endWith()] },
  "a pod that used it unseen is over": { ends: [podEndWith()] },
  "a pod that never used it is over": { ends: [visitWith()] },
  "its node is gone": { ends: [nodeGoneWith()] },
  "nothing is known": {},
  "a Stale node has to answer": { pendingNodes: [{ node: "n2", isSilent: true }] },
  "the node is back and has it mounted": { holders: ["n1"], references: ["shop/web-0"], isNodeBack: true },
  "the node is back and a pod names it": { references: ["shop/web-0"], isNodeBack: true },
  "the node is back and tells an earlier end": { ends: [endWith({ byMs: NOON - 500 })], isNodeBack: true },
  "the node is back and tells a later end": { ends: [endWith()], isNodeBack: true },
  "the node is back and knows nothing": { isNodeBack: true },
  "the node is back and another one tells an end": { ends: [endWith({ node: "n2" })], isNodeBack: true },
  "the node is back and has to answer": { pendingNodes: [{ node: "n1", isSilent: true }], isNodeBack: true },
} as const satisfies Record<string, Partial<ClaimFacts>>;

const TIMES = { now: NOW, noon: NOON, "the end": NOON + 1_000 } as const;

interface Row {
  readonly from: keyof typeof STORED;
  readonly when: keyof typeof CASES;
  readonly becomes: ClaimStatus["reason"] | "left alone";
  readonly since?: keyof typeof TIMES;
  /** What `last-use` tells then: the use that is stored, the one that is learnt, or none. */
  readonly lastUse?: "stored" | "learnt" | "none";
}

const ROWS: readonly Row[] = [
  { from: "nothing", when: "a node has it mounted", becomes: "Mounted", since: "now", lastUse: "none" },
  { from: "nothing", when: "a pod names it", becomes: "Referenced", since: "now", lastUse: "none" },
  { from: "nothing", when: "an unmount is learnt", becomes: "Unmounted", since: "the end", lastUse: "learnt" },
  {
    from: "nothing",
    when: "a pod that used it unseen is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "nothing",
    when: "a pod that never used it is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "none",
  },
  { from: "nothing", when: "its node is gone", becomes: "NodeGone", since: "the end", lastUse: "learnt" },
  { from: "nothing", when: "nothing is known", becomes: "NeverObservedInUse", since: "now", lastUse: "none" },
  { from: "nothing", when: "a Stale node has to answer", becomes: "left alone" },

  { from: "NeverObservedInUse", when: "a node has it mounted", becomes: "Mounted", since: "now", lastUse: "none" },
  { from: "NeverObservedInUse", when: "a pod names it", becomes: "Referenced", since: "now", lastUse: "none" },
  {
    from: "NeverObservedInUse",
    when: "an unmount is learnt",
    becomes: "Unmounted",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "NeverObservedInUse",
    when: "a pod that used it unseen is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "NeverObservedInUse",
    when: "a pod that never used it is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "none",
  },
  { from: "NeverObservedInUse", when: "its node is gone", becomes: "NodeGone", since: "the end", lastUse: "learnt" },
  { from: "NeverObservedInUse", when: "nothing is known", becomes: "left alone" },
  { from: "NeverObservedInUse", when: "a Stale node has to answer", becomes: "left alone" },

  { from: "Mounted", when: "a node has it mounted", becomes: "left alone" },
  { from: "Mounted", when: "a pod names it", becomes: "Referenced", since: "noon", lastUse: "stored" },
  { from: "Mounted", when: "an unmount is learnt", becomes: "Unmounted", since: "the end", lastUse: "learnt" },
  {
    from: "Mounted",
    when: "a pod that used it unseen is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "Mounted",
    when: "a pod that never used it is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "stored",
  },
  { from: "Mounted", when: "its node is gone", becomes: "NodeGone", since: "the end", lastUse: "learnt" },
  { from: "Mounted", when: "nothing is known", becomes: "NoPodUsing", since: "now", lastUse: "stored" },
  { from: "Mounted", when: "a Stale node has to answer", becomes: "Mounted", since: "noon", lastUse: "stored" },

  { from: "Referenced", when: "a node has it mounted", becomes: "Mounted", since: "noon", lastUse: "stored" },
  { from: "Referenced", when: "a pod names it", becomes: "Referenced", since: "noon", lastUse: "stored" },
  { from: "Referenced", when: "an unmount is learnt", becomes: "Unmounted", since: "the end", lastUse: "learnt" },
  {
    from: "Referenced",
    when: "a pod that used it unseen is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "Referenced",
    when: "a pod that never used it is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "stored",
  },
  { from: "Referenced", when: "its node is gone", becomes: "NodeGone", since: "the end", lastUse: "learnt" },
  { from: "Referenced", when: "nothing is known", becomes: "NoPodUsing", since: "now", lastUse: "stored" },
  { from: "Referenced", when: "a Stale node has to answer", becomes: "Referenced", since: "noon", lastUse: "stored" },

  { from: "Unmounted", when: "a node has it mounted", becomes: "Mounted", since: "now", lastUse: "stored" },
  { from: "Unmounted", when: "a pod names it", becomes: "Referenced", since: "now", lastUse: "stored" },
  { from: "Unmounted", when: "an unmount is learnt", becomes: "Unmounted", since: "the end", lastUse: "learnt" },
  {
    from: "Unmounted",
    when: "a pod that used it unseen is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "Unmounted",
    when: "a pod that never used it is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "stored",
  },
  { from: "Unmounted", when: "its node is gone", becomes: "NodeGone", since: "the end", lastUse: "learnt" },
  { from: "Unmounted", when: "nothing is known", becomes: "left alone" },
  { from: "Unmounted", when: "a Stale node has to answer", becomes: "left alone" },

  { from: "NoPodUsing", when: "a node has it mounted", becomes: "Mounted", since: "now", lastUse: "stored" },
  { from: "NoPodUsing", when: "a pod names it", becomes: "Referenced", since: "now", lastUse: "stored" },
  { from: "NoPodUsing", when: "an unmount is learnt", becomes: "Unmounted", since: "the end", lastUse: "learnt" },
  {
    from: "NoPodUsing",
    when: "a pod that used it unseen is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "NoPodUsing",
    when: "a pod that never used it is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "stored",
  },
  { from: "NoPodUsing", when: "its node is gone", becomes: "NodeGone", since: "the end", lastUse: "learnt" },
  { from: "NoPodUsing", when: "nothing is known", becomes: "left alone" },
  { from: "NoPodUsing", when: "a Stale node has to answer", becomes: "left alone" },

  { from: "NodeGone", when: "a node has it mounted", becomes: "Mounted", since: "now", lastUse: "stored" },
  { from: "NodeGone", when: "a pod names it", becomes: "Referenced", since: "now", lastUse: "stored" },
  { from: "NodeGone", when: "an unmount is learnt", becomes: "Unmounted", since: "the end", lastUse: "learnt" },
  {
    from: "NodeGone",
    when: "a pod that used it unseen is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "NodeGone",
    when: "a pod that never used it is over",
    becomes: "NoPodUsing",
    since: "the end",
    lastUse: "stored",
  },
  { from: "NodeGone", when: "its node is gone", becomes: "NodeGone", since: "the end", lastUse: "learnt" },
  { from: "NodeGone", when: "nothing is known", becomes: "left alone" },
  { from: "NodeGone", when: "a Stale node has to answer", becomes: "left alone" },

  { from: "NodeGone", when: "the node is back and has it mounted", becomes: "Mounted", since: "now", lastUse: "none" },
  {
    from: "NodeGone",
    when: "the node is back and a pod names it",
    becomes: "Referenced",
    since: "now",
    lastUse: "none",
  },
  {
    from: "NodeGone",
    when: "the node is back and tells an earlier end",
    becomes: "Unmounted",
    since: "noon",
    lastUse: "learnt",
  },
  {
    from: "NodeGone",
    when: "the node is back and tells a later end",
    becomes: "Unmounted",
    since: "the end",
    lastUse: "learnt",
  },
  {
    from: "NodeGone",
    when: "the node is back and knows nothing",
    becomes: "NoPodUsing",
    since: "now",
    lastUse: "none",
  },
  {
    from: "NodeGone",
    when: "the node is back and another one tells an end",
    becomes: "NoPodUsing",
    since: "now",
    lastUse: "learnt",
  },
  {
    from: "NodeGone",
    when: "the node is back and has to answer",
    becomes: "NoPodUsing",
    since: "now",
    lastUse: "none",
  },
  { from: "Unmounted", when: "the node is back and knows nothing", becomes: "left alone" },
];

function desiredOf({ from, when }: Row): ClaimStatus | undefined {
  const stored = STORED[from];
  const desired = desiredClaimStatus(factsWith({ ...CASES[when], stored }));
  return desired !== undefined && isSameStatus(stored, desired) ? undefined : desired;
}

const NAMED = ROWS.map((row) => {
  const { from, when, becomes, since, lastUse } = row;
  const then = becomes === "left alone" ? becomes : `${becomes} since ${since}, the last use is the one ${lastUse}`;
  return { ...row, name: `${from}, and ${when}: ${then}`.replace("the one none", "none") };
});

describe("a claim's status", () => {
  it.each(NAMED)("$name", (row) => {
    const desired = desiredOf(row);

    if (row.becomes === "left alone") {
      expect(desired).toBeUndefined();
      return;
    }
    const { ends } = factsWith(CASES[row.when]);
    const uses = { stored: "release-0", learnt: ends[0]?.id, none: undefined };
    expect(desired).toMatchObject({
      unused: row.becomes !== "Mounted" && row.becomes !== "Referenced",
      reason: row.becomes,
      sinceMs: TIMES[row.since ?? "now"],
    });
    expect(desired?.lastUse?.releaseId).toBe(uses[row.lastUse ?? "none"]);
    expect(desired?.mountedOn === undefined).toBe(row.becomes !== "Mounted");
  });

  it.each(NAMED)("$from, and $when: deciding again on what was written changes nothing", (row) => {
    const desired = desiredOf(row);
    const uid = "claim-1";
    const stored = desired ? readClaimStatus({ uid, ...writeClaimStatus(uid, desired) }) : STORED[row.from];

    const again = desiredClaimStatus(factsWith({ ...CASES[row.when], stored, nowMs: NOW + 60_000 }));

    expect(stored === undefined).toBe(desired === undefined && STORED[row.from] === undefined);
    expect(again === undefined || isSameStatus(stored, again)).toBe(true);
  });

  it("every reason is left for every other one that can follow", () => {
    const pairs = new Set(ROWS.map(({ from, becomes }) => `${from} ${becomes}`));
    const reasons = ["Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone"] as const;
    const expected = Object.keys(STORED).flatMap((from) =>
      // A claim that is mounted stays so: its row is in "left alone".
      reasons.filter((to) => from !== to || to !== "Mounted").map((to) => `${from} ${to}`),
    );

    expect(expected.filter((pair) => !pairs.has(pair))).toEqual([]);
  });
});
