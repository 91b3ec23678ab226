import { describe, expect, it } from "vitest";
import type { ClaimFacts } from "../../../../aggregator/core/claim-status.ts";
import { writeFor } from "../../../../aggregator/core/claim-write.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";
import { desiredClaimStatus, endWith, factsWith, lastUseWith, visitWith } from "./decisions.ts";

const lastUse = lastUseWith();
const GAP = { fromMs: NOON, toMs: NOON + 60_000 };
const OTHER = "Said in other words";

const unused = { unused: true, reason: "Unmounted", lastUse } as const;
const unseen = { ...unused, reason: "NoPodUsing", sinceMs: GAP.toMs } as const;
const byPod = { ...unseen, sinceMs: NOON, lastUse: lastUseWith({ evidence: "pod-status" }) };

/** Everything that may stand in a status. */
const STORED: readonly (readonly [string, ClaimStatus])[] = [
  ["never seen in use", statusWith({ unused: true, reason: "NeverObservedInUse" })],
  ["unmounted", statusWith(unused)],
  ["known by its pod", statusWith(byPod)],
  ["ended unseen", statusWith(unseen)],
  ["not seen for a time", statusWith({ ...unseen, blindGap: GAP })],
  ["staged", statusWith({ ...unused, staged: "on n1" })],
  ["mounted", mountedStatus(["n1"])],
  ["referenced", statusWith({ unused: false, reason: "Referenced", lastUse })],
];

/** What may become known then. */
const NEWS: readonly (readonly [string, Partial<ClaimFacts>])[] = [
  ["nothing", {}],
  ["a mount", { holders: ["n1"] }],
  ["a pod", { references: ["shop/web-0"] }],
  ["a later end", { ends: [endWith({ byMs: NOON + 120_000 })] }],
  ["an earlier end", { ends: [endWith({ byMs: NOON + 1 })] }],
  ["a pod that came and went", { ends: [visitWith({ byMs: NOON + 120_000 })] }],
  ["that a node is Stale", { pendingNodes: [{ node: "n1", isSilent: true, why: "was-mounted" }] }],
  ["that went unobserved", { unobserved: { times: [{ ...GAP, isBefore: true }] } }],
];

describe.each(STORED)("a claim that is stored as %s", (_, stored) => {
  it.each(NEWS)("is decided the same whatever its message says, when this becomes known: %s", (__, news) => {
    const [told, reworded] = [stored, { ...stored, message: OTHER }].map((status) => {
      const facts = factsWith({ stored: status, nowMs: NOON + 600_000, ...news });
      const claim = claimWith({ status });
      const write = writeFor({ claim, isEligible: true, desired: desiredClaimStatus(facts) }, "leave");
      return write.kind === "apply" ? { ...write, status: { ...write.status, message: "" } } : write;
    });

    // What is said of a claim in use tells what no other field does, so it is said again, and nothing else is.
    const isSaidAgain = !stored.unused && told?.kind === "none" && reworded?.kind === "apply";
    expect(reworded).toEqual(isSaidAgain ? { ...reworded, status: { ...stored, message: "" } } : told);
  });
});
