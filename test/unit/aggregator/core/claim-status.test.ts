import { describe, expect, it } from "vitest";
import { leftMountedMessage } from "../../../../aggregator/core/claim-messages.ts";
import type { ClaimFacts } from "../../../../aggregator/core/claim-status.ts";
import type { ClaimStatus, LastUse } from "../../../../common/storage/claim-status.ts";
import { mountedStatus, NOON, statusWith } from "../world.ts";
import {
  desiredClaimStatus,
  endWith,
  factsWith,
  lastUseWith,
  NOW,
  newsOf,
  podEndWith,
  visitWith,
} from "./decisions.ts";

const unusedStatus = statusWith({ unused: true, reason: "Unmounted" });
const { message: _, ...unusedFields } = unusedStatus;
const visited = statusWith({ unused: true, reason: "NoPodUsing" });

const ON_N1 = { nodes: ["n1"], more: false };

/** The use that `endWith` ends, as the last one. */
function endedAt(releasedAtMs: number): LastUse {
  const user = { releaseId: "release-1", pod: "shop/web-0", podUid: "pod-1", uncertaintyMs: 20 };
  return lastUseWith({ ...user, releasedAtMs });
}

interface Row {
  readonly name: string;
  readonly facts: Partial<ClaimFacts>;
  readonly status: Partial<ClaimStatus> | undefined;
}

