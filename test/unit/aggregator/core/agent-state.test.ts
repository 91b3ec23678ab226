import { describe, expect, it } from "vitest";
import {
  type AgentState,
  type AssumedEnd,
  assumedEndOf,
  type NodeSight,
  opinionOf,
} from "../../../../aggregator/core/agent-state.ts";
import { NOON, nodeMountedVolume, nodeWith, viewWith } from "../world.ts";

const LIMITS = { nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000, nodeGoneAfterMs: 300_000 };
const OBJECT = nodeWith("n1");
const HOLDING = viewWith({ mountedVolumes: [nodeMountedVolume("pod-1")] });
const STAGING = viewWith({ mountedVolumes: [{ ...nodeMountedVolume("pod-1"), kind: "staging", podUid: undefined }] });
const OFF = { ...OBJECT, isOutOfService: true, isReady: false };
/** Its kubelet has not told its boot. */
const NAMELESS = { ...OBJECT, bootId: undefined };
const LONG = 86_400_000;

/** A node whose agent has just reported, and whose pod is there. */
function sightWith(fields: Partial<NodeSight> = {}): NodeSight {
  return {
    object: OBJECT,
    view: viewWith(),
    reportAgeMs: 0,
    readAgeMs: 0,
    objectAgeMs: LONG,
    agentAwayMs: undefined,
    isKubeletAlive: false,
    ...fields,
  };
}

/** No report since the start, which was so long ago. */
function unheard(objectAgeMs: number, fields: Partial<NodeSight> = {}): NodeSight {
  return sightWith({ view: undefined, reportAgeMs: undefined, readAgeMs: undefined, objectAgeMs, ...fields });
}

/** Its agent has left it so long ago, and reported last then. */
function left(agentAwayMs: number, fields: Partial<NodeSight> = {}): NodeSight {
  return sightWith({ reportAgeMs: agentAwayMs, readAgeMs: agentAwayMs, agentAwayMs, ...fields });
}

interface Row {
  readonly name: string;
  readonly sight: NodeSight;
  readonly kind: AgentState["kind"];
  readonly isInQuestion?: boolean;
}

describe("an agent or silent", () => {
  it.each<Row>([
    { name: "a node that reports has an agent", sight: sightWith({ reportAgeMs: 90_000 }), kind: "Reporting" },
    { name: "three missed heartbeats make it silent", sight: sightWith({ reportAgeMs: 90_001 }), kind: "Stale" },
    {
      name: "an agent that cannot read the table completely for three minutes is silent, however often it reports",
      sight: sightWith({ readAgeMs: 180_001 }),
      kind: "Stale",
    },
    { name: "one that read it three minutes ago is not", sight: sightWith({ readAgeMs: 180_000 }), kind: "Reporting" },
    { name: "the first report after a start may still come", sight: unheard(90_000), kind: "Reporting" },
    { name: "a node that has not reported in time since the start is silent", sight: unheard(90_001), kind: "Stale" },
    { name: "so is one that has just come as an object and has not", sight: unheard(90_001), kind: "Stale" },
    {
      name: "a node whose agent pod is there is silent, however long",
      sight: sightWith({ reportAgeMs: LONG }),
      kind: "Stale",
    },
  ])("$name", ({ sight, kind }) => {
    expect(opinionOf(sight, LIMITS).agentState.kind).toBe(kind);
  });
});

