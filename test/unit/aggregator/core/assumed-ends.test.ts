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
/** When the agent that a row tells of had its first scan. */
const BEGAN = NOON + 60_000;

/** What is stored of the claim since noon, that it is mounted on `n1` unless a row says something else, and what is known now. */
interface Scene {
  readonly status?: ClaimStatus | undefined;
  readonly views?: readonly NodeView[];
  readonly records?: readonly NodeUnmountRecord[];
  readonly isWitnessed?: boolean;
  /** Nodes that are gone, each a millisecond after the one before. */
  readonly gone?: readonly string[];
  readonly shows?: true;
}

function endIn({ views = [], records: unmountRecords = [], isWitnessed = false, gone = [], ...scene }: Scene): string {
  const assumed = Object.fromEntries(
    gone.map((node, index) => [node, { bootId: undefined, atMs: GONE + index, evidence: "node-gone" } as const]),
  );
  const status = "status" in scene ? scene.status : mountedStatus(["n1"]);
  const uses = scene.shows ? [useOn("n1")] : [];
  const evidence = evidenceWith({ claim: claimWith({ status }), unmountRecords, isWitnessed, uses });
  const end = unobservedEndOf(evidence, fleetWith(views, { assumed }));
  return typeof end === "object" ? `${end.id} at ${end.byMs - GONE}` : (end ?? "none");
}

const sees = (agentGaps: NodeView["agentGaps"], fields: Partial<NodeView> = {}) => viewWith({ agentGaps, ...fields });
/** An agent that lost its journal after the mount, and one that watched all the time. */
const lost = sees(blindUntil(BEGAN));
const watched = sees(blindUntil(NOON - 1_000));
const LOST = { views: [lost], isWitnessed: true } as const;
const lostOnN2 = sees(blindUntil(BEGAN), { node: "n2" });
const onNextClock = sees(blindUntil(BEGAN), { timeline: 1 });
const tells = (fields: Partial<NodeUnmountRecord>) => ({ records: [nodeUnmountRecord(fields)] });
const gapFrom = (fromMs: number, toMs: number) => [{ fromMs, toMs, to: stampAt(toMs) }];
const idle = (fields: Partial<ClaimStatus>) => ({ status: statusWith({ unused: true, ...fields }) });
const both = { status: mountedStatus(["n1", "n2"]) };
const manyFromN2 = { status: statusWith({ reason: "Mounted", mountedOn: { nodes: ["n2"], more: true } }) };
const lostOnN3 = { views: [sees(blindUntil(0), { node: "n2" }), sees(blindUntil(BEGAN), { node: "n3" })] };
const named = { status: statusWith() };

describe("unobservedEndOf: the end of a use that is stored, and that neither records nor pods tell", () => {
  it.each<readonly [name: string, scene: Scene, end: string]>(
    // biome-ignore format: a row is a line
    [
      ["a claim without a status has none", { status: undefined }, "none"],
      ["a claim that counts as unused has none", idle({ reason: "Unmounted" }), "none"],
      ["one whose journal knew it tells its end by its first scan", { views: [lost], ...tells({ byMs: BEGAN - 1, by: stampAt(BEGAN) }) }, "none"],
      ["an end from before that scan says nothing of the mount", { ...LOST, ...tells({ by: stampAt(BEGAN) - 1 }) }, "unknown"],
      ["an end of another time of its clock says nothing", { ...LOST, views: [onNextClock], ...tells({ by: stampAt(BEGAN) }) }, "unknown"],
      ["an end that another node tells says nothing", { ...LOST, ...tells({ node: "n2", by: stampAt(BEGAN) }) }, "unknown"],
      ["an agent that began within that second may have begun later", { ...LOST, views: [sees(blindUntil(NOON - 999))] }, "unknown"],
      ["an agent that watched would have told: without its word the end is unknown", { views: [watched] }, "unknown"],
      ["a gap from after the stored time loses nothing", { ...LOST, views: [sees(gapFrom(BEGAN + 5_000, BEGAN + 9_000))] }, "none"],
      ["a gap from that time may have hidden nothing before it", { ...LOST, views: [sees(gapFrom(NOON, BEGAN))] }, "none"],
      ["a node that is gone and has reported is told by what it showed", { gone: ["n1"], views: [watched] }, "unknown"],
      ["a lost journal is covered by the end of a node that showed the mount since", { ...LOST, gone: ["n1"], shows: true }, "none"],
      ["the end of a node that had not shown it covers nothing", { ...LOST, gone: ["n1"] }, "unknown"],
      ["of too many nodes to keep any one may have forgotten it", { ...manyFromN2, ...LOST, ...lostOnN3 }, "unknown"],
      ["of two nodes that are gone the later end counts", { ...both, gone: ["n1", "n2"] }, "n2/node-gone at 1"],
      ["it does in whatever order", { ...both, gone: ["n2", "n1"] }, "n1/node-gone at 1"],
      ["a node that is gone does not tell what another one forgot", { ...both, ...LOST, gone: ["n1"], views: [lostOnN2] }, "unknown"],
      ["named, with a record that may be an older one: unknown all the same", { ...named, ...tells({}) }, "unknown"],
    ],
  )("%s", (_, scene, end) => {
    expect(endIn(scene)).toBe(end);
  });

  it("is assumed, of a use by nobody knows whom", () => {
    const assumed = { n1: { bootId: undefined, atMs: GONE, evidence: "node-gone" } } as const;
    const end = unobservedEndOf(
      evidenceWith({ claim: claimWith({ status: mountedStatus(["n1"]) }) }),
      fleetWith([], { assumed }),
    );

    const user = { node: "n1", pod: undefined, podUid: undefined, wasUse: true };
    expect(end).toEqual({
      id: "n1/node-gone",
      reason: "NodeGone",
      evidence: "node-gone",
      byMs: GONE,
      widthMs: undefined,
      ...user,
    });
  });
});
