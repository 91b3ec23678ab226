import type { NodeFacts } from "../../common/storage/node-facts.ts";
import type { NodeHeartbeat, NodeMessage, NodeReport, Release } from "../../common/storage/node-report.ts";
import { type Hold, isUseHold, useKey, volumeKey } from "../../common/storage/volume-identity.ts";

/** The end of one pod's use of a volume on a node, in milliseconds of the API server's wall clock. */
export interface NodeRelease {
  readonly id: string;
  readonly node: string;
  readonly volume: Release["volume"];
  readonly podUid: string;
  /** `namespace/name`, where the agent knew it. */
  readonly pod: string | undefined;
  /** At or after the begin of the use. */
  readonly beganByMs: number;
  /** At or after the truth. */
  readonly byMs: number;
  /** By how much at most `byMs` is later than the truth; not known for what an earlier boot held. */
  readonly widthMs: number | undefined;
}

/** A hold, and what the agent knew of it. */
export type NodeHold = Hold & {
  /** `namespace/name` */
  readonly pod: string | undefined;
  /** By when it was there, on the boot clock. */
  readonly since: number;
  /** The same, by the API server's wall clock: at or after its begin. */
  readonly beganByMs: number;
};

/** What the last accepted report of a node says. Times are milliseconds of the API server's wall clock, never too early unless told. */
export interface NodeView {
  readonly node: string;
  readonly bootId: string;
  readonly instance: string;
  readonly generation: number;
  readonly holds: readonly NodeHold[];
  /** Releases that may still change a status, by ID: those reported, and those that only the difference of two reports shows. */
  readonly releases: ReadonlyMap<string, NodeRelease>;
  /** Begin of the last complete read, never too late. */
  readonly readBeganMs: number;
  /** End of the last complete read. */
  readonly readEndedMs: number;
  /** End of the first complete read of this run of the agent: what was unmounted before it, the agent cannot know. */
  readonly observedSinceMs: number;
  /** The pod watch had reached this before the read began. */
  readonly podsResourceVersion: string | undefined;
  /** Begin and end of that read on the boot clock. */
  readonly read: NodeReport["read"];
  /** For people to read. */
  readonly facts?: NodeFacts | undefined;
}

/** When a report came, by the API server's wall clock. */
export interface Receipt {
  /** The latest that the server's clock can have shown. */
  readonly atMs: number;
  /** By how much `atMs` may be too late. */
  readonly widthMs: number;
  /** The Node object's boot ID, when it is known. */
  readonly nodeBootId: string | undefined;
}

/** What became of a report. */
export type Acceptance =
  | { readonly kind: "accepted"; readonly view: NodeView }
  | { readonly kind: "stale"; readonly why: string };

/** Merges a report into what is known of its node. A report may come late, twice or out of order. */
export function acceptReport(known: NodeView | undefined, report: NodeReport, receipt: Receipt): Acceptance {
  const why = staleness(known, report, receipt);
  if (why !== undefined) return { kind: "stale", why };
  const at = clockOf(report, receipt);
  const holds = holdsOf(known, report, at);
  const begins = beginsIn(known?.bootId === report.bootId ? known.holds : []);
  const reported = report.releases.map((release) => toNodeRelease(release, { node: report.node, begins, at }));
  const view: NodeView = {
    node: report.node,
    bootId: report.bootId,
    instance: report.instance,
    generation: report.generation,
    holds,
    releases: mergeReleases(known, [...reported, ...inferred(known, report, { holds, at })]),
    ...sightOf(report, at),
  };
  return { kind: "accepted", view };
}

/** A heartbeat: the known state, read again. When it means another state than the known one, the whole is needed. */
export function acceptHeartbeat(
  known: NodeView | undefined,
  heartbeat: NodeHeartbeat,
  receipt: Receipt,
): Acceptance | { readonly kind: "unknown" } {
  const { bootId, instance, generation } = heartbeat;
  if (known?.bootId !== bootId || known.instance !== instance || known.generation !== generation)
    return { kind: "unknown" };
  const why = staleness(known, heartbeat, receipt);
  if (why !== undefined) return { kind: "stale", why };
  return { kind: "accepted", view: { ...known, ...sightOf(heartbeat, clockOf(heartbeat, receipt)) } };
}

type Sight = Pick<
  NodeView,
  "readBeganMs" | "readEndedMs" | "observedSinceMs" | "podsResourceVersion" | "read" | "facts"
>;

function sightOf({ read, observedSince, podsResourceVersion, facts }: NodeMessage, at: ReportClock): Sight {
  return {
    readBeganMs: at.earliest(read.beganAt),
    readEndedMs: at.wall(read.endedAt),
    observedSinceMs: at.wall(observedSince),
    podsResourceVersion,
    read,
    facts,
  };
}

function staleness(known: NodeView | undefined, report: NodeMessage, { nodeBootId }: Receipt): string | undefined {
  // A late report of an old boot would end what is mounted now; where the Node object does not tell, the known boot stays.
  const presentBootId = nodeBootId ?? known?.bootId ?? report.bootId;
  if (report.bootId !== known?.bootId) {
    return report.bootId === presentBootId ? undefined : "of another boot than the node's present one";
  }
  return report.read.endedAt < known.read.endedAt ? "its read is older than one already known" : undefined;
}