describe("agentless", () => {
  const windows = { ...OBJECT, os: "windows" };

  it.each<Row>([
    { name: "no agent belongs on another operating system", sight: unheard(0, { object: windows }), kind: "NoAgent" },
    {
      name: "an agent that reports from there all the same counts",
      sight: sightWith({ object: windows }),
      kind: "Reporting",
    },
    { name: "a node without the label is taken for Linux", sight: unheard(90_001), kind: "Stale" },
    {
      name: "a node that says that it is one of Linux expects an agent",
      sight: unheard(90_001, { object: { ...OBJECT, os: "linux" } }),
      kind: "Stale",
    },
    {
      name: "no agent pod and no report for ten minutes while the kubelet lives: agentless",
      sight: unheard(600_000, { agentAwayMs: 600_000, isKubeletAlive: true }),
      kind: "NoAgent",
    },
    {
      name: "the same is in question while the kubelet is not known to live",
      sight: unheard(600_000, { agentAwayMs: 600_000 }),
      kind: "Stale",
      isInQuestion: true,
    },
    {
      name: "not yet after a bit less",
      sight: unheard(600_000, { agentAwayMs: 599_999, isKubeletAlive: true }),
      kind: "Stale",
    },
    {
      name: "not yet where the Node object has just come",
      sight: left(LONG, { objectAgeMs: 599_999, isKubeletAlive: true }),
      kind: "Stale",
    },
    {
      name: "an agent that has left ten minutes ago leaves it agentless",
      sight: left(600_000, { isKubeletAlive: true }),
      kind: "NoAgent",
    },
    {
      name: "a report ten minutes before is one, wherever its pod was",
      sight: left(LONG, { reportAgeMs: 599_999, isKubeletAlive: true }),
      kind: "Stale",
    },
    {
      name: "not while an agent pod is there",
      sight: unheard(LONG, { agentAwayMs: undefined, isKubeletAlive: true }),
      kind: "Stale",
    },
    {
      name: "never while its last report shows a mount",
      sight: left(LONG, { view: HOLDING, isKubeletAlive: true }),
      kind: "Stale",
    },
    {
      name: "nor while it shows a staging mount",
      sight: left(LONG, { view: STAGING, isKubeletAlive: true }),
      kind: "Stale",
    },
    {
      name: "nor on another operating system",
      sight: left(LONG, { view: HOLDING, object: windows }),
      kind: "Stale",
    },
    {
      name: "but when the Node object names another boot than the one that mounted it",
      sight: left(LONG, { view: HOLDING, object: nodeWith("n1", "boot-2"), isKubeletAlive: true }),
      kind: "NoAgent",
    },
    {
      name: "not when the Node object names no boot",
      sight: left(LONG, { view: HOLDING, object: NAMELESS, isKubeletAlive: true }),
      kind: "Stale",
    },
    {
      name: "a node without an object is not asked for its kubelet",
      sight: unheard(299_999, { object: undefined, agentAwayMs: LONG, isKubeletAlive: true }),
      kind: "Stale",
    },
  ])("$name", ({ sight, kind, isInQuestion = false }) => {
    const opinion = opinionOf(sight, LIMITS);

    expect(opinion.agentState.kind).toBe(kind);
    expect(opinion.isInQuestion).toBe(isInQuestion);
  });
});

describe("why, for people to read", () => {
  const windows = { ...OBJECT, os: "windows" };

  it.each([
    { sight: sightWith(), why: "it reports" },
    { sight: unheard(0), why: "its first report is awaited" },
    { sight: unheard(90_001), why: "no report since the aggregator or the node came up" },
    { sight: sightWith({ reportAgeMs: 90_001 }), why: "its reports have stopped" },
    { sight: sightWith({ readAgeMs: 180_001 }), why: "its agent cannot read the mount table completely" },
    { sight: unheard(0, { object: windows }), why: "no agent belongs on windows" },
    {
      sight: left(LONG, { isKubeletAlive: true }),
      why: "no report has come and no agent pod been there for long, while its kubelet lives",
    },
    { sight: left(LONG, { object: undefined }), why: "its Node object is deleted" },
    { sight: left(LONG, { object: OFF }), why: "it is tainted out-of-service and not ready" },
  ])("$why", ({ sight, why }) => {
    expect(opinionOf(sight, LIMITS).agentState.why).toBe(why);
  });
});

describe("gone", () => {
  it.each<Row>([
    {
      name: "a Node object deleted five minutes ago",
      sight: left(LONG, { object: undefined, objectAgeMs: 300_000 }),
      kind: "Gone",
    },
    {
      name: "not yet when it was a bit less",
      sight: left(LONG, { object: undefined, objectAgeMs: 299_999 }),
      kind: "Stale",
    },
    {
      name: "not while its agent reports, whatever became of the object",
      sight: sightWith({ object: undefined, objectAgeMs: LONG }),
      kind: "Reporting",
    },
    { name: "also with what it had mounted", sight: left(LONG, { object: undefined, view: HOLDING }), kind: "Gone" },
    { name: "tainted out-of-service and not ready", sight: left(LONG, { object: OFF, view: HOLDING }), kind: "Gone" },
    { name: "not while it is ready", sight: left(LONG, { object: { ...OFF, isReady: true } }), kind: "Stale" },
    {
      name: "not while it is only not ready",
      sight: left(LONG, { object: { ...OFF, isOutOfService: false } }),
      kind: "Stale",
    },
    { name: "not while its agent reports", sight: sightWith({ object: OFF }), kind: "Reporting" },
    {
      name: "not while its agent reports that it cannot read the mount table, and the kubelet is dead",
      sight: sightWith({ object: OFF, view: HOLDING, readAgeMs: 180_001 }),
      kind: "Stale",
    },
    {
      name: "nor when its Node object is deleted meanwhile",
      sight: sightWith({ object: undefined, view: HOLDING, readAgeMs: 600_000 }),
      kind: "Stale",
    },
    { name: "not while its first report may still come", sight: unheard(90_000, { object: OFF }), kind: "Reporting" },
    { name: "tainted before the start, and silent since", sight: unheard(90_001, { object: OFF }), kind: "Gone" },
  ])("$name: $kind", ({ sight, kind }) => {
    expect(opinionOf(sight, LIMITS).agentState.kind).toBe(kind);
  });
});

