import { describe, expect, it } from "vitest";
import {
  type AssumedEnd,
  assumedEndOf,
  type NodeSight,
  opinionOf,
  type Standing,
} from "../../../../aggregator/core/standing.ts";
import { NOON, nodeHold, nodeWith, viewWith } from "../world.ts";

const LIMITS = { silentAfterMs: 90_000, agentlessAfterMs: 600_000, nodeGoneAfterMs: 300_000 };
const OBJECT = nodeWith("n1");
const HOLDING = viewWith({ holds: [nodeHold("pod-1")] });
const STAGING = viewWith({ holds: [{ ...nodeHold("pod-1"), kind: "staging", podUid: undefined }] });
const OFF = { ...OBJECT, isOutOfService: true, isReady: false };
/** Its kubelet has not told its boot. */
const NAMELESS = { ...OBJECT, bootId: undefined };
const LONG = 86_400_000;

/** A node whose agent has just reported, and whose pod is there. */
function sightWith(fields: Partial<NodeSight> = {}): NodeSight {
  return {
    object: OBJECT,
    view: viewWith(),
    isStoredHolder: false,
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
  readonly kind: Standing["kind"];
  readonly isInQuestion?: boolean;
}

describe("an agent or silent", () => {
  it.each<Row>([
    { name: "a node that reports has an agent", sight: sightWith({ reportAgeMs: 90_000 }), kind: "agent" },
    { name: "three missed heartbeats make it silent", sight: sightWith({ reportAgeMs: 90_001 }), kind: "silent" },
    {
      name: "an agent that cannot read the table completely for three minutes is silent, however often it reports",
      sight: sightWith({ readAgeMs: 180_001 }),
      kind: "silent",
    },
    { name: "one that read it three minutes ago is not", sight: sightWith({ readAgeMs: 180_000 }), kind: "agent" },
    { name: "the first report after a start may still come", sight: unheard(90_000), kind: "agent" },
    { name: "a node that has not reported in time since the start is silent", sight: unheard(90_001), kind: "silent" },
    { name: "so is one that has just come as an object and has not", sight: unheard(90_001), kind: "silent" },
    {
      name: "a node whose agent pod is there is silent, however long",
      sight: sightWith({ reportAgeMs: LONG }),
      kind: "silent",
    },
  ])("$name", ({ sight, kind }) => {
    expect(opinionOf(sight, LIMITS).standing.kind).toBe(kind);
  });
});

describe("agentless", () => {
  const windows = { ...OBJECT, os: "windows" };

  it.each<Row>([
    { name: "no agent belongs on another operating system", sight: unheard(0, { object: windows }), kind: "agentless" },
    {
      name: "an agent that reports from there all the same counts",
      sight: sightWith({ object: windows }),
      kind: "agent",
    },
    { name: "a node without the label is taken for Linux", sight: unheard(90_001), kind: "silent" },
    {
      name: "a node that says that it is one of Linux expects an agent",
      sight: unheard(90_001, { object: { ...OBJECT, os: "linux" } }),
      kind: "silent",
    },
    {
      name: "no agent pod and no report for ten minutes while the kubelet lives: agentless",
      sight: unheard(600_000, { agentAwayMs: 600_000, isKubeletAlive: true }),
      kind: "agentless",
    },
    {
      name: "the same is in question while the kubelet is not known to live",
      sight: unheard(600_000, { agentAwayMs: 600_000 }),
      kind: "silent",
      isInQuestion: true,
    },
    {
      name: "not yet after a bit less",
      sight: unheard(600_000, { agentAwayMs: 599_999, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "not yet where the Node object has just come",
      sight: left(LONG, { objectAgeMs: 599_999, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "an agent that has left ten minutes ago leaves it agentless",
      sight: left(600_000, { isKubeletAlive: true }),
      kind: "agentless",
    },
    {
      name: "a report ten minutes before is one, wherever its pod was",
      sight: left(LONG, { reportAgeMs: 599_999, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "not while an agent pod is there",
      sight: unheard(LONG, { agentAwayMs: undefined, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "never while its last report shows a mount",
      sight: left(LONG, { view: HOLDING, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "nor while it shows a staging mount",
      sight: left(LONG, { view: STAGING, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "nor on another operating system",
      sight: left(LONG, { view: HOLDING, object: windows }),
      kind: "silent",
    },
    {
      name: "but when the Node object names another boot than the one that mounted it",
      sight: left(LONG, { view: HOLDING, object: nodeWith("n1", "boot-2"), isKubeletAlive: true }),
      kind: "agentless",
    },
    {
      name: "not when the Node object names no boot",
      sight: left(LONG, { view: HOLDING, object: NAMELESS, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "never while a stored status says that it was mounted there, before the first report",
      sight: unheard(LONG, { isStoredHolder: true, agentAwayMs: LONG, isKubeletAlive: true }),
      kind: "silent",
    },
    {
      name: "a node without an object is not asked for its kubelet",
      sight: unheard(299_999, { object: undefined, agentAwayMs: LONG, isKubeletAlive: true }),
      kind: "silent",
    },
  ])("$name", ({ sight, kind, isInQuestion = false }) => {
    const opinion = opinionOf(sight, LIMITS);

    expect(opinion.standing.kind).toBe(kind);
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
    expect(opinionOf(sight, LIMITS).standing.why).toBe(why);
  });
});

describe("gone", () => {
  it.each<Row>([
    {
      name: "a Node object deleted five minutes ago",
      sight: left(LONG, { object: undefined, objectAgeMs: 300_000 }),
      kind: "gone",
    },
    {
      name: "not yet when it was a bit less",
      sight: left(LONG, { object: undefined, objectAgeMs: 299_999 }),
      kind: "silent",
    },
    {
      name: "not while its agent reports, whatever became of the object",
      sight: sightWith({ object: undefined, objectAgeMs: LONG }),
      kind: "agent",
    },
    { name: "also with what it had mounted", sight: left(LONG, { object: undefined, view: HOLDING }), kind: "gone" },
    {
      name: "also where only a stored status says that something was mounted there",
      sight: unheard(300_000, { object: undefined, isStoredHolder: true }),
      kind: "gone",
    },
    { name: "tainted out-of-service and not ready", sight: left(LONG, { object: OFF, view: HOLDING }), kind: "gone" },
    { name: "not while it is ready", sight: left(LONG, { object: { ...OFF, isReady: true } }), kind: "silent" },
    {
      name: "not while it is only not ready",
      sight: left(LONG, { object: { ...OFF, isOutOfService: false } }),
      kind: "silent",
    },
    { name: "not while its agent reports", sight: sightWith({ object: OFF }), kind: "agent" },
    {
      name: "not while its agent reports that it cannot read the mount table, and the kubelet is dead",
      sight: sightWith({ object: OFF, view: HOLDING, readAgeMs: 180_001 }),
      kind: "silent",
    },
    {
      name: "nor when its Node object is deleted meanwhile",
      sight: sightWith({ object: undefined, view: HOLDING, readAgeMs: 600_000 }),
      kind: "silent",
    },
    { name: "not while its first report may still come", sight: unheard(90_000, { object: OFF }), kind: "agent" },
    { name: "tainted before the start, and silent since", sight: unheard(90_001, { object: OFF }), kind: "gone" },
  ])("$name: $kind", ({ sight, kind }) => {
    expect(opinionOf(sight, LIMITS).standing.kind).toBe(kind);
  });
});

describe("when to look again", () => {
  it.each<{ readonly name: string; readonly sight: NodeSight; readonly nextMs: number | undefined }>([
    {
      name: "when the next heartbeats will have been missed",
      sight: sightWith({ reportAgeMs: 40_000 }),
      nextMs: 50_001,
    },
    { name: "when the last complete read will be too old", sight: sightWith({ readAgeMs: 150_000 }), nextMs: 30_001 },
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
      name: "never for a silent node with an agent pod",
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
      const { standing, nextMs } = opinionOf(left(ageMs, { isKubeletAlive: true }), LIMITS);
      steps.push(`${standing.kind} at ${ageMs}`);
      if (nextMs === undefined) break;
      const justBefore = opinionOf(left(ageMs + nextMs - 1, { isKubeletAlive: true }), LIMITS).standing;
      expect(justBefore.kind).toBe(standing.kind);
      ageMs += nextMs;
    }

    expect(steps).toEqual(["agent at 0", "silent at 90001", "silent at 180001", "agentless at 600000"]);
  });
});

describe("assumedEndOf", () => {
  const left: AssumedEnd = { bootId: "boot-1", atMs: NOON - 1_000, goneMs: undefined, evidence: "node-gone" };
  const gone: AssumedEnd = { ...left, goneMs: NOON - 1_000 };

  it.each<{
    readonly name: string;
    readonly known?: AssumedEnd | undefined;
    readonly kind: Standing["kind"];
    readonly sight?: Partial<NodeSight>;
    readonly expected: AssumedEnd | undefined;
  }>([
    {
      name: "what a node showed that is gone ended when that was established",
      kind: "gone",
      sight: { view: HOLDING, object: undefined },
      expected: { bootId: "boot-1", atMs: NOON, goneMs: NOON, evidence: "node-gone" },
    },
    {
      name: "also where nothing was shown to this run",
      kind: "gone",
      sight: { view: undefined, object: undefined },
      expected: { bootId: undefined, atMs: NOON, goneMs: NOON, evidence: "node-gone" },
    },
    { name: "its time stays", known: gone, kind: "gone", sight: { object: undefined }, expected: gone },
    {
      name: "a node that is gone once more since another boot is so from now on, while what it showed before ended then",
      known: left,
      kind: "gone",
      sight: { object: undefined },
      expected: { ...left, goneMs: NOON },
    },
    {
      name: "what an agentless node showed in another boot ended without anybody seeing it",
      kind: "agentless",
      sight: { view: HOLDING, object: nodeWith("n1", "boot-2") },
      expected: { bootId: "boot-1", atMs: NOON, evidence: "pod-status" },
    },
    { name: "an agentless node that showed nothing has nothing to assume", kind: "agentless", expected: undefined },
    { name: "nothing is assumed of a node that reports", kind: "agent", sight: { view: HOLDING }, expected: undefined },
    { name: "nor of one that is silent", kind: "silent", sight: { view: HOLDING }, expected: undefined },
    {
      name: "a node that is back in another boot has not mounted it again",
      known: gone,
      kind: "silent",
      sight: { object: nodeWith("n1", "boot-2") },
      expected: left,
    },
    {
      name: "a node that is back in the same boot may have it mounted still",
      known: gone,
      kind: "silent",
      expected: undefined,
    },
    {
      name: "a Node object that names no boot tells nothing",
      known: gone,
      kind: "silent",
      sight: { object: NAMELESS },
      expected: left,
    },
    {
      name: "any boot counts where it is not known which one had it mounted",
      known: { ...gone, bootId: undefined },
      kind: "silent",
      expected: undefined,
    },
    {
      name: "what a node showed has still ended when it is deleted again before anything was heard of it",
      known: gone,
      kind: "silent",
      sight: { object: undefined },
      expected: left,
    },
  ])("$name", ({ known, kind, sight, expected }) => {
    const standing = { kind, why: "" };

    expect(assumedEndOf(known, { standing, sight: sightWith(sight), nowMs: NOON })).toEqual(expected);
  });
});
