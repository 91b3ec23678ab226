import type { Clock } from "../common/runtime/clock.ts";
import type { VolumeIdentity } from "../common/storage/volume-identity.ts";
import type { DryRunConfig } from "./config.ts";
import { DEFAULT_KUBELET_ROOT, type MountedHold, type MountRead, readHolds } from "./core/holds.ts";
import { displayPath } from "./core/mount-info.ts";
import { createMountInfoFile } from "./sources/mount-table.ts";

/** What the local mount table shows, as a table or as JSON. Nothing else is read and nobody is told. */
export async function dryRun(config: DryRunConfig, { clock }: { readonly clock: Clock }): Promise<string> {
  const path = config.kubeletRoot ?? DEFAULT_KUBELET_ROOT;
  const text = await createMountInfoFile(config.mountInfo, { clock }).read();
  const read = readHolds(text, { by: "path", path });
  return config.output === "json" ? asJson(config, read) : asTable(config, read);
}

function asJson({ mountInfo }: DryRunConfig, read: MountRead): string {
  const holds = read.holds.map(({ kind, volume, podUid, mount }) => ({
    kind,
    volume,
    podUid,
    mountPoint: displayPath(mount.mountPoint),
    fsType: mount.fsType,
  }));
  const { kubeletRoot, incomplete } = read;
  return JSON.stringify({ mountInfo, kubeletRoot, absenceProven: false, incomplete, holds }, undefined, 2);
}

function asTable({ mountInfo }: DryRunConfig, read: MountRead): string {
  const rows = [["KIND", "VOLUME", "POD UID", "TYPE", "MOUNT POINT"], ...read.holds.map(toRow)];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const count = `${read.holds.length} volume mount${read.holds.length === 1 ? "" : "s"}`;
  const summary = `${count} below ${displayPath(read.kubeletRoot)} in ${mountInfo}.`;
  const caution = `Absence is not proven: ${read.incomplete ?? "outside a pod"}.`;
  return [...(read.holds.length > 0 ? [...lines, ""] : []), summary, caution].join("\n");
}

function toRow({ kind, volume, podUid, mount }: MountedHold): readonly string[] {
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
