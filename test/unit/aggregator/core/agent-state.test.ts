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
const HOLDING = { view: viewWith({ mountedVolumes: [nodeMountedVolume("pod-1")] }) };
const OFF = { object: { ...OBJECT, isOutOfService: true, isReady: false } };
const READY_OFF = { object: { ...OBJECT, isOutOfService: true, isReady: true } };
const DELETED = { object: undefined };
const REBOOTED = { object: { ...OBJECT, bootId: "boot-2" } };
/** Its kubelet has not told its boot. */
const NAMELESS = { object: { ...OBJECT, bootId: undefined } };
const WINDOWS = { object: { ...OBJECT, os: "windows" } };
const LINUX = { object: { ...OBJECT, os: "linux" } };
/** Its kubelet has reported since. */
const ALIVE = { quietHeartbeat: "11:55" };
const LONG = 86_400_000;

/** A node whose agent has just reported, and whose pod is there. */
function heard(fields: Partial<NodeObservation> = {}): NodeObservation {
  const ages = { reportAgeMs: 0, readAgeMs: 0, objectAgeMs: LONG, agentAwayMs: undefined };
  return { object: OBJECT, view: viewWith(), ...ages, quietHeartbeat: undefined, ...fields };
}

/** No report since the start, which was so long ago. */
function unheard(objectAgeMs: number, fields: Partial<NodeObservation> = {}): NodeObservation {
  return heard({ view: undefined, reportAgeMs: undefined, readAgeMs: undefined, objectAgeMs, ...fields });
}

/** Its agent has left it so long ago, and reported last then. */
function left(agentAwayMs: number, fields: Partial<NodeObservation> = {}): NodeObservation {
  return heard({ reportAgeMs: agentAwayMs, readAgeMs: agentAwayMs, agentAwayMs, ...fields });
}

/** The next heartbeat of its kubelet would decide. */
const QUIET = ", quiet since 12:00";
const REPORTS = "Reporting: it reports";
const AWAITED = "Reporting: its first report is awaited";
const STOPPED = "Stale: its reports have stopped";
const UNSEEN = "Stale: no report since the aggregator or the node came up";
const BLIND = "Stale: its agent cannot read the mount table completely";
const NO_AGENT = "NoAgent: no report has come and no agent pod been there for long, while its kubelet lives";
const FOREIGN = "NoAgent: no agent belongs on windows";
const GONE = "Gone: its Node object is deleted";
const TAINTED = "Gone: it is tainted out-of-service and not ready";

describe("a node", () => {
  it.each<readonly [name: string, observed: NodeObservation, state: string]>(
    // biome-ignore format: a row is a line
    [
      ["is silent after three missed heartbeats", heard({ reportAgeMs: 90_001 }), STOPPED],
      ["is silent when its agent cannot read its table for three minutes", heard({ readAgeMs: 180_001 }), BLIND],
      ["is not when that read it three minutes ago", heard({ readAgeMs: 180_000 }), REPORTS],
      ["is so when it says that it is one of Linux", unheard(90_001, LINUX), UNSEEN],
      ["has no agent on another operating system", unheard(0, WINDOWS), FOREIGN],
      ["has one until its kubelet reports after that", unheard(600_000, { agentAwayMs: 600_000 }), `${UNSEEN}${QUIET}`],
      ["has one for as long as its last report shows a mount", left(LONG, { ...HOLDING, ...ALIVE }), STOPPED],
      ["has one then on another operating system, too", left(LONG, { ...HOLDING, ...WINDOWS }), STOPPED],
      ["has none when another boot showed the mount", left(LONG, { ...HOLDING, ...REBOOTED, ...ALIVE }), NO_AGENT],
      ["has one when it does not tell its boot", left(LONG, { ...HOLDING, ...NAMELESS, ...ALIVE }), STOPPED],
      ["has one where it has no object and no kubelet can report", unheard(299_999, { ...DELETED, agentAwayMs: LONG, ...ALIVE }), UNSEEN],
      ["is gone five minutes after its object", left(LONG, { ...DELETED, objectAgeMs: 300_000 }), GONE],
      ["is gone when it is tainted out-of-service and not ready", left(LONG, { ...OFF, ...HOLDING }), TAINTED],
      ["is not while it is ready", left(LONG, READY_OFF), `${STOPPED}${QUIET}`],
      ["is not when its agent reports that it cannot read", heard({ ...OFF, ...HOLDING, readAgeMs: 180_001 }), BLIND],
      ["is not when its object is deleted then", heard({ ...DELETED, ...HOLDING, readAgeMs: 600_000 }), BLIND],
      ["is not while its first report may still come", unheard(90_000, OFF), AWAITED],
      ["is gone when it was tainted before the start, and silent since", unheard(90_001, OFF), TAINTED],
    ],
  )("%s", (_, observed, state) => {
    const { agentState, quietHeartbeat } = opinionOf(observed, LIMITS);

    const quiet = quietHeartbeat === "12:00" ? QUIET : "";
    expect(`${agentState.kind}: ${agentState.why}${quiet}`).toBe(state);
  });
});

describe("a node is looked at again", () => {
  it.each<readonly [name: string, observed: NodeObservation, nextMs: number | undefined]>([
    ["when the first report will be overdue", unheard(10_000), 80_001],
    ["never when it is Stale with an agent pod", heard({ reportAgeMs: LONG, readAgeMs: LONG }), undefined],
  ])("%s", (_, observed, nextMs) => {
    expect(opinionOf(observed, LIMITS).nextMs).toBe(nextMs);
  });

  it("when time brings something, and nothing sooner", () => {
    const at = (ageMs: number) => opinionOf(left(ageMs, ALIVE), LIMITS);

    const ages = [0, 90_001, 180_001, 600_000];
    expect(ages.map((ageMs) => at(ageMs).nextMs)).toEqual([90_001, 90_000, 419_999, undefined]);
    expect(ages.map((ageMs) => at(ageMs).agentState.kind)).toEqual(["Reporting", "Stale", "Stale", "NoAgent"]);
    expect([90_000, 180_000, 599_999].map((ageMs) => at(ageMs).agentState.kind)).toEqual([
      "Reporting",
      "Stale",
      "Stale",
    ]);
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
    ["ended when it was found to be gone", undefined, "Gone", { ...HOLDING, ...DELETED }, goneNow],
    ["did so where this run saw nothing", undefined, "Gone", { view: undefined, ...DELETED }, goneUnseen],
    ["ended unseen in another boot without an agent", undefined, "NoAgent", { ...HOLDING, ...REBOOTED }, unseen],
    ["is nothing without an agent where it never reported", undefined, "NoAgent", { view: undefined }, undefined],
    ["has not while it is silent", undefined, "Stale", HOLDING, undefined],
    ["may be mounted still in the same one", goneBefore, "Stale", {}, undefined],
    ["is not mounted as far as a nameless boot tells", goneBefore, "Stale", NAMELESS, before],
    ["may be mounted where it is not known in which boot it was", bootless, "Stale", {}, undefined],
    ["has ended where it is deleted again before it is heard of", goneBefore, "Stale", DELETED, before],
  ])("%s", (...[, known, kind, observed, then]) => {
    const now = { agentState: { kind, why: "" }, nowMs: NOON };

    expect(assumedEndOf(known, heard(observed), now)).toEqual(then);
  });
});
