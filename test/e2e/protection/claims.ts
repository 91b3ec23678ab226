import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { accepted } from "../../rig/control-plane/api.ts";
import { claimObject, STORAGE_PATHS } from "../../rig/csi/objects.ts";
import { codeOf, HarnessError } from "../../rig/process/errors.ts";
import type { Moment } from "../scenarios/scenario.ts";
import { NODES } from "../scenarios/stage.ts";
import { latest, useMounts } from "../scenarios/truth.ts";
import type { Observation } from "./log.ts";
import { CLASS, type ProtectionStage, type SeenClaim } from "./stage.ts";
import type { Ending } from "./verdict.ts";

/** A claim that is bound. */
export interface BoundClaim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly volume: string;
}

/** Makes a claim whose volume the storage makes, and waits until it is bound. */
export async function makeClaim(
  stage: ProtectionStage,
  { name, namespace = "default" }: { readonly name: string; readonly namespace?: string },
): Promise<BoundClaim> {
  const spec = claimObject({ name }, { storageClassName: CLASS });
  await stage.api.create(STORAGE_PATHS.claims(namespace), spec);
  return await boundClaim(stage, { name, namespace });
}

/** Waits until a claim that somebody makes is bound; another than the one with that UID where it is to be a later one. */
export async function boundClaim(
  stage: ProtectionStage,
  { name, namespace, after }: { readonly name: string; readonly namespace: string; readonly after?: string },
): Promise<BoundClaim> {
  const seen = await untilClaim(stage, `${namespace}/${name}`, {
    what: "bound",
    holds: ({ uid, value }) => uid !== after && value !== "gone" && value.volume !== "",
  });
  const { volume } = seen.value === "gone" ? { volume: "" } : seen.value;
  return { namespace, name, uid: seen.uid, volume };
}

/** Waits until what was seen last of a claim is so; answers it. */
async function untilClaim(
  stage: ProtectionStage,
  key: string,
  { what, holds }: { readonly what: string; readonly holds: (seen: Observation<SeenClaim>) => boolean },
): Promise<Observation<SeenClaim>> {
  let found: Observation<SeenClaim> | undefined;
  await stage.until(`${key} ${what}`, () => {
    const last = stage.claims(key).at(-1);
    if (last === undefined || !holds(last)) throw new HarnessError(`it is ${JSON.stringify(last)}`);
    found = last;
  });
  if (found === undefined) throw new HarnessError(`nothing is known of ${key}`);
  return found;
}

/** Waits until Mooring knows that the claim is mounted, and the API server keeps it for that: it loads policies within seconds. */
export async function untilKept(stage: ProtectionStage, claim: BoundClaim): Promise<void> {
  await untilClaim(stage, keyOf(claim), {
    what: "mounted",
    holds: ({ value }) => value !== "gone" && value.unused === "Mounted",
  });
  await stage.until(`protection of ${claim.name}`, async () => {
    const body = { metadata: { finalizers: null } };
    const contentType = "application/merge-patch+json";
    const path = `${pathOf(claim)}?dryRun=All`;
    const { status } = await stage.cluster.plane.api({ method: "PATCH", path, body, contentType });
    if (status !== 403) throw new HarnessError(`the finalizer can be taken away: ${status}`);
  });
}

/** Waits until Mooring says that the volume of a claim is only staged any more. */
export async function untilStaged(stage: ProtectionStage, claim: BoundClaim): Promise<void> {
  await untilClaim(stage, keyOf(claim), { what: "staged", holds: ({ value }) => value !== "gone" && value.isStaged });
}

/** Waits until the deletion of a claim was asked for. */
export async function untilDeletionAsked(stage: ProtectionStage, claim: BoundClaim): Promise<void> {
  const holds = ({ value }: Observation<SeenClaim>): boolean => value === "gone" || value.isDeleting;
  await untilClaim(stage, keyOf(claim), { what: "deleted", holds });
}

/** Asks for the deletion of a claim. */
export async function deleteClaim({ cluster }: ProtectionStage, claim: BoundClaim): Promise<void> {
  await accepted(cluster.plane.api({ method: "DELETE", path: pathOf(claim) }), `the deletion of ${claim.name}`);
}

/** Waits until a claim is gone; answers when that was seen, wall clock. */
export async function untilGone(stage: ProtectionStage, claim: BoundClaim): Promise<number> {
  let goneMs: number | undefined;
  await stage.until(`the end of ${claim.name}`, () => {
    goneMs = goneAt(stage, claim);
    if (goneMs === undefined) throw new HarnessError(`it is ${JSON.stringify(stage.claims(keyOf(claim)).at(-1))}`);
  });
  return goneMs ?? Number.NaN;
}

