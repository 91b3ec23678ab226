import { describe, expect, it } from "vitest";
import {
  type AgentState,
  type AssumedEnd,
  assumedEndOf,
  type NodeObservation,
  opinionOf,
} from "../../../../aggregator/core/nodes/agent-state.ts";
import { NOON, nodeMountedVolume, nodeWith, viewWith } from "../world.ts";

const LIMITS = { nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000, nodeGoneAfterMs: 300_000 };
const OBJECT = { ...nodeWith("n1"), heartbeat: "12:00" };
const MOUNTED = { view: viewWith({ mountedVolumes: [nodeMountedVolume("pod-1")] }) };
const OFF = { object: { ...OBJECT, isOutOfService: true, isReady: false } };
const READY_OFF = { object: { ...OBJECT, isOutOfService: true, isReady: true } };
const DELETED = { object: undefined };
const REBOOTED = { object: { ...OBJECT, bootId: "boot-2" } };
/** Its kubelet has not reported its boot. */
const NAMELESS = { object: { ...OBJECT, bootId: undefined } };
const WINDOWS = { object: { ...OBJECT, os: "windows" } };
const LINUX = { object: { ...OBJECT, os: "linux" } };
/** Its kubelet has reported since. */
const ALIVE = { quietHeartbeat: "11:55" };
const LONG = 86_400_000;

/** A node whose agent has just reported, and whose pod is there. */
function reporting(fields: Partial<NodeObservation> = {}): NodeObservation {
  const ages = { reportAgeMs: 0, objectAgeMs: LONG, agentAwayMs: undefined };
  return { object: OBJECT, view: viewWith(), ...ages, quietHeartbeat: undefined, ...fields };
}

/** A node whose last complete scan had ended so long before the report. */
function unread(ms: number, { view = viewWith(), ...fields }: Partial<NodeObservation> = {}): NodeObservation {
  return reporting({ ...fields, view: { ...view, sentAt: view.scan.endedAt + ms } });
}

/** No report since the start, which was so long ago. */
function unreported(objectAgeMs: number, fields: Partial<NodeObservation> = {}): NodeObservation {
  return reporting({ view: undefined, reportAgeMs: undefined, objectAgeMs, ...fields });
}

/** Its agent has left it so long ago, and reported last then. */
function left(agentAwayMs: number, fields: Partial<NodeObservation> = {}): NodeObservation {
  return reporting({ reportAgeMs: agentAwayMs, agentAwayMs, ...fields });
}

/** The next heartbeat of its kubelet would decide. */
const QUIET = ", quiet since 12:00";
const REPORTS = "Reporting: it reports";
const AWAITED = "Reporting: its first report is awaited";
const STOPPED = "Stale: its reports have stopped";
const UNSEEN = "Stale: no report since the aggregator or the node came up";
const UNREADABLE = "Stale: its agent cannot read the mount table completely";
const NO_AGENT = "NoAgent: no report has come and no agent pod been there for long, while its kubelet lives";
const FOREIGN = "NoAgent: no agent belongs on windows";
const GONE = "Gone: its Node object is deleted";
const TAINTED = "Gone: it is tainted out-of-service and not ready";

