import { createDice, type Dice } from "../world/dice.ts";
import { NETWORK_FAULTS, type NetworkFault } from "../world/fault-injector.ts";
import type { NodeSetup } from "./world/node.ts";

/** An action, as plain values; indexes count modulo the number of candidates. */
export type Action =
  | {
      readonly kind: "new-claim";
      readonly name: number;
      readonly mib: number;
      readonly storageClass: string;
      readonly isBlock: boolean;
      readonly bad?: string | undefined;
    }
  | {
      readonly kind: "new-pod" | "delete-claim" | "grow-claim" | "delete-volume" | "force-volume" | "retain-volume";
      readonly index: number;
    }
  | { readonly kind: "end-pod"; readonly index: number; readonly isForced: boolean }
  | { readonly kind: "fill-disk"; readonly index: number; readonly share: number }
  | { readonly kind: "power-cut" | "reboot"; readonly index: number; readonly ms: number }
  | {
      readonly kind:
        | "pool-away"
        | "older-disk"
        | "kubelet-hangs"
        | "private-copies"
        | "update"
        | "keeper-slow"
        | "keeper-lost"
        | "node-deleted"
        | "node-rebuilt";
      readonly index: number;
      readonly ms: number;
    }
  | { readonly kind: "crash-at"; readonly site: string; readonly skip: number }
  | { readonly kind: "kill"; readonly index: number; readonly role: "keeper" | "provisioner" }
  | { readonly kind: "network"; readonly fault: NetworkFault; readonly probability: number; readonly ms: number }
  | { readonly kind: "api-restart" | "lag"; readonly ms: number }
  | { readonly kind: "step-clock"; readonly index: number; readonly ms: number }
  | { readonly kind: "class-anew" | "compact" | "other-loop" | "rest" };

/** Actions of some kinds. */
export type Of<Kind extends Action["kind"]> = Action extends infer One
  ? One extends { readonly kind: infer Known }
    ? Kind & Known extends never
      ? never
      : One
    : never
  : never;

export type TimedAction = Action & { readonly thenMs: number };

export interface ProvisionerPlan {
  readonly seed: number;
  readonly nodes: readonly NodeSetup[];
  readonly actions: readonly TimedAction[];
}

/** The port calls at which processes die. */
const CALLS = [
  "create persistentvolumes",
  "patch persistentvolumes",
  "delete persistentvolumes",
  "patch persistentvolumeclaims",
  "apply persistentvolumeclaims/status",
  "create csistoragecapacities",
  "patch csistoragecapacities",
  "get persistentvolumes",
  "get persistentvolumeclaims",
  "ask make",
  "ask publish",
  "ask attach",
  "ask grow",
  "ask remove",
  "ask begin",
] as const;
const CHANGES = [
  "create file",
  "write file",
  "allocate",
  "truncate",
  "fsync",
  "rename",
  "unlink",
  "symlink",
  "configure loop",
  "refresh loop size",
  "clear loop",
  "write setting",
  "read node",
  "close",
] as const;
export const PROVISIONER_SITES: readonly string[] = [
  ...CALLS.flatMap((call) => ["before", "sent"].map((phase) => `${call}/${phase}`)),
  ...CALLS.slice(0, 9).map((call) => `${call}/after`),
  "keeper's reply/after",
  ...CHANGES.flatMap((call) => ["before", "after"].map((phase) => `${call}/${phase}`)),
];

type Maker = (dice: Dice) => Action;

const timed =
  (kind: Extract<Action, { readonly index: number; readonly ms: number }>["kind"], most: number): Maker =>
  (dice) =>
    ({ kind, index: dice.between(0, 9), ms: dice.between(100, most) }) as const;

const claim: Maker = (dice) => ({
  kind: "new-claim",
  name: dice.between(0, 5),
  mib: dice.between(1, 14),
  storageClass: dice.pick(["local", "local", "local", "kept", "other"]),
  isBlock: dice.chance(0.2),
  bad: dice.chance(0.08) ? dice.pick(["selector", "mode", "source"]) : undefined,
});
const indexed =
  (kind: "new-pod" | "delete-claim" | "grow-claim" | "delete-volume" | "force-volume" | "retain-volume"): Maker =>
  (dice) => ({ kind, index: dice.between(0, 9) });

