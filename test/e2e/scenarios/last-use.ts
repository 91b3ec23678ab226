import { HarnessError } from "../../rig/process/errors.ts";
import type { MadePod } from "./pods.ts";
import type { Moment, Truth, UserEnd } from "./scenario.ts";
import type { Stage } from "./stage.ts";
import { both, continuousSince, type EndedMount, latest, type UseMounts, umountsOf, useMounts } from "./truth.ts";

/** Waits until the kernel has told of the end of every use mount of these pods; answers when the last one ended. */
export async function endOfUse(stage: Stage, volume: string, pods: readonly MadePod[]): Promise<Truth> {
  const users: UserEnd[] = [];
  for (const pod of pods) {
    const ended = await endedMounts(stage, volume, pod);
    const last = latest(ended.map((one) => narrowed(stage, one)));
    const beganMs = continuousSince(ended);
    if (last !== undefined && beganMs !== undefined) users.push(userEnd(pod, { ...last, beganMs }));
  }
  const last = latest(users);
  if (last === undefined) throw new HarnessError("no pods, no use");
  return { ...last, users };
}

/** A pod of the namespace `default` as the user of a claim whose use, which a mount table showed, began and ended then. */
export function userEnd({ node, name, uid }: MadePod, span: Moment & Pick<UserEnd, "beganMs">): UserEnd {
  return { ...span, node, pod: `default/${name}`, podUid: uid, isShown: true };
}

async function endedMounts(stage: Stage, volume: string, pod: MadePod): Promise<readonly EndedMount[]> {
  const mounts = (): UseMounts => useMounts(stage.mounts(pod.node), { podUid: pod.uid, volume });
  await stage.until(`the unmounts of ${pod.name}`, () => requireEnd(mounts()));
  return mounts().ended;
}

function requireEnd({ left, ended }: UseMounts): void {
  if (ended.length === 0) throw new HarnessError("the record shows no use mount that ended");
  if (left.length > 0) throw new HarnessError(`still mounted: ${left.join(" ")}`);
}

/** Where a driver unmounted, its own record says so, too; the two must agree. */
function narrowed(stage: Stage, { mountPoint, at }: EndedMount): Moment {
  const umounts = umountsOf(stage.operations(), mountPoint);
  if (umounts.length === 0) return at;
  const agreed = umounts.flatMap((umount) => both(umount, at) ?? []);
  const known = latest(agreed);
  if (known === undefined) throw new HarnessError(`the kernel and the driver disagree on ${mountPoint}`);
  return known;
}