interface ReportClock {
  /** A stamp on the boot clock as wall time; transit and drift only make it later. */
  readonly wall: (stamp: number) => number;
  /** The same but for the transit never too late: what the width of an interval is measured from. */
  readonly earliest: (stamp: number) => number;
}

function clockOf({ sentAt, driftPpm }: NodeMessage, { atMs, widthMs }: Receipt): ReportClock {
  const drift = driftPpm * 1e-6;
  const age = (stamp: number): number => Math.max(0, sentAt - stamp);
  return {
    wall: (stamp) => atMs - age(stamp) * (1 - drift),
    earliest: (stamp) => atMs - widthMs - age(stamp) * (1 + drift),
  };
}

/** Each report dates a stamp anew, later by its transit and drift: the earliest that a hold was dated stays. */
function holdsOf(known: NodeView | undefined, report: NodeReport, at: ReportClock): readonly NodeHold[] {
  const before = known?.bootId === report.bootId ? known.holds : [];
  const dated = new Map(before.map((hold) => [stampedKey(hold), hold.beganByMs]));
  return report.holds.map(({ kind, volume, podUid, pod, since }) => {
    const known = dated.get(stampedKey({ kind, volume, podUid, since })) ?? Number.POSITIVE_INFINITY;
    return { kind, volume, podUid, pod, since, beganByMs: Math.min(at.wall(since), known) };
  });
}

function stampedKey({ kind, volume, podUid, since }: Hold & { readonly since: number }): string {
  return `${since}/${kind}/${podUid ?? ""}/${volumeKey(volume)}`;
}

/** By when each use that the holds show had begun. */
function beginsIn(holds: readonly NodeHold[]): ReadonlyMap<string, number> {
  const begins = new Map<string, number>();
  for (const hold of holds.filter(isUseHold)) {
    const key = useKey(hold);
    begins.set(key, Math.min(hold.beganByMs, begins.get(key) ?? Number.POSITIVE_INFINITY));
  }
  return begins;
}

function toNodeRelease(
  { id, volume, podUid, pod, after, by }: Release,
  {
    node,
    begins,
    at,
  }: { readonly node: string; readonly begins: ReadonlyMap<string, number>; readonly at: ReportClock },
): NodeRelease {
  const byMs = at.wall(by);
  const beganByMs = Math.min(byMs, begins.get(useKey({ volume, podUid })) ?? byMs);
  const widthMs = after === undefined ? undefined : byMs - at.earliest(after);
  return { id, node, volume, podUid, pod, beganByMs, byMs, widthMs };
}

/**
 * Ends that no release tells of: a hold that the last report showed and this one does not, without a release for it, belongs
 * to an agent that was replaced meanwhile. It ended between the two reads; in another boot, before that boot began.
 */
function inferred(
  known: NodeView | undefined,
  report: NodeReport,
  { holds, at }: { readonly holds: readonly NodeHold[]; readonly at: ReportClock },
): readonly NodeRelease[] {
  if (known === undefined) return [];
  const isSameBoot = known.bootId === report.bootId;
  const present = new Set(isSameBoot ? holds.filter(isUseHold).map(useKey) : []);
  const told = new Set(report.releases.filter(({ id }) => !known.releases.has(id)).map(useKey));
  const endedAt = isSameBoot ? report.read.endedAt : 0;
  // Two receipts may be dated a little apart: an end is never before the read that still showed the hold.
  const byMs = Math.max(at.wall(endedAt), known.readEndedMs);
  const widthMs = byMs - (isSameBoot ? at.earliest(known.read.beganAt) : known.readBeganMs);
  const lost = new Map(known.holds.filter(isUseHold).map((hold) => [useKey(hold), hold]));
  return [...lost]
    .filter(([key]) => !present.has(key) && !told.has(key))
    .map(([, { volume, podUid, pod, beganByMs }]) => ({
      id: `${report.bootId}/${Math.round(endedAt * 1000)}/${podUid}/${volumeKey(volume)}`,
      node: report.node,
      volume,
      podUid,
      pod,
      beganByMs,
      byMs,
      widthMs,
    }));
}

/** Of one release told twice the earlier time is as true as the later: both are at or after the truth. */
function mergeReleases(known: NodeView | undefined, found: readonly NodeRelease[]): ReadonlyMap<string, NodeRelease> {
  const releases = new Map(known?.releases);
  for (const release of found) {
    const before = releases.get(release.id);
    const beganByMs = Math.min(release.beganByMs, before?.beganByMs ?? release.beganByMs);
    if (before === undefined || release.byMs < before.byMs) releases.set(release.id, { ...release, beganByMs });
  }
  return releases;
}

/** The view without releases that can no longer change any status. */
export function settle(view: NodeView, releaseIds: readonly string[]): NodeView {
  const releases = new Map(view.releases);
  for (const id of releaseIds) releases.delete(id);
  return { ...view, releases };
}
