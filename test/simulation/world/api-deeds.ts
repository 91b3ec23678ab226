import type { LostRight, Step } from "../plan/step.ts";
import type { Storm } from "./weather.ts";
import type { World } from "./world.ts";

type StepOf<K extends Step["kind"]> = Extract<Step, { kind: K }>;

/** What administrators, and others who may write, do to the API server and to what is in it. False for any other step. */
export function actOnApi(world: World, step: Step): boolean {
  switch (step.kind) {
    case "lose-rights":
      loseRights(world, step);
      return true;
    default:
      return false;
  }
}

/** What is forbidden without a right, by what it is called. */
const FORBIDDEN: Readonly<Record<LostRight, readonly string[]>> = {
  "write-claims": ["apply persistentvolumeclaims", "patch persistentvolumeclaims"],
  read: ["list ", "watch ", "get "],
  "write-events": ["create events", "patch events"],
  "use-leases": ["get leases", "create leases", "patch leases", "replace leases"],
  "label-pods": ["patch pods"],
};

function loseRights(world: World, { right, from, forMs }: StepOf<"lose-rights">): void {
  const at = FORBIDDEN[right];
  const storm: Storm = { kind: "refused", from: senderOf(world, from), to: "api", probability: 1, at };
  world.sky.begin(storm);
  world.windows.begin(forMs, () => world.sky.end(storm));
}

/** A part of the name of those who are meant: a node's, or the aggregators', or that of all. */
export function senderOf(world: World, from: number): string {
  if (from === -2) return "";
  return from === -1 ? "aggregator" : world.node(from).name;
}
