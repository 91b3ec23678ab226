import { describe, expect, it } from "vitest";
import { agentStateOf, type NodeObservation } from "../../../../aggregator/core/nodes/agent-state.ts";
import { nodeMountedVolume, nodeWith, viewWith } from "../world.ts";

const LIMITS = { nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000, nodeGoneAfterMs: 300_000 };
const OBJECT = { ...nodeWith("n1"), isReady: true };
const MOUNTED = { view: viewWith({ mountedVolumes: [nodeMountedVolume("pod-1")] }) };
const OFF = { object: { ...OBJECT, isOutOfService: true, isReady: false } };
const READY_OFF = { object: { ...OBJECT, isOutOfService: true, isReady: true } };
const DELETED = { object: undefined };
const REBOOTED = { object: { ...OBJECT, bootId: "boot-2" } };
const WINDOWS = { object: { ...OBJECT, os: "windows" } };
const LINUX = { object: { ...OBJECT, os: "linux" } };
/** Its kubelet is not known to live. */
const UNREADY = { object: { ...OBJECT, isReady: false } };
const LONG = 86_400_000;

/** A node whose agent has just reported, and whose pod is there. */
function reporting(fields: Partial<NodeObservation> = {}): NodeObservation {
  const ages = { reportAgeMs: 0, objectAgeMs: LONG, agentAwayMs: undefined };
  return { object: OBJECT, view: viewWith(), ...ages, known: "Stale", ...fields };
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
      ["is Stale after ten minutes without an agent where its kubelet may not live", unreported(600_000, { agentAwayMs: 600_000, ...UNREADY }), UNSEEN],
      ["stays NoAgent when its kubelet is cut off later", left(LONG, { ...UNREADY, known: "NoAgent" }), NO_AGENT],
      ["is Stale until its agent has been away for ten minutes", left(599_999), STOPPED],
      ["is NoAgent after ten minutes, while its kubelet lives", left(600_000), NO_AGENT],
      ["is NoAgent also where its last report shows a mount: that claim waits for it", left(LONG, MOUNTED), NO_AGENT],
      ["stays Stale while its object is deleted: no kubelet can report", unreported(299_999, { ...DELETED, agentAwayMs: LONG }), UNSEEN],
      ["is Gone five minutes after its object", left(LONG, { ...DELETED, objectAgeMs: 300_000 }), GONE],
      ["is Gone when it is tainted out-of-service and not ready", left(LONG, { ...OFF, ...MOUNTED }), TAINTED],
      ["stays Gone when its object is deleted then", left(LONG, { ...DELETED, objectAgeMs: 0, known: "Gone" }), GONE],
      ["stays Gone then also where it never reported", unreported(0, { ...DELETED, known: "Gone" }), GONE],
      ["is Stale when its object is back, in whatever boot", left(LONG, { ...REBOOTED, ...MOUNTED, objectAgeMs: 0, known: "Gone" }), STOPPED],
      ["is not Gone while it is tainted and ready", left(LONG, { ...READY_OFF, ...MOUNTED }), NO_AGENT],
      ["stays Stale when it is tainted and its agent reports that it cannot read", unread(180_001, { ...OFF, ...MOUNTED }), UNREADABLE],
      ["stays Stale when its object is deleted then", unread(600_000, { ...DELETED, ...MOUNTED }), UNREADABLE],
      ["is Reporting while its first report may still come", unreported(90_000, OFF), AWAITED],
      ["is Gone when it was tainted before the start and has not reported since", unreported(90_001, OFF), TAINTED],
    ],
  )("%s", (_, observed, state) => {
    const { kind, why } = agentStateOf(observed, LIMITS);

    expect(`${kind}: ${why}`).toBe(state);
  });
});
