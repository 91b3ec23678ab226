import { displayPath } from "../../common/mounts/core/mount-info.ts";
import type { MountKind, VolumeIdentity } from "../../common/storage/volume-identity.ts";
import { type DryRunFindings, processOf, remarksOn } from "./dry-run.ts";
import type { MountedVolumeEntry } from "./mounted-volumes.ts";

const KINDS: readonly MountKind[] = ["pod", "subpath", "block", "staging"];

/** The findings for programs: docs/dry-run.md describes each field. Every field is always there; `null` means unknown. */
export function asJson(findings: DryRunFindings): string {
  const { node, mountInfo, survey, scan, root, changes, clock } = findings;
  const { facts } = node;
  const value = {
    apiVersion: "agent.mooring.dev/v1",
    kind: "DryRun",
    node: {
      kernel: facts.kernel ?? null,
      architecture: facts.architecture ?? null,
      distribution: facts.distribution ?? null,
      containerRuntime: facts.containerRuntime ?? null,
      cgroup: facts.cgroup ?? null,
      selinux: facts.selinux ?? null,
      apparmor: facts.apparmor ?? null,
      bootId: node.bootId ?? null,
      bootedAt: node.bootedAt ?? null,
    },
    mountTable: {
      path: mountInfo,
      process: processOf(mountInfo) ?? null,
      mountNamespace: facts.mountNamespace ?? null,
      lines: survey.lines,
      damagedLines: survey.damagedLines,
    },
    kubeletRoot: {
      path: displayPath(scan.kubeletRoot),
      isGiven: root.isGiven,
      exists: root.exists ?? null,
      others: otherRoots(findings),
    },
    changes: { noticedBy: changes.by, clock: clock.source, driftPpm: clock.driftPpm },
    absence: { isProven: scan.incomplete === undefined, why: scan.incomplete ?? null },
    counts: countsOf(scan.mountedVolumes),
    mountedVolumes: scan.mountedVolumes.map(({ kind, volume, podUid, mount }) => ({
      kind,
      volume,
      podUid: podUid ?? null,
      mountPoint: displayPath(mount.mountPoint),
      fsType: mount.fsType,
    })),
    remarks: remarksOn(findings),
  };
  return JSON.stringify(value, undefined, 2);
}

function otherRoots({ survey, scan }: DryRunFindings): readonly { readonly path: string; readonly mounts: number }[] {
  return survey.kubeletRoots
    .filter(({ path }) => path !== scan.kubeletRoot)
    .map(({ path, mounts }) => ({ path: displayPath(path), mounts }));
}

function countsOf(mountedVolumes: readonly MountedVolumeEntry[]): Readonly<Record<MountKind, number>> {
  const counts = { pod: 0, subpath: 0, block: 0, staging: 0 };
  for (const { kind } of mountedVolumes) counts[kind] += 1;
  return counts;
}

/** The findings for people. */
export function asText(findings: DryRunFindings): string {
  const { scan } = findings;
  const table = layOut([["KIND", "VOLUME", "POD UID", "TYPE", "MOUNT POINT"], ...scan.mountedVolumes.map(toRow)]);
  const remarks = remarksOn(findings).map((remark) => `- ${remark}`);
  const parts = [layOut(headOf(findings)), scan.mountedVolumes.length > 0 ? table : [], [summaryOf(findings)], remarks];
  const lines = parts.filter((part) => part.length > 0).map((part) => part.map(printable).join("\n"));
  return lines.join("\n\n");
}

function headOf({
  node,
  mountInfo,
  survey,
  scan,
  root,
  changes,
  clock,
}: DryRunFindings): readonly (readonly string[])[] {
  const { facts } = node;
  const exists = { true: "exists", false: "does not exist", undefined: "cannot be looked at from here" } as const;
  const noticed = {
    poll: "noticed at once, by poll(2)",
    timer: "noticed by timer",
    nothing: "none: it is a file",
  } as const;
  return [
    ["Node", describeNode(facts)],
    ["Boot", [node.bootId ?? "unknown", node.bootedAt && `since ${node.bootedAt}`].filter(Boolean).join(", ")],
    ["Mount table", `${mountInfo}, ${counted(survey.lines, "line")}, ${describeNamespace(facts.mountNamespace)}`],
    [
      "Kubelet root",
      `${displayPath(scan.kubeletRoot)} (${root.isGiven ? "given" : "default"}), ${exists[`${root.exists}`]}`,
    ],
    ["Changes", `${noticed[changes.by]}; clock ${clock.source}, drift at most ${clock.driftPpm} ppm`],
    ["Absence", scan.incomplete === undefined ? "proven" : `not proven: ${scan.incomplete}`],
  ];
}

function describeNode(facts: DryRunFindings["node"]["facts"]): string {
  const isOn = (what: string, on: boolean | undefined): string | undefined =>
    on === undefined ? undefined : `${what} ${on ? "on" : "off"}`;
  const parts = [
    facts.kernel && `kernel ${facts.kernel}`,
    facts.architecture,
    facts.distribution,
    facts.containerRuntime,
    facts.cgroup && `cgroup ${facts.cgroup}`,
    isOn("SELinux", facts.selinux),
    isOn("AppArmor", facts.apparmor),
  ];
  return parts.filter(Boolean).join(", ") || "unknown";
}

function describeNamespace(mountNamespace: DryRunFindings["node"]["facts"]["mountNamespace"]): string {
  if (mountNamespace === undefined) return "mount namespace unknown";
  return mountNamespace === "own" ? "of this process's own mount namespace" : "of another mount namespace";
}

function summaryOf({ mountInfo, scan }: DryRunFindings): string {
  const counts = countsOf(scan.mountedVolumes);
  const kinds = KINDS.filter((kind) => counts[kind] > 0).map((kind) => `${counts[kind]} ${kind}`);
  const place = `below ${displayPath(scan.kubeletRoot)} in ${mountInfo}`;
  return `${counted(scan.mountedVolumes.length, "volume mount")} ${place}${kinds.length > 0 ? `: ${kinds.join(", ")}` : ""}.`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function toRow({ kind, volume, podUid, mount }: MountedVolumeEntry): readonly string[] {
  return [kind, nameOf(volume), podUid ?? "-", mount.fsType, displayPath(mount.mountPoint)];
}

function nameOf(volume: VolumeIdentity): string {
  switch (volume.by) {
    case "name":
      return volume.name;
    case "handle":
      return `${volume.driver} ${volume.handleHash.slice(0, 12)}…`;
    case "device":
      return `${volume.plugin} ${displayPath(volume.path)}`;
  }
}

/** Columns as wide as their widest text. */
function layOut(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Anybody who mounts something chooses the name of the mount point: control characters are shown as `?`. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, "?");
}
