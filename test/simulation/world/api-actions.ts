import { formatMicroTime } from "../../../common/runtime/micro-time.ts";
import type { JsonObject, ObjectRef } from "../engine/api/objects.ts";
import type { LeaseEdit, LostRight, Step } from "../plan/step.ts";
import type { ActiveFault } from "./fault-injector.ts";
import { withForged } from "./forged-status.ts";
import { NAMESPACE } from "./objects.ts";
import { secondsText } from "./time.ts";
import type { World } from "./world.ts";

type StepOf<K extends Step["kind"]> = Extract<Step, { kind: K }>;

/** What administrators and other clients with write access do to the API server and its objects. False for any other step. */
export function actOnApi(world: World, step: Step): boolean {
  switch (step.kind) {
    case "lose-rights":
      loseRights(world, step);
      return true;
    case "tamper-lease":
      tamperLease(world, step.how);
      return true;
    case "refuse-writes-and-change-leader":
      changeLeader(world, step);
      return true;
    case "step-api-clock":
      stepClocks(world, step);
      return true;
    case "restore-etcd":
      restoreEtcd(world, step);
      return true;
    case "forge-binding":
      forgeBinding(world, step);
      return true;
    case "forge-status":
      forgeStatus(world, step);
      return true;
    default:
      return false;
  }
}

/** A client that was refused many times waits up to this long for its next try. Milliseconds. */
export const RECOVERS_MS = 100_000;

/** The calls that fail without a permission, by the prefixes of their site names. */
const FORBIDDEN: Readonly<Record<LostRight, readonly string[]>> = {
  "write-claims": ["apply persistentvolumeclaims", "patch persistentvolumeclaims"],
  read: ["list ", "watch ", "get "],
  "write-events": ["create events", "patch events"],
  "use-leases": ["get leases", "create leases", "patch leases", "replace leases"],
  "label-pods": ["patch pods"],
};

function loseRights(world: World, { right, from, forMs }: StepOf<"lose-rights">): void {
  const at = FORBIDDEN[right];
  const active: ActiveFault = { kind: "refused", from: senderOf(world, from), to: "api", probability: 1, at };
  world.injector.begin(active);
  world.health.noteApiFault(forMs + RECOVERS_MS);
  world.windows.begin(forMs, () => world.injector.end(active));
}

function changeLeader(world: World, { status, how, forMs }: StepOf<"refuse-writes-and-change-leader">): void {
  const at = FORBIDDEN["write-claims"];
  const active: ActiveFault = { kind: "refused", from: "aggregator", to: "api", probability: 1, at, status };
  world.injector.begin(active);
  world.health.noteApiFault(forMs + RECOVERS_MS);
  const process = world.leader?.process;
  process?.[how]();
  if (how === "pause" && process !== undefined) world.health.down(process.name);
  world.windows.begin(forMs, () => {
    world.injector.end(active);
    // Mooring retries an invalid write after a minute, or when the claim changes.
    if (status === 422)
      for (const { name } of world.cluster.claims.all) world.touchClaim(`persistentvolumeclaims/${name}`);
    if (how !== "pause" || process === undefined) return;
    process.resume();
    if (process.state() === "running") world.health.up(process.name);
  });
}

function forgeBinding({ cluster, engine, apiWallMs }: World, { pick, byMs }: StepOf<"forge-binding">): void {
  const { all } = cluster.claims;
  const claim = all[pick % Math.max(1, all.length)];
  if (claim === undefined) return;
  const status = { phase: "Bound", lastPhaseTransitionTime: secondsText(apiWallMs + byMs) };
  const ref = { resource: "persistentvolumes", name: claim.volume.pv } as const;
  engine.api.update(ref, (volume) => ({ ...volume, status }), { subresource: "status" });
}

/** Mooring repairs a claim that is forged again and again at growing intervals, up to ten minutes: longer than a world waits. */
const MOST_FORGED = 3;

function forgeStatus(world: World, { pick, part, agoMs }: StepOf<"forge-status">): void {
  const all = world.cluster.claims.all.filter(({ uid }) => (world.forged.get(uid) ?? 0) < MOST_FORGED);
  const claim = all[pick % Math.max(1, all.length)];
  if (claim === undefined) return;
  world.forged.set(claim.uid, (world.forged.get(claim.uid) ?? 0) + 1);
  const ref = { resource: "persistentvolumeclaims", namespace: NAMESPACE, name: claim.name } as const;
  const forging = { part, atMs: world.apiWallMs - agoMs, node: world.node(pick).name };
  world.engine.api.update(ref, (object) => withForged(object, forging), { subresource: "status" });
}

function stepClocks({ apiClocks, engine }: World, { server, byMs, backAfterMs }: StepOf<"step-api-clock">): void {
  apiClocks.step(server, byMs);
  if (backAfterMs !== undefined) engine.scheduler.after(backAfterMs, () => apiClocks.step(server, -byMs));
}

/** Watches resume at intervals, and clients retry lists on a server that has gone back in time. Milliseconds. */
const RESTORED_MS = 45_000;

function restoreEtcd(world: World, { afterMs, downMs }: StepOf<"restore-etcd">): void {
  const { api } = world.engine;
  const backup = api.snapshot();
  world.windows.begin(afterMs, () => {
    world.backups.restore(backup);
    api.restart(downMs);
    world.health.noteApiFault(downMs + RESTORED_MS);
    world.engine.scheduler.after(downMs + 1, () => world.syncKubelets());
  });
}

const LEASE: ObjectRef = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" };
/** The field has 32 bits. */
const LONGEST_S = 2 ** 31 - 1;
const HOUR_MS = 3_600_000;
const NOBODY = "somebody-else";

function tamperLease(world: World, how: LeaseEdit): void {
  const { api } = world.engine;
  if (how === "deleted") {
    api.delete(LEASE);
    return;
  }
  if (how === "without-words") {
    api.update(LEASE, (lease) => ({ ...lease, metadata: { ...lease.metadata, annotations: {} } }));
    return;
  }
  const renewTime = (byMs: number): JsonObject => ({ renewTime: formatMicroTime(world.apiWallMs + byMs) });
  const edits: Readonly<Record<typeof how, JsonObject>> = {
    "other-holder": { holderIdentity: NOBODY, ...renewTime(0) },
    released: { holderIdentity: "" },
    older: renewTime(-HOUR_MS),
    newer: renewTime(HOUR_MS),
    locked: { holderIdentity: NOBODY, leaseDurationSeconds: LONGEST_S, ...renewTime(0) },
  };
  api.update(LEASE, (lease) => {
    const spec = typeof lease.spec === "object" && !Array.isArray(lease.spec) ? lease.spec : {};
    return { ...lease, spec: { ...spec, ...edits[how] } };
  });
}

/** An administrator deletes a Lease that would block every election for minutes. */
export function freeLease({ engine: { api } }: World): void {
  const lease = api.get(LEASE);
  if (JSON.stringify(lease?.spec ?? {}).includes(`"${NOBODY}"`)) api.delete(LEASE);
}

/** The part of the process names that the step concerns: a node's name, the aggregators', or the empty text for all. */
export function senderOf(world: World, from: number): string {
  if (from === -2) return "";
  return from === -1 ? "aggregator" : world.node(from).name;
}
