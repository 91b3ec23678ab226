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
  readonly zone?: string;
  readonly node?: "there" | "missing" | "without labels";
  readonly claims?: readonly string[];
  readonly bound?: Readonly<Record<string, string | undefined>>;
  readonly hasStarted?: boolean;
}

/** A pod with a claim `data` bound to `pv-data`, on a node in zone a. */
function namesIn({ affinity = inZone("b"), zone = "a", ...scene }: Scene): readonly string[] {
  const { node = "there", claims = ["data"], bound = { "team/data": "pv-data" }, hasStarted = false } = scene;
  const labels = node === "there" ? { [ZONE]: zone } : undefined;
  const { volumes: named } = new NamedVolumes().of({
    node: node === "missing" ? undefined : { labels },
    pods: [{ key: "team/web", uid: "web", claims, hasStarted }],
    claim: (key) => (key in bound ? { volume: bound[key] } : undefined),
    volume: (name) => (name === "pv-data" ? volume(name, affinity) : undefined),
  });
  return named.map(({ name }) => name);
}

describe("NamedVolumes", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "whose affinity excludes the node", scene: {}, named: ["pv-data"] },
      { name: "whose affinity cannot be read", scene: { affinity: '{"nodeSelectorTerms":[{"x":1}]}' }, named: ["pv-data"] },
      { name: "of a pod that runs", scene: { hasStarted: true }, named: ["pv-data"] },
      { name: "of a node without any label", scene: { node: "without labels" }, named: ["pv-data"] },
      {
        name: "once, which two claims name",
        scene: { claims: ["data", "more"], bound: { "team/data": "pv-data", "team/more": "pv-data" } },
        named: ["pv-data"],
      },
    ] as const,
  )("names a volume $name", ({ scene, named }) => {
    expect(namesIn(scene)).toEqual(named);
  });

  it.each([
    { name: "whose affinity admits the node", scene: { affinity: inZone("c", "a") } },
    { name: "of a claim that is not there", scene: { bound: {} } },
    { name: "that is not there", scene: { bound: { "team/data": "pv-other" } } },
    { name: "of a claim in another namespace", scene: { bound: { "other/data": "pv-data" } } },
    { name: "of a node that is not there", scene: { node: "missing" } },
    { name: "of a pod without claims", scene: { claims: [] } },
  ] as const)("names no volume $name", ({ scene }) => {
    expect(namesIn(scene)).toEqual([]);
  });

  it("names no volume of a claim that is bound to none", () => {
    const { volumes: named } = new NamedVolumes().of({
      node: { labels: {} },
      pods: [{ key: "team/web", uid: "web", claims: ["data"], hasStarted: false }],
      claim: () => ({ volume: undefined }),
      volume: (name) => volume(name, inZone("a")),
    });

    expect(named).toEqual([]);
  });

  it("names no volume without an affinity", () => {
    const { volumes: named } = new NamedVolumes().of({
      node: { labels: {} },
      pods: [{ key: "team/web", uid: "web", claims: ["data"], hasStarted: false }],
      claim: () => ({ volume: "pv-data" }),
      volume: (name) => volume(name, undefined),
    });

    expect(named).toEqual([]);
  });

  it("finds nothing where there is no Node to compare with", () => {
    const misfits = new NamedVolumes().of({
      node: undefined,
      pods: [{ key: "team/web", uid: "web", claims: ["data"], hasStarted: false }],
      claim: () => ({ volume: "pv-data" }),
      volume: (name) => volume(name, inZone("a")),
    });

    expect(misfits).toEqual({ volumes: [], waiting: [] });
  });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "waits for a volume that excludes its node", affinity: inZone("b"), hasStarted: false, waiting: ["web"] },
      { name: "has started", affinity: inZone("b"), hasStarted: true, waiting: [] },
      { name: "waits for another thing", affinity: inZone("a"), hasStarted: false, waiting: [] },
      { name: "waits for one that cannot be read", affinity: '{"nodeSelectorTerms":[{"x":1}]}', hasStarted: false, waiting: [] },
    ],
  )("counts a pod or does not, that $name", ({ affinity, hasStarted, waiting }) => {
    const misfits = new NamedVolumes().of({
      node: { labels: { [ZONE]: "a" } },
      pods: [{ key: "team/web", uid: "web", claims: ["data", "more"], hasStarted }],
      claim: () => ({ volume: "pv-data" }),
      volume: (name) => volume(name, affinity),
    });

    expect(misfits.waiting).toEqual(waiting);
  });

  it("sees a changed label, and names the state of the volume", () => {
    const names = new NamedVolumes();
    const trail = {
      pods: [{ key: "team/web", uid: "web", claims: ["data"], hasStarted: false }],
      claim: () => ({ volume: "pv-data" }),
      volume: (name: string) => volume(name, inZone("a")),
    };

    expect(names.of({ ...trail, node: { labels: { [ZONE]: "a" } } }).volumes).toEqual([]);
    expect(names.of({ ...trail, node: { labels: { [ZONE]: "b" } } }).volumes).toEqual([
      { name: "pv-data", resourceVersion: "17" },
    ]);
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