const USUAL: readonly Maker[] = [
  claim,
  claim,
  indexed("new-pod"),
  indexed("delete-claim"),
  indexed("delete-claim"),
  (dice) => ({ kind: "end-pod", index: dice.between(0, 9), isForced: dice.chance(0.4) }),
  (dice) => ({ kind: "end-pod", index: dice.between(0, 9), isForced: false }),
  indexed("grow-claim"),
  () => ({ kind: "rest" }),
];

const TROUBLES: readonly Maker[] = [
  indexed("delete-volume"),
  indexed("force-volume"),
  indexed("retain-volume"),
  (dice) => ({ kind: "fill-disk", index: dice.between(0, 9), share: dice.fraction() }),
  timed("power-cut", 20_000),
  timed("reboot", 20_000),
  timed("pool-away", 60_000),
  timed("older-disk", 60_000),
  timed("kubelet-hangs", 40_000),
  timed("private-copies", 90_000),
  timed("update", 30_000),
  timed("keeper-slow", 30_000),
  timed("keeper-lost", 30_000),
  timed("node-deleted", 60_000),
  timed("node-rebuilt", 30_000),
  (dice) => ({ kind: "crash-at", site: dice.pick(PROVISIONER_SITES), skip: dice.between(0, 3) }),
  (dice) => ({ kind: "crash-at", site: dice.pick(PROVISIONER_SITES), skip: dice.between(0, 12) }),
  (dice) => ({ kind: "kill", index: dice.between(0, 9), role: dice.pick(["keeper", "provisioner"]) }),
  (dice) => ({
    kind: "network",
    fault: dice.pick(NETWORK_FAULTS),
    probability: dice.pick([0.2, 0.5, 1]),
    ms: dice.between(100, 30_000),
  }),
  (dice) => ({ kind: "api-restart", ms: dice.between(10, 3_000) }),
  (dice) => ({ kind: "lag", ms: dice.between(100, 5_000) }),
  timed("step-clock", 3_600_000),
  () => ({ kind: "class-anew" }),
  () => ({ kind: "compact" }),
  () => ({ kind: "other-loop" }),
];

/** The plan of a seed: one world in eight has no faults. */
export function provisionerPlanOf(seed: number): ProvisionerPlan {
  const dice = createDice(`provisioner plan ${seed}`);
  const nodes = Array.from({ length: dice.pick([1, 1, 2, 2, 3]) }, (): NodeSetup => {
    const hasTwo = dice.chance(0.5);
    const isShared = dice.chance(0.4);
    const own = { name: "one", disk: dice.chance(0.3) ? 0 : 1 };
    return {
      pools: hasTwo ? [own, { name: "two", disk: isShared ? own.disk : 2 }] : [own],
      diskMib: [dice.between(30, 60), dice.between(16, 48), dice.between(16, 32)],
    };
  });
  const share = seed % 8 === 0 ? 0 : dice.pick([0.15, 0.4, 1]);
  const faults = TROUBLES.filter(() => dice.chance(share));
  const count = dice.between(20, 45);
  const actions = Array.from({ length: count }, () => {
    const make = faults.length > 0 && dice.chance(0.4) ? dice.pick(faults) : dice.pick(USUAL);
    return { ...make(dice), thenMs: gapOf(dice) };
  });
  const first = [0, 1].map(() => ({ ...claim(dice), thenMs: dice.between(0, 2_000) }));
  return { seed, nodes, actions: [...first, ...actions] };
}

function gapOf(dice: Dice): number {
  const roll = dice.fraction();
  if (roll < 0.6) return dice.between(0, 400);
  return roll < 0.95 ? dice.between(400, 4_000) : dice.between(4_000, 80_000);
}

/** Reads a saved plan. It is our own file, so that a check of its outline is enough. */
export function readProvisionerPlan(value: unknown): ProvisionerPlan {
  if (!isPlan(value)) throw new Error("this is no plan");
  return value;
}

function isPlan(value: unknown): value is ProvisionerPlan {
  return typeof value === "object" && value !== null && "seed" in value && "nodes" in value && "actions" in value;
}
