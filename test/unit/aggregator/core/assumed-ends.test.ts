import { describe, expect, it } from "vitest";
import { unobservedEndOf } from "../../../../aggregator/core/assumed-ends.ts";
import type { NodeUnmountRecord, NodeView } from "../../../../aggregator/core/node-view.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import {
  blindUntil,
  claimWith,
  mountedStatus,
  NOON,
  nodeUnmountRecord,
  stampAt,
  statusWith,
  viewWith,
} from "../world.ts";
import { evidenceWith, fleetWith } from "./evidence.ts";

const GONE = NOON + 300_000;
const LOST = { bootId: undefined, atMs: GONE, evidence: "node-gone" } as const;

describe("blindEndOf: the end of a use that this run has not witnessed", () => {
  const since = NOON;
  const began = NOON + 60_000;
  const assumedUse = {
    releaseId: "n1/gone",
    node: "n1",
    pod: undefined,
    podUid: undefined,
    evidence: "node-gone",
  } as const;
  const goneSince = statusWith({
    unused: true,
    reason: "NodeGone",
    lastUse: { ...assumedUse, releasedAtMs: since, uncertaintyMs: undefined },
  });

  it.each<{
    readonly name: string;
    readonly status?: ClaimStatus | undefined;
    readonly views?: readonly NodeView[];
    readonly unmountRecords?: readonly NodeUnmountRecord[];
    readonly witnessedNodes?: readonly string[];
    readonly mistakenNodes?: readonly string[];
    readonly isWitnessed?: boolean;
    readonly gone?: readonly string[];
    readonly unobservedEnd: unknown;
  }>([
    { name: "a claim without a status has none", status: undefined, unobservedEnd: undefined },
    {
      name: "a claim that counts as unused has none",
      status: statusWith({ unused: true, reason: "Unmounted" }),
      unobservedEnd: undefined,
    },
    {
      name: "an end that was assumed with its node's stands as long as the node is away",
      status: goneSince,
      views: [viewWith({ readBeganMs: since })],
      unobservedEnd: undefined,
    },
    {
      name: "an end that was assumed with its node's is by the node's first read when it is back",
      status: goneSince,
      views: [viewWith({ readBeganMs: began, agentGaps: blindUntil(began) })],
      unobservedEnd: { id: "boot-1/first-read/run-1", byMs: began, widthMs: 71_000, node: "n1" },
    },
    {
      name: "a node that is back and was watched all the time tells the end itself",
      status: goneSince,
      views: [viewWith({ readBeganMs: began })],
      unmountRecords: [nodeUnmountRecord()],
      unobservedEnd: undefined,
    },
    {
      name: "an agent that began after the mount knows that it had ended by its first read",
      views: [viewWith({ agentGaps: blindUntil(began) })],
      unobservedEnd: { id: "boot-1/first-read/run-1", byMs: began, widthMs: 71_000, node: "n1", pod: undefined },
    },
    {
      name: "an agent whose journal knew the mount tells the end itself, by its first read as well, and whose it was",
      views: [viewWith({ agentGaps: blindUntil(began) })],
      unmountRecords: [nodeUnmountRecord({ byMs: began - 1, by: stampAt(began) })],
      unobservedEnd: undefined,
    },
    {
      name: "an end from before its first read says nothing of the mount that it may have forgotten",
      views: [viewWith({ agentGaps: blindUntil(began) })],
      unmountRecords: [nodeUnmountRecord({ by: stampAt(began) - 1 })],
      unobservedEnd: { id: "boot-1/first-read/run-1" },
    },
    {
      name: "an end of another time of its clock says nothing, whatever its stamp",
      views: [viewWith({ agentGaps: blindUntil(began), timeline: 1 })],
      unmountRecords: [nodeUnmountRecord({ by: stampAt(began) })],
      unobservedEnd: { id: "boot-1/first-read/run-1" },
    },
    {
      name: "an end that another node tells says nothing",
      views: [viewWith({ agentGaps: blindUntil(began) })],
      unmountRecords: [nodeUnmountRecord({ node: "n2", by: stampAt(began) })],
      unobservedEnd: { id: "boot-1/first-read/run-1" },
    },
    {
      name: "an agent that began within the second of the stored time may have begun after the mount",
      views: [viewWith({ agentGaps: blindUntil(since - 999) })],
      unobservedEnd: { byMs: since - 999, widthMs: 10_001 },
    },
    {
      name: "an agent that watched all the time would have told: without its word the end is unknown",
      views: [viewWith({ agentGaps: blindUntil(since - 1_000) })],
      unobservedEnd: "unknown",
    },
    {
      name: "an end that was read stands, though its node has been blind since",
      status: statusWith({
        unused: true,
        reason: "Unmounted",
        lastUse: { ...assumedUse, evidence: "mount-table", releasedAtMs: since, uncertaintyMs: 5 },
      }),
      views: [viewWith({ readBeganMs: began, agentGaps: blindUntil(began) })],
      unobservedEnd: undefined,
    },
    {
      name: "an agent that watched all the time has told",
      views: [viewWith({ agentGaps: blindUntil(since - 1_000) })],
      unmountRecords: [nodeUnmountRecord()],
      unobservedEnd: undefined,
    },
    {
      name: "of several nodes the latest first read counts",
      status: mountedStatus(["n1", "n2"]),
      views: [viewWith({ agentGaps: blindUntil(began) }), viewWith({ node: "n2", agentGaps: blindUntil(began + 1) })],
      unobservedEnd: { node: "n2", byMs: began + 1 },
    },
    {
      name: "of several nodes the latest first read counts, whichever comes first",
      status: mountedStatus(["n1", "n2"]),
      views: [viewWith({ agentGaps: blindUntil(began + 1) }), viewWith({ node: "n2", agentGaps: blindUntil(began) })],
      unobservedEnd: { node: "n1", byMs: began + 1, wasUse: true },
    },
    {
      name: "what its agent did not watch after the stored time does not matter: by its first read the mount was known",
      views: [
        viewWith({
          agentGaps: [...blindUntil(began), { fromMs: began + 5_000, toMs: began + 9_000, to: stampAt(began + 9_000) }],
        }),
      ],
      unobservedEnd: { byMs: began },
    },
    {
      name: "what began at the stored time to be unwatched may have hidden nothing before it",
      views: [viewWith({ agentGaps: [{ fromMs: since, toMs: began, to: stampAt(began) }] })],
      unobservedEnd: "unknown",
    },
    {
      name: "a node that is gone and has reported to this run is told by what it showed",
      gone: ["n1"],
      views: [viewWith({ agentGaps: blindUntil(since - 1_000) })],
      unobservedEnd: "unknown",
    },
    {
      name: "where it was mounted on too many nodes to keep, any node's first read counts",
      status: statusWith({ reason: "Mounted", mountedOn: { nodes: ["n2"], more: true } }),
      views: [
        viewWith({ node: "n2", agentGaps: blindUntil(0) }),
        viewWith({ node: "n3", agentGaps: blindUntil(began) }),
      ],
      unobservedEnd: { node: "n3", byMs: began },
    },
    {
      name: "a node with a mount that turned out to be another volume's names no user, and nobody knows how the claim's use ended",
      views: [viewWith({ agentGaps: blindUntil(began) })],
      mistakenNodes: ["n1"],
      isWitnessed: true,
      unobservedEnd: "unknown",
    },
    {
      name: "a node on which this run has seen the mount is not blind",
      views: [viewWith({ agentGaps: blindUntil(began) })],
      witnessedNodes: ["n1"],
      isWitnessed: true,
      unobservedEnd: undefined,
    },
    {
      name: "a node that is gone held it until that was established",
      gone: ["n1"],
      unobservedEnd: {
        ...{ id: "n1/node-gone", reason: "NodeGone", evidence: "node-gone", byMs: GONE, widthMs: undefined },
        ...{ node: "n1", pod: undefined, podUid: undefined, wasUse: true },
      },
    },
    {
      name: "of a node that is gone and of one that reports the later end counts",
      status: mountedStatus(["n1", "n2"]),
      gone: ["n1"],
      views: [viewWith({ node: "n2", agentGaps: blindUntil(GONE + 1) })],
      unobservedEnd: { node: "n2", reason: "Unmounted" },
    },
    {
      name: "a node that is gone and that this run has seen mount it is told by what it showed",
      gone: ["n1"],
      witnessedNodes: ["n1"],
      isWitnessed: true,
      unobservedEnd: undefined,
    },
    {
      name: "referenced, and nobody here saw by whom: unknown",
      status: statusWith(),
      unobservedEnd: "unknown",
    },
    {
      name: "referenced, with an unmount record that may be an older one: unknown all the same",
      status: statusWith(),
      unmountRecords: [nodeUnmountRecord()],
      unobservedEnd: "unknown",
    },
    {
      name: "referenced, and this run has seen the pod: not blind",
      status: statusWith(),
      isWitnessed: true,
      unobservedEnd: undefined,
    },
  ])(
    "$name",
    ({
      views = [],
      unmountRecords = [],
      witnessedNodes = [],
      mistakenNodes = [],
      isWitnessed = false,
      unobservedEnd,
      ...row
    }) => {
      const assumed = Object.fromEntries((row.gone ?? []).map((node) => [node, LOST]));
      const status = "status" in row ? row.status : mountedStatus(["n1"]);
      const claim = claimWith({ status });
      const evidence = evidenceWith({ claim, unmountRecords, witnessedNodes, mistakenNodes, isWitnessed });

      const end = unobservedEndOf(evidence, fleetWith(views, { assumed }));

      if (typeof unobservedEnd === "object") expect(end).toMatchObject(unobservedEnd ?? {});
      else expect(end).toBe(unobservedEnd);
    },
  );
});