describe("when to look again", () => {
  it.each<{ readonly name: string; readonly sight: NodeSight; readonly nextMs: number | undefined }>([
    {
      name: "when the next heartbeats will have been missed",
      sight: sightWith({ reportAgeMs: 40_000 }),
      nextMs: 50_001,
    },
    { name: "when the last complete scan will be too old", sight: sightWith({ readAgeMs: 150_000 }), nextMs: 30_001 },
    {
      name: "when the first report will be overdue",
      sight: unheard(10_000, { agentAwayMs: undefined }),
      nextMs: 80_001,
    },
    {
      name: "when its agent will have been away for long",
      sight: left(200_000, { objectAgeMs: LONG }),
      nextMs: 400_000,
    },
    {
      name: "when its Node object will have been deleted for long",
      sight: left(200_000, { object: undefined, objectAgeMs: 200_000 }),
      nextMs: 100_000,
    },
    {
      name: "never for a Stale node with an agent pod",
      sight: sightWith({ reportAgeMs: LONG, readAgeMs: LONG }),
      nextMs: undefined,
    },
    { name: "never for one that is gone", sight: left(LONG, { object: undefined }), nextMs: undefined },
  ])("$name", ({ sight, nextMs }) => {
    expect(opinionOf(sight, LIMITS).nextMs).toBe(nextMs);
  });

  it("what comes of it by then is what time brings, and nothing sooner", () => {
    const steps: string[] = [];
    let ageMs = 0;
    for (let turn = 0; turn < 20; turn += 1) {
      const { agentState, nextMs } = opinionOf(left(ageMs, { isKubeletAlive: true }), LIMITS);
      steps.push(`${agentState.kind} at ${ageMs}`);
      if (nextMs === undefined) break;
      const justBefore = opinionOf(left(ageMs + nextMs - 1, { isKubeletAlive: true }), LIMITS).agentState;
      expect(justBefore.kind).toBe(agentState.kind);
      ageMs += nextMs;
    }

    expect(steps).toEqual(["Reporting at 0", "Stale at 90001", "Stale at 180001", "NoAgent at 600000"]);
  });
});

describe("assumedEndOf", () => {
  const left: AssumedEnd = { bootId: "boot-1", atMs: NOON - 1_000, goneMs: undefined, evidence: "node-gone" };
  const gone: AssumedEnd = { ...left, goneMs: NOON - 1_000 };

  it.each<{
    readonly name: string;
    readonly known?: AssumedEnd | undefined;
    readonly kind: AgentState["kind"];
    readonly sight?: Partial<NodeSight>;
    readonly expected: AssumedEnd | undefined;
  }>([
    {
      name: "what a node showed that is gone ended when that was established",
      kind: "Gone",
      sight: { view: HOLDING, object: undefined },
      expected: { bootId: "boot-1", atMs: NOON, goneMs: NOON, evidence: "node-gone" },
    },
    {
      name: "also where nothing was shown to this run",
      kind: "Gone",
      sight: { view: undefined, object: undefined },
      expected: { bootId: undefined, atMs: NOON, goneMs: NOON, evidence: "node-gone" },
    },
    { name: "its time stays", known: gone, kind: "Gone", sight: { object: undefined }, expected: gone },
    {
      name: "a node that is gone once more since another boot is so from now on, while what it showed before ended then",
      known: left,
      kind: "Gone",
      sight: { object: undefined },
      expected: { ...left, goneMs: NOON },
    },
    {
      name: "what an agentless node showed in another boot ended without anybody seeing it",
      kind: "NoAgent",
      sight: { view: HOLDING, object: nodeWith("n1", "boot-2") },
      expected: { bootId: "boot-1", atMs: NOON, evidence: "pod-status" },
    },
    { name: "an agentless node that showed nothing has nothing to assume", kind: "NoAgent", expected: undefined },
    {
      name: "nothing is assumed of a node that reports",
      kind: "Reporting",
      sight: { view: HOLDING },
      expected: undefined,
    },
    { name: "nor of one that is silent", kind: "Stale", sight: { view: HOLDING }, expected: undefined },
    {
      name: "a node that is back in another boot has not mounted it again",
      known: gone,
      kind: "Stale",
      sight: { object: nodeWith("n1", "boot-2") },
      expected: left,
    },
    {
      name: "a node that is back in the same boot may have it mounted still",
      known: gone,
      kind: "Stale",
      expected: undefined,
    },
    {
      name: "a Node object that names no boot tells nothing",
      known: gone,
      kind: "Stale",
      sight: { object: NAMELESS },
      expected: left,
    },
    {
      name: "any boot counts where it is not known which one had it mounted",
      known: { ...gone, bootId: undefined },
      kind: "Stale",
      expected: undefined,
    },
    {
      name: "what a node showed has still ended when it is deleted again before anything was heard of it",
      known: gone,
      kind: "Stale",
      sight: { object: undefined },
      expected: left,
    },
  ])("$name", ({ known, kind, sight, expected }) => {
    const agentState = { kind, why: "" };

    expect(assumedEndOf(known, { agentState, sight: sightWith(sight), nowMs: NOON })).toEqual(expected);
  });
});