/** Waits until a namespace is gone; answers when that was seen, wall clock. */
export async function endOfNamespace(stage: ProtectionStage, name: string): Promise<number> {
  await stage.until(`the end of ${name}`, () => {
    if (stage.namespaces(name).at(-1)?.value !== "gone") throw new HarnessError("it is there");
  });
  return stage.namespaces(name).at(-1)?.seenMs ?? Number.NaN;
}

/** When a claim was gone; nothing while it is there. */
export function goneAt(stage: ProtectionStage, claim: BoundClaim): number | undefined {
  return stage.claims(keyOf(claim)).find(({ uid, value }) => uid === claim.uid && value === "gone")?.seenMs;
}

/**
 * Waits until a claim whose deletion is asked for now is gone: Kubernetes takes claims in turn, so it has asked for the other ones before.
 * Throws a HarnessError when one of them is gone, too, or no longer bound.
 */
export async function requireHeld(stage: ProtectionStage, ...claims: readonly BoundClaim[]): Promise<void> {
  const name = `after-${claims[0]?.name}`;
  const later = await makeClaim(stage, { name });
  await deleteClaim(stage, later);
  await untilGone(stage, later);
  for (const claim of claims) {
    const phase = stage.volumes(claim.volume).at(-1)?.value;
    const isHeld = goneAt(stage, claim) === undefined && phase === "Bound" && destructionOf(stage, claim) === undefined;
    if (!isHeld) throw new HarnessError(`${claim.name} is not held; its volume is ${phase}`);
  }
}

/** Waits until the pod of a claim has written to its volume after a moment. */
export async function untilWrittenAfter(stage: ProtectionStage, claim: BoundClaim, momentMs: number): Promise<void> {
  const beat = join(stage.storage.contentOf(claim.volume), "beat");
  await stage.until(`a write to ${claim.name}`, () => {
    const agoMs = momentMs - writtenAt(beat);
    if (agoMs >= 0) throw new HarnessError(`its last write was ${agoMs} ms before`);
  });
}

function writtenAt(file: string): number {
  try {
    return statSync(file).mtimeMs;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return Number.NEGATIVE_INFINITY;
    throw error;
  }
}

/** Waits until no node has the volume mounted any more; answers when the last mount ended. */
export async function endOfMounts(stage: ProtectionStage, { name, volume }: BoundClaim): Promise<Moment> {
  const lines = (): ReturnType<ProtectionStage["mounts"]> => NODES.flatMap(stage.mounts);
  // A kubelet names the folder in which a volume is staged after the hash of its handle.
  const staging = createHash("sha256").update(volume).digest("hex");
  let ends: readonly Moment[] = [];
  await stage.until(`the unmounts of ${name}`, () => {
    const all = [volume, staging].map((one) => useMounts(lines(), { podUid: "", volume: one }));
    const left = all.flatMap((one) => one.left);
    ends = all.flatMap(({ ended }) => ended.map(({ at }) => at));
    if (left.length > 0 || ends.length === 0) throw new HarnessError(`mounted: ${left.join(" ")}`);
  });
  const last = latest(ends);
  if (last === undefined) throw new HarnessError(`${volume} was never mounted`);
  return last;
}

function destructionOf({ storage }: ProtectionStage, { volume }: BoundClaim): Moment | undefined {
  const destruction = storage.destruction(volume);
  if (destruction?.ended === undefined) return undefined;
  return { afterMs: destruction.began.wallMs, byMs: destruction.ended.wallMs };
}

/** Waits until the data of a claim was destroyed; answers when. */
export async function untilDestroyed(stage: ProtectionStage, claim: BoundClaim): Promise<Moment> {
  let destroyed: Moment | undefined;
  await stage.until(`the destruction of ${claim.name}`, () => {
    destroyed = destructionOf(stage, claim);
    if (destroyed === undefined) throw new HarnessError("the storage's record does not show it");
  });
  return destroyed ?? { afterMs: Number.NaN, byMs: Number.NaN };
}

/** Waits until a deleted claim is gone, nothing of its volume is mounted and its data is destroyed; answers when each was. */
export async function endingOf(stage: ProtectionStage, claim: BoundClaim): Promise<Ending> {
  const [goneMs, unmounted, destroyed] = await Promise.all([
    untilGone(stage, claim),
    endOfMounts(stage, claim),
    untilDestroyed(stage, claim),
  ]);
  const asked = stage
    .claims(keyOf(claim))
    .find(({ uid, value }) => uid === claim.uid && (value === "gone" || value.isDeleting));
  const phases = stage.volumes(claim.volume).map(({ seenMs, value }) => ({ seenMs, phase: value }));
  return { askedMs: asked?.seenMs ?? Number.NaN, goneMs, unmounted, destroyed, phases };
}

export function keyOf({ namespace, name }: Pick<BoundClaim, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

export function pathOf({ namespace, name }: BoundClaim): string {
  return `${STORAGE_PATHS.claims(namespace)}/${name}`;
}