describe("desiredClaimStatus", () => {
  it.each<Row>([
    {
      name: "a pod that names it counts, whoever else is awaited, unless what stands there names the nodes to ask",
      facts: {
        references: ["shop/web-0"],
        pendingNodes: [{ node: "n1", isSilent: false, why: "was-mounted" }],
        stored: unusedStatus,
      },
      status: { unused: false, reason: "Referenced" },
    },
    {
      name: "a pod that names it counts once all nodes that had it mounted have told",
      facts: {
        references: ["shop/web-0"],
        pendingNodes: [{ node: "n1", isSilent: false, why: "pod-ended", pod: "shop/web-9" }],
        stored: mountedStatus(["n2"]),
      },
      status: { unused: false, reason: "Referenced" },
    },
    {
      name: "a claim that is not bound, or is being deleted, is left alone even while it is mounted",
      facts: { isEligible: false, holders: ["n1"], stored: unusedStatus },
      status: undefined,
    },
    {
      name: "a mount by a pod makes it mounted, since now",
      facts: { holders: ["n1"] },
      status: { unused: false, reason: "Mounted", sinceMs: NOW },
    },
    {
      name: "a mount by a pod counts more than references, awaited nodes and ends",
      facts: {
        holders: ["n1"],
        references: ["shop/web-0"],
        pendingNodes: [{ node: "n2", isSilent: true }],
        ends: [endWith()],
        stored: unusedStatus,
      },
      status: { unused: false, reason: "Mounted", sinceMs: NOW, mountedOn: { nodes: ["n1"], more: false } },
    },
    {
      name: "a reference counts more than awaited nodes and ends",
      facts: { references: ["shop/web-0"], pendingNodes: [{ node: "n2", isSilent: true }], ends: [endWith()] },
      status: {
        unused: false,
        reason: "Referenced",
        sinceMs: NOW,
      },
    },
    {
      name: "an awaited node counts more than ends: a claim without a status gets none yet",
      facts: { pendingNodes: [{ node: "n2", isSilent: true }], ends: [endWith()] },
      status: undefined,
    },
    {
      name: "nor does one with a status that nobody may believe, while the node may still answer",
      facts: { pendingNodes: [{ node: "n2", isSilent: false }], isDisbelieved: true },
      status: undefined,
    },
    {
      name: "a status that nobody may believe does not stay for as long as a node is Stale",
      facts: { pendingNodes: [{ node: "n2", isSilent: true, why: "attached" }], isDisbelieved: true },
      status: {
        ...{ unused: false, reason: "Referenced", sinceMs: NOW },
        message: "Not known to be unused: no report from n2 (the volume is attached to it)",
      },
    },
    {
      name: "a status that nobody may believe stays while the claim is not bound",
      facts: { isEligible: false, pendingNodes: [{ node: "n2", isSilent: true }], isDisbelieved: true },
      status: undefined,
    },
    {
      name: "a claim that is awaited from nodes that may still answer stays as it is",
      facts: { pendingNodes: [{ node: "n2", isSilent: false }], stored: mountedStatus(["n2"]) },
      status: undefined,
    },
    {
      name: "a Stale node is named in the message, once and in order, and nothing else changes",
      facts: {
        pendingNodes: ["n3", "n2", "n3", "n1", "n4", "n5"].map((node) => ({ node, isSilent: node !== "n1" })),
        stored: mountedStatus(["n2"], { message: "Mounted on n2", lastUse: lastUseWith() }),
      },
      status: {
        unused: false,
        reason: "Mounted",
        message: "Not known to be unused: no report from n2, n3, n4 and 1 more",
        sinceMs: NOON,
        mountedOn: { nodes: ["n2"], more: false },
        lastUse: lastUseWith(),
      },
    },
    {
      name: "of a node that shows a mount that no pod tells of it it is said that it is Stale, beside one that reports",
      facts: {
        holders: ["n1", "n2"],
        pendingNodes: [
          { node: "n1", isSilent: false, why: "pod-ended" },
          { node: "n2", isSilent: true, why: "was-mounted" },
          { node: "n3", isSilent: true, why: "attached" },
        ],
        stored: mountedStatus(["n1", "n2"]),
      },
      status: {
        ...{ unused: false, reason: "Mounted", sinceMs: NOON, mountedOn: { nodes: ["n1", "n2"], more: false } },
        message:
          "In use: still mounted on nodes n1 and n2, although every pod that names the claim has ended; no report of the mounts on n2, so this may be out of date",
      },
    },
    {
      name: "the silence of a node is not told while a pod names the claim anyhow",
      facts: {
        holders: ["n1"],
        references: ["shop/web-0"],
        pendingNodes: [{ node: "n1", isSilent: true, why: "was-mounted" }],
        stored: mountedStatus(["n1"]),
      },
      status: { message: "In use: mounted on node n1" },
    },
    {
      name: "what an earlier leader wrote of a Stale node that it had reports of stays",
      facts: {
        pendingNodes: [{ node: "n1", isSilent: true, why: "was-mounted" }],
        stored: mountedStatus(["n1"], { message: leftMountedMessage(ON_N1, ["n1"]) }),
      },
      status: { message: leftMountedMessage(ON_N1, ["n1"]) },
    },
    {
      name: "but not when another node is Stale as well",
      facts: {
        pendingNodes: ["n1", "n2"].map((node) => ({ node, isSilent: true, why: "was-mounted" })),
        stored: mountedStatus(["n1"], { message: leftMountedMessage(ON_N1, ["n1"]) }),
      },
      status: {
        message: "Not known to be unused: no report from n1 (had it mounted) and n2 (had it mounted)",
      },
    },
    {
      name: "a later end moves the time of an unused claim, whoever else is awaited",
      facts: { pendingNodes: [{ node: "n2", isSilent: true }], ends: [endWith()], stored: unusedStatus },
      status: { unused: true, reason: "Unmounted", sinceMs: NOON + 1_000 },
    },
    {
      name: "the end of the last mount is the time, and the evidence the mount table",
      facts: { ends: [endWith()], stored: mountedStatus(["n1"]) },
      status: {
        unused: true,
        reason: "Unmounted",
        sinceMs: NOON + 1_000,
        mountedOn: undefined,
        lastUse: {
          releaseId: "release-1",
          node: "n1",
          pod: "shop/web-0",
          podUid: "pod-1",
          releasedAtMs: NOON + 1_000,
          uncertaintyMs: 20,
          evidence: "mount-table",
        },
      },
    },
    {
      name: "of several ends the latest decides time, reason and last use",
      facts: {
        ends: [endWith(), podEndWith({ byMs: NOON + 3_000 }), endWith({ id: "release-2", byMs: NOON + 2_000 })],
      },
      status: {
        reason: "NoPodUsing",
        sinceMs: NOON + 3_000,
        lastUse: lastUseWith({
          releaseId: "p/1",
          pod: "shop/web-0",
          podUid: "pod-1",
          releasedAtMs: NOON + 3_000,
          uncertaintyMs: undefined,
          evidence: "pod-status",
        }),
      },
    },
    {
      name: "a pod that came and went without a mount ends the reference, and the last use stays",
      facts: { ends: [visitWith()], stored: statusWith({ lastUse: lastUseWith() }) },
      status: {
        unused: true,
        reason: "NoPodUsing",
        sinceMs: NOON + 1_000,
        lastUse: lastUseWith(),
      },
    },
    {
      name: "an end earlier than the time since when the claim counts as used does not move that time back",
      facts: { ends: [endWith({ byMs: NOON - 5_000 })], stored: mountedStatus(["n1"]) },
      status: { unused: true, reason: "Unmounted", sinceMs: NOON },
    },
    {
      name: "a use that is stored and ended later than the one learnt now decides time, reason and last use",
      facts: {
        ends: [endWith()],
        stored: statusWith({ sinceMs: NOON - 9_000, lastUse: lastUseWith({ releasedAtMs: NOON + 4_000 }) }),
      },
      status: {
        unused: true,
        reason: "Unmounted",
        sinceMs: NOON + 4_000,
        lastUse: lastUseWith({ releasedAtMs: NOON + 4_000 }),
      },
    },
    {
      name: "a stored use that ends in the future has ended now",
      facts: { ends: [endWith()], stored: statusWith({ lastUse: lastUseWith({ releasedAtMs: NOW + 60_000 }) }) },
      status: { sinceMs: NOW, reason: "Unmounted", lastUse: expect.objectContaining({ releasedAtMs: NOW }) },
    },
    {
      name: "a node that is gone says so",
      facts: { ends: [endWith({ reason: "NodeGone", evidence: "node-gone", widthMs: undefined })] },
      status: { unused: true, reason: "NodeGone" },
    },
    {
      name: "an idle claim seen for the first time was never observed in use",
      facts: {},
      status: {
        unused: true,
        reason: "NeverObservedInUse",
        sinceMs: NOW,
        lastUse: undefined,
      },
    },
    {
      name: "an idle claim that counts as unused is left alone",
      facts: { stored: statusWith({ unused: true, reason: "NeverObservedInUse" }) },
      status: undefined,
    },
    {
      name: "a use that ended while nobody watched ended by the node's first scan",
      facts: {
        stored: mountedStatus(["n1"]),
        unobservedEnd: endWith({ id: "first-read", pod: undefined, podUid: undefined, byMs: NOON + 9_000 }),
      },
      status: {
        unused: true,
        reason: "Unmounted",
        sinceMs: NOON + 9_000,
      },
    },
    {
      name: "a use of which not even the node is known ended by now, whatever other ends are known",
      facts: { stored: statusWith(), unobservedEnd: "unknown", ends: [endWith()] },
      status: {
        unused: true,
        reason: "NoPodUsing",
        sinceMs: NOW,
      },
    },
    {
      name: "a time that our own rounding put a little into the future is not moved back",
      facts: { stored: statusWith({ sinceMs: NOW + 1_500 }), unobservedEnd: "unknown" },
      status: { unused: true, sinceMs: NOW + 1_500 },
    },
    {
      name: "a claim that was made by a server whose clock is ahead is unused since then at the earliest",
      facts: { earliestMs: NOW + 60_000 },
      status: { unused: true, reason: "NeverObservedInUse", sinceMs: NOW + 60_000 },
    },
    {
      name: "a claim that was made by a server whose clock is ahead is in use since then at the earliest",
      facts: { earliestMs: NOW + 60_000, holders: ["n1"] },
      status: { unused: false, reason: "Mounted", sinceMs: NOW + 60_000 },
    },
    {
      name: "a time of a claim that was made by a server whose clock is ahead is none in the future",
      facts: { earliestMs: NOW + 60_000, stored: { ...unusedStatus, sinceMs: NOW + 61_000 } },
      status: undefined,
    },
    {
      name: "a use that ended before the claim was made, by another server's clock, has no earlier time",
      facts: { earliestMs: NOON + 9_000, ends: [endWith()] },
      status: {
        ...{ unused: true, reason: "Unmounted", sinceMs: NOON + 9_000 },
        lastUse: { ...endedAt(NOON + 9_000), uncertaintyMs: 8_020 },
      },
    },
    {
      name: "a later end learnt while it counts as unused moves the time",
      facts: { stored: { ...unusedStatus, lastUse: lastUseWith() }, ends: [endWith()] },
      status: {
        unused: true,
        sinceMs: NOON + 1_000,
        lastUse: expect.objectContaining({ releaseId: "release-1" }),
      },
    },
    {
      name: "a use learnt later, although it ended before the time, is the last one all the same: the time stays",
      facts: { stored: unusedStatus, ends: [endWith({ byMs: NOON - 1 })] },
      status: { ...unusedStatus, message: expect.stringContaining("shop/web-0"), lastUse: endedAt(NOON - 1) },
    },
    {
      name: "a use learnt later that ended before the last one changes nothing",
      facts: { stored: { ...unusedStatus, lastUse: lastUseWith() }, ends: [endWith({ byMs: NOON - 1_001 })] },
      status: undefined,
    },
    {
      name: "a use learnt later does not hide that a pod came and went after it",
      facts: {
        stored: { ...visited, lastUse: lastUseWith() },
        ends: [endWith({ byMs: NOON - 500 })],
      },
      status: { reason: "NoPodUsing", sinceMs: NOON, lastUse: endedAt(NOON - 500) },
    },
    {
      name: "of two uses that ended at once the same one is the last, in whatever order they come",
      facts: {
        stored: { ...unusedStatus, lastUse: { ...endedAt(NOON), releaseId: "release-2" } },
        ends: [endWith({ byMs: NOON })],
      },
      status: undefined,
    },
    {
      name: "a pod that named it has ended on a node that has not answered: a claim that counted as unused no longer does",
      facts: {
        stored: { ...unusedStatus, lastUse: lastUseWith() },
        pendingNodes: [{ node: "n2", isSilent: false, why: "pod-ended", pod: "shop/web-0" }],
      },
      status: { unused: false, reason: "Referenced", sinceMs: NOW, lastUse: lastUseWith() },
    },
    {
      name: "a node that falls silent changes nothing of a claim that counts as unused",
      facts: { stored: unusedStatus, pendingNodes: [{ node: "n2", isSilent: true, why: "attached" }] },
      status: undefined,
    },
    {
      name: "a stored last use that ends in the future is no news of a claim that is unused",
      facts: { stored: { ...unusedStatus, lastUse: lastUseWith({ releasedAtMs: NOW + 5_001 }) } },
      status: undefined,
    },
    {
      name: "a last use that a clock dated which was set back since, as it did the status, is over by now and is not forgotten",
      facts: {
        stored: { ...unusedStatus, sinceMs: NOW + 70_000, lastUse: lastUseWith({ releasedAtMs: NOW + 69_500 }) },
      },
      status: {
        ...unusedFields,
        sinceMs: NOW,
        lastUse: { ...lastUseWith({ releasedAtMs: NOW }), uncertaintyMs: undefined },
      },
    },
    {
      name: "an end that is told for the future counts as of now",
      facts: { stored: mountedStatus(["n1"]), ends: [endWith({ byMs: NOW + 60_000 })] },
      status: { unused: true, sinceMs: NOW, lastUse: endedAt(NOW) },
    },
    {
      name: "the unmount record that is stored, dated later by a second receipt, changes nothing",
      facts: {
        stored: { ...unusedStatus, lastUse: lastUseWith({ releaseId: "release-1" }) },
        ends: [endWith({ byMs: NOON + 2_000 })],
      },
      status: undefined,
    },
    {
      name: "unused, then mounted again: the time is now, and the last use stays",
      facts: { holders: ["n1"], stored: { ...unusedStatus, lastUse: lastUseWith() } },
      status: { unused: false, sinceMs: NOW, lastUse: lastUseWith() },
    },
    {
      name: "mounted after a time that lies a little ahead of now: the time is not moved back",
      facts: { holders: ["n1"], stored: { ...unusedStatus, sinceMs: NOW + 900 } },
      status: { unused: false, sinceMs: NOW + 900 },
    },
    {
      name: "the time stays over a change of reason",
      facts: { holders: ["n1"], stored: statusWith() },
      status: { unused: false, reason: "Mounted", sinceMs: NOON },
    },
    {
      name: "mounted by what is stored, on a node that has not been heard of since a start: it stays, though a pod names it",
      facts: {
        references: ["shop/web-0"],
        pendingNodes: [{ node: "n1", isSilent: false, why: "was-mounted" }],
        stored: mountedStatus(["n1"]),
      },
      status: undefined,
    },
    {
      name: "the same on a node that should have been heard of long ago: nobody waits for it while a pod names the claim",
      facts: {
        references: ["shop/web-0"],
        pendingNodes: [{ node: "n1", isSilent: true, why: "was-mounted" }],
        stored: mountedStatus(["n1"]),
      },
      status: undefined,
    },
    {
      name: "no longer mounted but referenced: the time stays and the use that ended is the last one",
      facts: { references: ["shop/web-0"], ends: [endWith()], stored: mountedStatus(["n1"]) },
      status: {
        reason: "Referenced",
        sinceMs: NOON,
        mountedOn: undefined,
        lastUse: expect.objectContaining({ releaseId: "release-1" }),
      },
    },
    {
      name: "uses that end while it stays referenced are not a reason to write",
      facts: { references: ["shop/web-0"], ends: [endWith()], stored: statusWith({ lastUse: lastUseWith() }) },
      status: { reason: "Referenced", lastUse: lastUseWith() },
    },
    {
      name: "uses that end while others go on are not a reason to write",
      facts: { holders: ["n1"], ends: [endWith()], stored: mountedStatus(["n1"], { lastUse: lastUseWith() }) },
      status: { reason: "Mounted", lastUse: lastUseWith() },
    },
    {
      name: "a node that drops out is not news: the nodes stay as they are stored",
      facts: { holders: ["n1"], references: ["shop/web-0"], stored: mountedStatus(["n1", "n2"]) },
      status: { mountedOn: { nodes: ["n1", "n2"], more: false }, message: "In use: mounted on nodes n1 and n2" },
    },
    {
      name: "a further node is news, and then those that have dropped out are left out",
      facts: { holders: ["n1", "n3"], stored: mountedStatus(["n1", "n2"]) },
      status: { mountedOn: { nodes: ["n1", "n3"], more: false } },
    },
    {
      name: "a node that has not been heard of since a start stays, and so does one whose unmount record is not settled",
      facts: {
        holders: ["n1"],
        pendingNodes: [{ node: "n4", isSilent: true }],
        ends: [endWith({ node: "n3" })],
        stored: mountedStatus(["n2", "n3", "n4"]),
      },
      status: { mountedOn: { nodes: ["n1", "n3", "n4"], more: false } },
    },
    {
      name: "a stored time far in the future is invalid and is stamped with now: mounted",
      facts: { holders: ["n1"], stored: mountedStatus(["n1"], { sinceMs: NOW + 5_001 }) },
      status: { sinceMs: NOW },
    },
    {
      name: "a stored time far in the future is invalid and is stamped with now: unused",
      facts: { stored: { ...unusedStatus, sinceMs: NOW + 5_001, lastUse: lastUseWith() } },
      status: { ...unusedFields, sinceMs: NOW, lastUse: lastUseWith() },
    },
    {
      name: "a stored time far in the future is left alone before the barrier opens: a new one would say that it is unused now",
      facts: { stored: { ...unusedStatus, sinceMs: NOW + 5_001 }, pendingNodes: [{ node: "n1", isSilent: false }] },
      status: undefined,
    },
    {
      name: "a stored time far in the future is stamped with now though a Stale node has to answer",
      facts: {
        stored: { ...unusedStatus, sinceMs: NOW + 5_001 },
        pendingNodes: [{ node: "n1", isSilent: true, why: "attached" }],
      },
      status: { ...unusedFields, sinceMs: NOW },
    },
    {
      name: "a stored time five seconds in the future is our own rounding and stays",
      facts: { stored: { ...unusedStatus, sinceMs: NOW + 5_000 } },
      status: undefined,
    },
  ])("$name", ({ facts, status }) => {
    const desired = desiredClaimStatus(factsWith(facts));

    if (status === undefined) expect(newsOf(factsWith(facts))).toBeUndefined();
    else expect(desired).toMatchObject(status);
  });

  it("keeps the names of 32 nodes, and says when there are more", () => {
    const holders = Array.from({ length: 33 }, (_, index) => `n${index + 10}`);

    const some = desiredClaimStatus(factsWith({ holders: holders.slice(0, 32) }));
    const many = desiredClaimStatus(factsWith({ holders }));
    const fewer = desiredClaimStatus(factsWith({ holders: ["n10"], stored: many }));

    expect(some?.mountedOn).toEqual({ nodes: holders.slice(0, 32), more: false });
    expect(many?.mountedOn).toEqual({ nodes: holders.slice(0, 32), more: true });
    expect(fewer?.mountedOn).toEqual(many?.mountedOn);
  });
});
