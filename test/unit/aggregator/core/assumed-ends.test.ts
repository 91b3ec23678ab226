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
import { evidenceWith, fleetWith, useOn } from "./evidence.ts";

const GONE = NOON + 300_000;
const LOST = { bootId: undefined, atMs: GONE, evidence: "node-gone" } as const;

describe("unobservedEndOf: the end of a use that is stored, and that neither records nor pods tell", () => {
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
    readonly isWitnessed?: boolean;
    readonly gone?: readonly string[];
    readonly shows?: boolean;
    readonly unobservedEnd: unknown;
  }>(
    // biome-ignore format: a row is a line
    [
      { name: "a claim without a status has none", status: undefined, unobservedEnd: undefined },
      { name: "a claim that counts as unused has none", status: statusWith({ unused: true, reason: "Unmounted" }), unobservedEnd: undefined },
      {
        name: "an end that was assumed with its node's stands as long as the node is away",
        status: goneSince,
        views: [viewWith({ scanBeganMs: since })],
        unobservedEnd: undefined,
      },
      {
        name: "an agent that lost its journal after the mount may have forgotten it",
        views: [viewWith({ agentGaps: blindUntil(began) })],
        isWitnessed: true,
        unobservedEnd: "unknown",
      },
      {
        name: "an agent whose journal knew the mount tells the end itself, by its first scan as well, and whose it was",
        views: [viewWith({ agentGaps: blindUntil(began) })],
        unmountRecords: [nodeUnmountRecord({ byMs: began - 1, by: stampAt(began) })],
        unobservedEnd: undefined,
      },
      {
        name: "an end from before its first scan says nothing of the mount that it may have forgotten",
        views: [viewWith({ agentGaps: blindUntil(began) })],
        unmountRecords: [nodeUnmountRecord({ by: stampAt(began) - 1 })],
        isWitnessed: true,
        unobservedEnd: "unknown",
      },
      {
        name: "an end of another time of its clock says nothing, whatever its stamp",
        views: [viewWith({ agentGaps: blindUntil(began), timeline: 1 })],
        unmountRecords: [nodeUnmountRecord({ by: stampAt(began) })],
        isWitnessed: true,
        unobservedEnd: "unknown",
      },
      {
        name: "an end that another node tells says nothing",
        views: [viewWith({ agentGaps: blindUntil(began) })],
        unmountRecords: [nodeUnmountRecord({ node: "n2", by: stampAt(began) })],
        isWitnessed: true,
        unobservedEnd: "unknown",
      },
      {
        name: "an agent that began within the second of the stored time may have begun after the mount",
        views: [viewWith({ agentGaps: blindUntil(since - 999) })],
        isWitnessed: true,
        unobservedEnd: "unknown",
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
        views: [viewWith({ scanBeganMs: began, agentGaps: blindUntil(began) })],
        unobservedEnd: undefined,
      },
      {
        name: "an agent that watched all the time has told",
        views: [viewWith({ agentGaps: blindUntil(since - 1_000) })],
        unmountRecords: [nodeUnmountRecord()],
        unobservedEnd: undefined,
      },
      {
        name: "one of several nodes whose agent lost its journal is enough",
        status: mountedStatus(["n1", "n2"]),
        views: [
          viewWith({ agentGaps: blindUntil(since - 1_000) }),
          viewWith({ node: "n2", agentGaps: blindUntil(began) }),
        ],
        isWitnessed: true,
        unobservedEnd: "unknown",
      },
      {
        name: "a gap that the agent remembers from after the stored time loses nothing: by then the mount was known",
        views: [viewWith({ agentGaps: [{ fromMs: began + 5_000, toMs: began + 9_000, to: stampAt(began + 9_000) }] })],
        isWitnessed: true,
        unobservedEnd: undefined,
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
        name: "an agent that lost its journal is covered by the end of its node, which it had shown mounted since",
        gone: ["n1"],
        shows: true,
        views: [viewWith({ agentGaps: blindUntil(began) })],
        isWitnessed: true,
        unobservedEnd: undefined,
      },
      {
        name: "the end of a node that had not shown it mounted covers nothing",
        gone: ["n1"],
        views: [viewWith({ agentGaps: blindUntil(began) })],
        isWitnessed: true,
        unobservedEnd: "unknown",
      },
      {
        name: "where it was mounted on too many nodes to keep, any node may have forgotten it",
        status: statusWith({ reason: "Mounted", mountedOn: { nodes: ["n2"], more: true } }),
        views: [
          viewWith({ node: "n2", agentGaps: blindUntil(0) }),
          viewWith({ node: "n3", agentGaps: blindUntil(began) }),
        ],
        isWitnessed: true,
        unobservedEnd: "unknown",
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
        name: "of two nodes that are gone the later end counts",
        status: mountedStatus(["n1", "n2"]),
        gone: ["n1", "n2"],
        unobservedEnd: { node: "n2", byMs: GONE + 1 },
      },
      {
        name: "a node that is gone does not tell what another one forgot",
        status: mountedStatus(["n1", "n2"]),
        gone: ["n1"],
        views: [viewWith({ node: "n2", agentGaps: blindUntil(began) })],
        isWitnessed: true,
        unobservedEnd: "unknown",
      },
      { name: "referenced, and nobody here saw by whom: unknown", status: statusWith(), unobservedEnd: "unknown" },
      {
        name: "referenced, with an unmount record that may be an older one: unknown all the same",
        status: statusWith(),
        unmountRecords: [nodeUnmountRecord()],
        unobservedEnd: "unknown",
      },
      { name: "referenced, and this run has seen the pod: not blind", status: statusWith(), isWitnessed: true, unobservedEnd: undefined },
    ],
  )(
    "$name",
    ({ views = [], unmountRecords = [], isWitnessed = false, unobservedEnd, gone = [], shows = false, ...row }) => {
      const assumed = Object.fromEntries(gone.map((node, index) => [node, { ...LOST, atMs: GONE + index }]));
      const status = "status" in row ? row.status : mountedStatus(["n1"]);
      const uses = shows ? [useOn("n1")] : [];
      const evidence = evidenceWith({ claim: claimWith({ status }), unmountRecords, isWitnessed, uses });

      const end = unobservedEndOf(evidence, fleetWith(views, { assumed }));

      if (typeof unobservedEnd === "object") expect(end).toMatchObject(unobservedEnd ?? {});
      else expect(end).toBe(unobservedEnd);
    },
  );
});
