import { HarnessError } from "../../process/errors.ts";
import type { MadePod } from "./pods.ts";
import type { Truth } from "./scenario.ts";
import type { Stage } from "./stage.ts";
import { both, latest, type UseMounts, umountsOf, useMounts } from "./truth.ts";

/** Waits until the kernel has told of the end of every use mount of these pods; answers when the last one ended. */
export async function endOfUse(stage: Stage, volume: string, pods: readonly MadePod[]): Promise<Truth> {
  const ends: Truth[] = [];
  for (const { node, uid, name } of pods) {
    const use = { podUid: uid, volume };
    await stage.until(`the unmounts of ${name}`, () => requireEnd(useMounts(stage.mounts(node), use)));
    ends.push(...useMounts(stage.mounts(node), use).ended.map((end) => narrowed(stage, end)));
  }
  const last = latest(ends);
  if (last === undefined) throw new HarnessError("no pods, no use");
  return last;
}

/** Waits until the kernel has told of a use mount of the pod. */
export async function beginOfUse(stage: Stage, volume: string, { node, uid, name }: MadePod): Promise<void> {
  await stage.until(`the mount of ${name}`, () => {
    const { left } = useMounts(stage.mounts(node), { podUid: uid, volume });
    if (left.length === 0) throw new HarnessError("the record does not show it");
  });
}

function requireEnd({ left, ended }: UseMounts): void {
  if (ended.length === 0) throw new HarnessError("the record shows no use mount that ended");
  if (left.length > 0) throw new HarnessError(`still mounted: ${left.join(" ")}`);
}

/** Where a driver unmounted, its own record says so, too; the two must agree. */
function narrowed(stage: Stage, { mountPoint, at }: UseMounts["ended"][number]): Truth {
  const umounts = umountsOf(stage.operations(), mountPoint);
  if (umounts.length === 0) return at;
  const agreed = umounts.flatMap((umount) => both(umount, at) ?? []);
  const known = latest(agreed);
  if (known === undefined) throw new HarnessError(`the kernel and the driver disagree on ${mountPoint}`);
  return known;
}
