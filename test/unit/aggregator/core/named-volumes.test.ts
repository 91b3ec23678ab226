import { describe, expect, it } from "vitest";
import { NamedVolumes, type TrailVolume } from "../../../../aggregator/core/named-volumes.ts";
import { MAX_ANSWER_VOLUMES } from "../../../../common/storage/node-report.ts";

const ZONE = "topology.kubernetes.io/zone";

function inZone(...zones: readonly string[]): string {
  const term = { matchExpressions: [{ key: ZONE, operator: "In", values: zones }] };
  return JSON.stringify({ nodeSelectorTerms: [term] });
}

function volume(name: string, nodeAffinity: string | undefined): TrailVolume {
  return { key: name, resourceVersion: `1${name.length}`, nodeAffinity };
}

interface Scene {
  readonly affinity?: string | undefined;
  /** Of a Node; nothing where there is none. */
  readonly node?: { readonly labels: Readonly<Record<string, string>> | undefined } | undefined;
  readonly claims?: readonly string[];
  readonly bound?: Readonly<Record<string, string | undefined>>;
  readonly hasStarted?: boolean;
}

const IN_A = { labels: { [ZONE]: "a" } };
const UNREADABLE = '{"nodeSelectorTerms":[{"x":1}]}';

/** A pod with a claim `data` bound to `pv-data`, whose affinity wants zone b, on a node in zone a. */
function foundIn({
  claims = ["data"],
  bound = { "team/data": "pv-data" },
  hasStarted = false,
  ...scene
}: Scene): string {
  const affinity = "affinity" in scene ? scene.affinity : inZone("b");
  const { volumes, waiting } = new NamedVolumes().of({
    node: "node" in scene ? scene.node : IN_A,
    pods: [{ key: "team/web", uid: "web", claims, hasStarted }],
    claim: (key) => (key in bound ? { volume: bound[key] } : undefined),
    volume: (name) => (name === "pv-data" ? volume(name, affinity) : undefined),
  });
  return [...volumes.map(({ name }) => name), ...waiting.map((uid) => `${uid} waits`)].join(", ");
}

describe("NamedVolumes", () => {
  const twice = { claims: ["data", "more"], bound: { "team/data": "pv-data", "team/more": "pv-data" } };
  it.each<readonly [name: string, scene: Scene, found: string]>([
    ["a volume that excludes the node, and the pod that waits for it", {}, "pv-data, web waits"],
    ["one that cannot be read, for which nobody is known to wait", { affinity: UNREADABLE }, "pv-data"],
    ["one of a pod that runs", { hasStarted: true }, "pv-data"],
    ["one of a node without any label", { node: { labels: undefined } }, "pv-data, web waits"],
    ["one once that two claims name", twice, "pv-data, web waits"],
    ["none that admits the node", { affinity: inZone("c", "a") }, ""],
    ["none without an affinity", { affinity: undefined }, ""],
    ["none of a claim that is not there", { bound: {} }, ""],
    ["none of a claim that is bound to none", { bound: { "team/data": undefined } }, ""],
    ["none that is not there", { bound: { "team/data": "pv-other" } }, ""],
    ["none of a claim in another namespace", { bound: { "other/data": "pv-data" } }, ""],
    ["none of a node that is not there", { node: undefined }, ""],
    ["none of a pod without claims", { claims: [] }, ""],
  ])("names %s", (_, scene, found) => {
    expect(foundIn(scene)).toBe(found);
  });

  it("sees a changed label, and names the state of the volume", () => {
    const names = new NamedVolumes();
    const trail = {
      pods: [{ key: "team/web", uid: "web", claims: ["data"], hasStarted: false }],
      claim: () => ({ volume: "pv-data" }),
      volume: (name: string) => volume(name, inZone("a")),
    };

    const found = [IN_A, { labels: { [ZONE]: "b" } }].map((node) => names.of({ ...trail, node }).volumes);

    expect(found).toEqual([[], [{ name: "pv-data", resourceVersion: "17" }]]);
  });

  it.each([
    { name: "first", order: (pods: readonly string[]) => pods },
    { name: "last", order: (pods: readonly string[]) => pods.toReversed() },
  ])("names those of pods that have not started before it leaves any out: they come $name", ({ order }) => {
    const count = MAX_ANSWER_VOLUMES + 10;
    const claims = Array.from({ length: count }, (_, index) => `c${String(index).padStart(4, "0")}`);
    const late = claims.slice(-3);

    const { volumes: named } = new NamedVolumes().of({
      node: { labels: {} },
      pods: order(["waits", "runs"]).map((name) => ({
        key: `team/${name}`,
        uid: name,
        claims: name === "runs" ? claims : late,
        hasStarted: name === "runs",
      })),
      claim: (key) => ({ volume: key.slice("team/".length) }),
      volume: (name) => volume(name, inZone("a")),
    });

    expect(named).toHaveLength(MAX_ANSWER_VOLUMES);
    expect(named.slice(0, 4).map(({ name }) => name)).toEqual([...late, claims[0]]);
  });
});
