import { displayPath, needsAgreement } from "../../common/mounts/core/mount-info.ts";
import type { NodeFacts } from "../../common/storage/node-facts.ts";
import type { MountScan } from "./mounted-volumes.ts";
import type { TableSurvey } from "./table-survey.ts";

/** Everything that a dry run has found. */
export interface DryRunFindings {
  readonly node: {
    readonly facts: NodeFacts;
    readonly bootId: string | undefined;
    readonly bootedAt: string | undefined;
  };
  /** Path of the mount table. */
  readonly mountInfo: string;
  readonly survey: TableSurvey;
  readonly scan: MountScan;
  readonly root: { readonly isGiven: boolean; readonly exists: boolean | undefined };
  readonly changes: Changes;
  readonly clock: { readonly source: "monotonic-raw" | "monotonic"; readonly driftPpm: number };
}

/** How an agent would notice changes of the table; undefined for a file that is only a copy of one. */
export type Changes =
  | { readonly by: "poll" }
  | { readonly by: "timer"; readonly why: string }
  | { readonly by: "nothing" };

/** Whose table `/proc/<process>/mountinfo` is; undefined when the path is none of the kernel's. */
export function processOf(mountInfo: string): string | undefined {
  return /\/(self|thread-self|\d+)\/mountinfo$/.exec(mountInfo)?.[1];
}

/** What you should know before you trust the rest: a sentence each, none on an ordinary node. */
export function remarksOn(findings: DryRunFindings): readonly string[] {
  return [...remarksOnTable(findings), ...remarksOnRoot(findings), ...remarksOnMeans(findings)];
}

function remarksOnTable({ mountInfo, node, survey }: DryRunFindings): readonly string[] {
  const process = processOf(mountInfo);
  const remarks: string[] = [];
  if (process === undefined)
    remarks.push(
      `${mountInfo} is a file, not a mount table of the kernel: it may be of another machine than the node above.`,
    );
  else if (process !== "1")
    remarks.push(
      `The table is not that of PID 1 but of ${processName(process)}: it shows only what that process sees.`,
    );
  if (node.facts.mountNamespace === "other")
    remarks.push("The table is of another mount namespace than this process's own.");
  if (survey.rootFsType === "overlay")
    remarks.push("Its root is an overlay: perhaps this is the table of a container and not that of the node.");
  if (survey.damagedLines > 0) remarks.push(`Lines that could not be read: ${survey.damagedLines}.`);
  return remarks;
}

function processName(process: string): string {
  return process === "1" || /^\d+$/.test(process) ? `process ${process}` : "this process";
}

function remarksOnRoot({ survey, scan, root }: DryRunFindings): readonly string[] {
  const missing = root.exists === false ? [`${displayPath(scan.kubeletRoot)} does not exist on this machine.`] : [];
  const others = survey.kubeletRoots
    .filter(({ path }) => path !== scan.kubeletRoot)
    .map(({ path, mounts }) => {
      const shown = displayPath(path);
      return `Volumes of pods are mounted below ${shown}, too (${mounts}): to look there, use --kubelet-root ${quoted(shown)}`;
    });
  return [...missing, ...others];
}

/** As a shell takes it for one word. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function remarksOnMeans({ node, changes, clock }: DryRunFindings): readonly string[] {
  const remarks: string[] = [];
  if (changes.by === "timer")
    remarks.push(`An agent could not poll this table (${changes.why}): it would read it by timer.`);
  if (clock.source === "monotonic")
    remarks.push(
      "CLOCK_MONOTONIC_RAW cannot be read here: an agent would shorten each idle time by a tenth, to be safe.",
    );
  const { kernel } = node.facts;
  if (kernel !== undefined && needsAgreement(kernel))
    remarks.push(`Linux ${kernel} may leave out lines while mounts change: an agent would scan until two scans agree.`);
  return remarks;
}

/** Why the table could not be read, and what to do about it. */
export function explainUnreadable({
  mountInfo,
  code,
  platform,
}: {
  readonly mountInfo: string;
  /** Of the error, such as `EACCES`. */
  readonly code: string | undefined;
  readonly platform: string;
}): string {
  const failure = `cannot read the mount table ${mountInfo}`;
  if (platform !== "linux")
    return `${failure}: this is ${platform}, and only Linux has one. Run this on a node, or name a copy of a node's table with --mountinfo.`;
  const advice = "Run this as root, or look at your own mounts with --mountinfo /proc/self/mountinfo.";
  if (code === "EACCES" || code === "EPERM")
    return `${failure}: permission denied. The kernel hides it from this user (/proc is mounted with hidepid, or SELinux does not allow it). ${advice}`;
  if (code === "ENOENT" && processOf(mountInfo) !== undefined)
    return `${failure}: there is no such file. /proc is not mounted, hides the processes of others (hidepid), or there is no such process. ${advice}`;
  if (code === "ENOENT") return `${failure}: there is no such file.`;
  return `${failure}: ${code ?? "for an unknown reason"}.`;
}
