import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import { isSameRead, type MountRead, mergeReads, type RootRule, readMountedVolumes } from "../core/mounted-volumes.ts";
import type { NodeState } from "../core/node-state.ts";
import { hasAbsence } from "../core/observe.ts";

/** On a kernel that needs it, the table is read until two reads agree, at most this often. */
const MOST_READS = 10;

/** A read that can be believed: an absence counts only when a second read, right after the first, confirms it. */
export async function readConfirmed(source: MountInfoSource, state: NodeState, rule: RootRule): Promise<MountRead> {
  const first = await readAgreed(source, rule);
  if (!hasAbsence(state, first)) return first;
  return mergeReads(first, await readAgreed(source, rule));
}

/** One read, or as many as it takes until two that follow each other show the same mounted volumes. What any of them shows is there. */
async function readAgreed(source: MountInfoSource, rule: RootRule): Promise<MountRead> {
  let last = readMountedVolumes(await source.read(), rule);
  if (source.needsAgreement !== true) return last;
  let all = last;
  for (let reads = 1; reads < MOST_READS; reads += 1) {
    const next = readMountedVolumes(await source.read(), rule);
    const isAgreed = isSameRead(last, next);
    all = { ...mergeReads(all, next), incomplete: next.incomplete };
    last = next;
    if (isAgreed) return all;
  }
  return { ...all, incomplete: `the table kept changing: no two of ${MOST_READS} reads agree` };
}
