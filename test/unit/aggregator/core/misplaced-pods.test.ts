import { describe, expect, it } from "vitest";
import { FLEET_WINDOW_MS, nextPause, type RejectionPause } from "../../../../aggregator/core/circuit-breaker.ts";
import { misfitsOf, type TrailVolume } from "../../../../aggregator/core/volumes/named-volumes.ts";
import { MAX_ANSWER_VOLUMES } from "../../../../common/storage/node-report.ts";

const ZONE = "topology.kubernetes.io/zone";

function inZone(...zones: readonly string[]): string {
  return JSON.stringify({ nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values: zones }] }] });
}

function volume(name: string, nodeAffinity: string | undefined): TrailVolume {
  return { key: name, resourceVersion: `1${name.length}`, nodeAffinity };
}

interface Scene {
  readonly affinity?: string | undefined;
  /** Of a Node; nothing where there is none. */
  readonly node?: { readonly labels: Readonly<Record<string, string>> | undefined } | undefined;
  readonly bound?: Readonly<Record<string, string | undefined>>;
}

const WEB = { key: "team/web", uid: "web", claims: ["data"], hasStarted: false };
const IN_A = { labels: { [ZONE]: "a" } };
const UNREADABLE = '{"nodeSelectorTerms":[{"x":1}]}';

/** A pod with a claim `data` bound to `pv-data`, whose affinity wants zone b, on a node in zone a. */
function foundIn({ bound = { "team/data": "pv-data" }, ...scene }: Scene): string {
  const affinity = "affinity" in scene ? scene.affinity : inZone("b");
  const { volumes, waiting } = misfitsOf({
    node: "node" in scene ? scene.node : IN_A,
    pods: [WEB],
    claim: (key) => (key in bound ? { volume: bound[key] } : undefined),
    volume: (name) => (name === "pv-data" ? volume(name, affinity) : undefined),
  });
  return [...volumes.map(({ name }) => name), ...waiting.map((uid) => `${uid} waits`)].join(", ");
}

describe("misfitsOf", () => {
  it.each<readonly [name: string, scene: Scene, found: string]>([
    ["a volume that excludes the node, and the pod that waits for it", {}, "pv-data, web waits"],
    ["one that cannot be read, for which no pod is known to wait", { affinity: UNREADABLE }, "pv-data"],
    ["one of a node without any label", { node: { labels: undefined } }, "pv-data, web waits"],
    ["none without an affinity", { affinity: undefined }, ""],
    ["none of a claim in another namespace", { bound: { "other/data": "pv-data" } }, ""],
    ["none of a node that is not there", { node: undefined }, ""],
  ])("names %s", (_, scene, found) => {
    expect(foundIn(scene)).toBe(found);
  });

  it("sees a changed label, and names the state of the volume", () => {
    const trail = {
      pods: [WEB],
      claim: () => ({ volume: "pv-data" }),
      volume: (name: string) => volume(name, inZone("a")),
    };

    const found = [IN_A, { labels: { [ZONE]: "b" } }].map((node) => misfitsOf({ ...trail, node }).volumes);

    expect(found).toEqual([[], [{ name: "pv-data", resourceVersion: "17" }]]);
  });

  it.each([
    { name: "first", isFirst: true },
    { name: "last", isFirst: false },
  ])("names those of pods that have not started before it leaves any out: they come $name", ({ isFirst }) => {
    const claims = Array.from({ length: MAX_ANSWER_VOLUMES + 10 }, (_, index) => `c${String(index).padStart(4, "0")}`);
    const late = claims.slice(-3);
    const waits = { key: "team/waits", uid: "waits", claims: late, hasStarted: false };
    const runs = { key: "team/runs", uid: "runs", claims, hasStarted: true };

    const { volumes: named } = misfitsOf({
      node: { labels: {} },
      pods: isFirst ? [waits, runs] : [runs, waits],
      claim: (key) => ({ volume: key.slice("team/".length) }),
      volume: (name) => volume(name, inZone("a")),
    });

    expect(named).toHaveLength(MAX_ANSWER_VOLUMES);
    expect(named.slice(0, 4).map(({ name }) => name)).toEqual([...late, claims[0]]);
  });
});

const NOW = 1_000_000_000;

/** The pause after so many rejections, spread over some of all nodes and over some namespaces. */
function pauseAfter(pause: RejectionPause | undefined, count: number, scene: Readonly<Record<string, number>>) {
  const { on = 1, of: nodes = 1_000, limit = 50, by = count } = scene;
  const place = (index: number) => ({ node: `n${index % on}`, namespace: `team-${index % by}`, atMs: NOW });
  const recent = Array.from({ length: count }, (_, index) => place(index));
  return nextPause(pause, { recent, nodes, nowMs: NOW }, limit);
}

describe("nextPause", () => {
  it.each([
    { name: "one on each of more than a fifth of the nodes", count: 11, scene: { on: 11, of: 50 }, isPaused: true },
    { name: "one on each of five nodes of five", count: 5, scene: { on: 5, of: 5 }, isPaused: true },
    { name: "the limit in one namespace", count: 50, scene: { by: 1 }, isPaused: false },
    { name: "any number in one namespace, on all nodes", count: 1_000, scene: { on: 1_000, by: 1 }, isPaused: false },
    { name: "the limit in two namespaces", count: 50, scene: { by: 2 }, isPaused: true },
    { name: "one on each of them, in one namespace", count: 11, scene: { on: 11, of: 50, by: 1 }, isPaused: false },
    { name: "a limit of one, in one namespace", count: 1, scene: { limit: 1, by: 1 }, isPaused: true },
  ])("starts a pause or does not: $name", ({ count, scene, isPaused }) => {
    expect(pauseAfter(undefined, count, scene) !== undefined).toBe(isPaused);
  });

  it("says how many there were, and where", () => {
    expect(pauseAfter(undefined, 60, { on: 7, of: 90 })).toEqual({
      sinceMs: NOW,
      why: "in the last 10 minutes 60 pods on 7 of 90 nodes were rejected, or began to wait for a volume that excludes their node",
    });
  });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "it has not lasted ten minutes", ageMs: FLEET_WINDOW_MS - 1, count: 0, scene: {}, isPaused: true },
      { name: "there are more than half as many", ageMs: FLEET_WINDOW_MS, count: 26, scene: {}, isPaused: true },
      { name: "there are more than half the nodes", ageMs: FLEET_WINDOW_MS, count: 6, scene: { on: 6, of: 50 }, isPaused: true },
      { name: "there are half as many nodes", ageMs: FLEET_WINDOW_MS, count: 6, scene: { on: 6, of: 55 }, isPaused: false },
      { name: "all are of one namespace", ageMs: FLEET_WINDOW_MS, count: 90, scene: { on: 90, by: 1 }, isPaused: false },
      { name: "the limit is zero", ageMs: 0, count: 90, scene: { limit: 0 }, isPaused: false },
    ],
  )("keeps a pause or ends it: $name", ({ ageMs, count, scene, isPaused }) => {
    const pause = { sinceMs: NOW - ageMs, why: "as it was said first" };

    expect(pauseAfter(pause, count, scene)).toEqual(isPaused ? pause : undefined);
  });
});
