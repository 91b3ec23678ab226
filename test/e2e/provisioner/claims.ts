import { accepted } from "../../rig/control-plane/api.ts";
import { STORAGE_PATHS } from "../../rig/csi/objects.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Told } from "../affinity/event-log.ts";
import type { Observation } from "../protection/log.ts";
import type { ClassName, ProvisionerStage, SeenClaim } from "./stage.ts";

/** A claim that was made. */
export interface MadeClaim {
  readonly name: string;
  readonly uid: string;
  /** The name that its volume has once it is made. */
  readonly volume: string;
}

/** A claim in the namespace `default`. */
export interface ClaimTerms {
  readonly name: string;
  /** One of the stage, or a class that was made beside it. */
  readonly storageClass?: ClassName | (string & {});
  /** 32 MiB unless told. */
  readonly size?: string;
  readonly isBlock?: boolean;
  readonly accessMode?: string;
  /** Further fields of the claim's spec. */
  readonly more?: object;
}

const CLAIMS = STORAGE_PATHS.claims("default");

/** Makes a claim; nobody waits for its volume. */
export async function makeClaim(
  { api, claims, until }: ProvisionerStage,
  { name, storageClass = "ext4", size = "32Mi", isBlock = false, accessMode = "ReadWriteOnce", more }: ClaimTerms,
): Promise<MadeClaim> {
  const before = claims(`default/${name}`).length;
  await api.create(CLAIMS, {
    metadata: { name },
    spec: {
      ...{ storageClassName: storageClass, accessModes: [accessMode], volumeMode: isBlock ? "Block" : "Filesystem" },
      resources: { requests: { storage: size } },
      ...more,
    },
  });
  let uid = "";
  await until(`claim ${name}`, () => {
    const seen = claims(`default/${name}`)
      .slice(before)
      .find(({ value }) => value !== "gone");
    if (seen === undefined) throw new HarnessError("no watch told of it");
    uid = seen.uid;
  });
  return { name, uid, volume: `pvc-${uid}` };
}

/** Waits until what was seen last of a claim is so. */
export async function untilClaim(
  stage: ProvisionerStage,
  { name, uid }: MadeClaim,
  { what, holds }: { readonly what: string; readonly holds: (seen: SeenClaim) => boolean },
): Promise<void> {
  await stage.until(`${name} ${what}`, () => {
    const last = stage.claims(`default/${name}`).findLast((one) => one.uid === uid);
    if (last === undefined || last.value === "gone" || !holds(last.value))
      throw new HarnessError(`it is ${JSON.stringify(last)}; ${wordsOf(stage.events.on(uid))}`);
  });
}

/** Waits until a claim is bound to its volume. */
export async function untilBound(stage: ProvisionerStage, claim: MadeClaim): Promise<void> {
  await untilClaim(stage, claim, { what: "bound", holds: ({ phase }) => phase === "Bound" });
}

/** Asks for the deletion of a claim; does not wait for its end. */
export async function deleteClaim({ cluster }: ProvisionerStage, { name }: Pick<MadeClaim, "name">): Promise<void> {
  await accepted(cluster.plane.api({ method: "DELETE", path: `${CLAIMS}/${name}` }), `the deletion of ${name}`);
}

/** Changes a claim. */
export async function changeClaim({ api }: ProvisionerStage, { name }: MadeClaim, change: object): Promise<void> {
  await api.patch(`${CLAIMS}/${name}`, change);
}

/** Waits until a claim is gone. */
export async function untilClaimGone(stage: ProvisionerStage, { name, uid }: MadeClaim): Promise<void> {
  await stage.until(`the end of claim ${name}`, () => {
    const last = stage.claims(`default/${name}`).findLast((one) => one.uid === uid);
    if (last?.value !== "gone") throw new HarnessError(`it is ${JSON.stringify(last)}`);
  });
}

/** Waits until a volume has this phase, or is gone; answers when that was seen. */
export async function untilVolume(stage: ProvisionerStage, volume: string, phase: string): Promise<number> {
  let seen: Observation<string> | undefined;
  await stage.until(`${volume} ${phase}`, () => {
    seen = stage.volumes(volume).at(-1);
    const told = wordsOf(stage.events.on(seen?.uid ?? ""));
    if (seen?.value !== phase) throw new HarnessError(`it is ${JSON.stringify(seen)}; ${told}`);
  });
  return seen?.seenMs ?? Number.NaN;
}

/** The events on a volume. */
export function toldOfVolume(stage: ProvisionerStage, volume: string): readonly Told[] {
  const uids = new Set(stage.volumes(volume).map(({ uid }) => uid));
  return [...uids].flatMap((uid) => stage.events.on(uid));
}

/** Waits until an event with this reason says something; answers its words. */
export async function untilTold(
  stage: ProvisionerStage,
  on: () => readonly Told[],
  { reason, words = "" }: { readonly reason: string; readonly words?: string },
): Promise<string> {
  let note = "";
  await stage.until(`an event ${reason} ${words}`, () => {
    const found = on().find((one) => one.reason === reason && one.note.includes(words));
    if (found === undefined) throw new HarnessError(wordsOf(on()));
    note = found.note;
  });
  return note;
}

function wordsOf(told: readonly Told[]): string {
  return `events: ${told.map(({ reason, note }) => `${reason}: ${note}`).join(" | ")}`;
}