describe("a node", () => {
  it.each<readonly [name: string, observed: NodeObservation, state: string]>(
    // biome-ignore format: a row is a line
    [
      ["is Stale after three missed heartbeats", reporting({ reportAgeMs: 90_001 }), STOPPED],
      ["is Stale when its agent cannot read the mount table for three minutes", unread(180_001), UNREADABLE],
      ["is Reporting when its agent read the table three minutes ago", unread(180_000), REPORTS],
      ["is Stale when its operating system is Linux and no report comes", unreported(90_001, LINUX), UNSEEN],
      ["is NoAgent on another operating system", unreported(0, WINDOWS), FOREIGN],
      ["is Stale until its kubelet reports after the agent left", unreported(600_000, { agentAwayMs: 600_000 }), `${UNSEEN}${QUIET}`],
      ["stays Stale while its last report shows a mount", left(LONG, { ...MOUNTED, ...ALIVE }), STOPPED],
      ["stays Stale then on another operating system, too", left(LONG, { ...MOUNTED, ...WINDOWS }), STOPPED],
      ["is Stale until its agent has been away for ten minutes", left(599_999, ALIVE), STOPPED],
      ["is NoAgent after ten minutes, when its kubelet has reported since", left(600_000, ALIVE), NO_AGENT],
      ["is NoAgent when another boot showed the mount", left(LONG, { ...MOUNTED, ...REBOOTED, ...ALIVE }), NO_AGENT],
      ["stays Stale when its kubelet does not report its boot", left(LONG, { ...MOUNTED, ...NAMELESS, ...ALIVE }), STOPPED],
      ["stays Stale while its object is deleted: no kubelet can report", unreported(299_999, { ...DELETED, agentAwayMs: LONG, ...ALIVE }), UNSEEN],
      ["is Gone five minutes after its object", left(LONG, { ...DELETED, objectAgeMs: 300_000 }), GONE],
      ["is Gone when it is tainted out-of-service and not ready", left(LONG, { ...OFF, ...MOUNTED }), TAINTED],
      ["stays Stale while it is tainted and ready", left(LONG, READY_OFF), `${STOPPED}${QUIET}`],
      ["stays Stale when it is tainted and its agent reports that it cannot read", unread(180_001, { ...OFF, ...MOUNTED }), UNREADABLE],
      ["stays Stale when its object is deleted then", unread(600_000, { ...DELETED, ...MOUNTED }), UNREADABLE],
      ["is Reporting while its first report may still come", unreported(90_000, OFF), AWAITED],
      ["is Gone when it was tainted before the start and has not reported since", unreported(90_001, OFF), TAINTED],
    ],
  )("%s", (_, observed, state) => {
    const { agentState, quietHeartbeat } = opinionOf(observed, LIMITS);

    const quiet = quietHeartbeat === "12:00" ? QUIET : "";
    expect(`${agentState.kind}: ${agentState.why}${quiet}`).toBe(state);
  });
});

describe("what a node showed", () => {
  const before: AssumedEnd = { bootId: "boot-1", atMs: NOON - 1_000, goneMs: undefined, evidence: "node-gone" };
  const goneBefore: AssumedEnd = { ...before, goneMs: NOON - 1_000 };
  const bootless = { ...goneBefore, bootId: undefined };
  const goneNow: AssumedEnd = { bootId: "boot-1", atMs: NOON, goneMs: NOON, evidence: "node-gone" };
  const goneUnseen: AssumedEnd = { ...goneNow, bootId: undefined };
  const unseen: AssumedEnd = { bootId: "boot-1", atMs: NOON, evidence: "pod-status" };
  type Kind = AgentState["kind"];
  type Known = AssumedEnd | undefined;
  it.each<readonly [name: string, known: Known, kind: Kind, observed: Partial<NodeObservation>, then: Known]>([
    ["ended when it was found to be gone", undefined, "Gone", { ...MOUNTED, ...DELETED }, goneNow],
    ["ended with it where this run saw no report", undefined, "Gone", { view: undefined, ...DELETED }, goneUnseen],
    ["ended unseen in another boot without an agent", undefined, "NoAgent", { ...MOUNTED, ...REBOOTED }, unseen],
    ["is nothing without an agent where it never reported", undefined, "NoAgent", { view: undefined }, undefined],
    ["has not ended while it is Stale", undefined, "Stale", MOUNTED, undefined],
    ["may be mounted still in the same one", goneBefore, "Stale", {}, undefined],
    ["is not mounted as far as a node without a boot ID shows", goneBefore, "Stale", NAMELESS, before],
    ["may be mounted where it is not known in which boot it was", bootless, "Stale", {}, undefined],
    ["has ended where the node is deleted again before it reports", goneBefore, "Stale", DELETED, before],
  ])("%s", (...[, known, kind, observed, then]) => {
    const now = { agentState: { kind, why: "" }, nowMs: NOON };

    expect(assumedEndOf(known, reporting(observed), now)).toEqual(then);
  });
});
