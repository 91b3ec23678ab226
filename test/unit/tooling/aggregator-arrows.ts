/** What each folder of the aggregator's wiring imports of the others, besides core, sources and common: arrows go down, and there is no circle. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  nodes: [],
  settings: ["certificates"],
  affinity: [],
  metrics: [],
  "pod-watch": ["writing"],
  api: ["nodes"],
  claims: ["sinks", "writing", "nodes", "pod-watch"],
  volumes: ["sinks", "writing", "nodes", "pod-watch"],
  leader: ["sinks", "writing", "settings", "nodes", "pod-watch", "claims", "volumes", "affinity", "api", "metrics"],
  observability: ["writing", "nodes", "claims", "volumes", "metrics", "leader"],
};

const FOLDERS = Object.keys(BELOW);

interface Arrow {
  readonly from: string;
  readonly to: readonly string[];
}

export const AGGREGATOR_FORBIDDEN: readonly Arrow[] = FOLDERS.map((folder) => {
  const above = FOLDERS.filter((other) => other !== folder && BELOW[folder]?.includes(other) !== true);
  const wings = ["../../agent/core/x.ts", "../../cli/x.ts", "../../test/fakes/x.ts"];
  const others = ["../aggregator.ts", "../main.ts", ...wings, "undici"];
  return { from: `aggregator/${folder}/x.ts`, to: [...above.map((other) => `../${other}/x.ts`), ...others] };
});

export const AGGREGATOR_ALLOWED: readonly Arrow[] = FOLDERS.map((folder) => {
  const below = BELOW[folder] ?? [];
  const own = ["./y.ts", "../core/y.ts", "../../common/storage/y.ts", "../../common/kube/y.ts", "node:os"];
  return { from: `aggregator/${folder}/x.ts`, to: [...own, ...below.map((other) => `../${other}/y.ts`)] };
});
