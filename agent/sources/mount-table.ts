import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import { isSameScan, type MountScan, mergeScans, type RootRule, scanMountedVolumes } from "../core/mounted-volumes.ts";
import type { NodeState } from "../core/node-state.ts";
import { hasAbsence } from "../core/observe.ts";

/** On a kernel that needs it, the table is scanned until two scans agree, at most this often. */
const MOST_SCANS = 10;

/** A scan that can be trusted: an absence counts only when a second scan, right after the first, confirms it. */
export async function scanConfirmed(source: MountInfoSource, state: NodeState, rule: RootRule): Promise<MountScan> {
  const first = await scanAgreed(source, rule);
  if (!hasAbsence(state, first)) return first;
  return mergeScans(first, await scanAgreed(source, rule));
}

/** One scan, or as many as it takes until two in a row show the same mounted volumes. What any of them shows is mounted. */
async function scanAgreed(source: MountInfoSource, rule: RootRule): Promise<MountScan> {
  let last = scanMountedVolumes(await source.read(), rule);
  if (source.needsAgreement !== true) return last;
  let all = last;
  for (let scans = 1; scans < MOST_SCANS; scans += 1) {
    const next = scanMountedVolumes(await source.read(), rule);
    const isAgreed = isSameScan(last, next);
    all = { ...mergeScans(all, next), incomplete: next.incomplete };
    last = next;
    if (isAgreed) return all;
  }
  return { ...all, incomplete: `the table kept changing: no two of ${MOST_SCANS} reads agree` };
}
