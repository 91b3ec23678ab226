import type { MountInfoText } from "../../common/mounts/core/mount-info.ts";
import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { FakeClock } from "./clock.ts";

/** The fields of a line of mountinfo, unescaped; what is left out is what a bind mount of ext4 would show. */
export interface MountLine {
  readonly mountPoint: string;
  readonly mountId?: number;
  readonly parentId?: number;
  readonly device?: string;
  readonly root?: string;
  readonly options?: string;
  readonly optional?: readonly string[];
  readonly fsType?: string;
  readonly source?: string;
  readonly superOptions?: string;
}

/** A line as the kernel writes it, its end included. Paths are latin1 strings: one character is one byte. */
export function formatMountLine(line: MountLine): string {
  const { mountPoint, mountId = 36, parentId = 35, device = "8:1", root = "/", options = "rw,relatime" } = line;
  const { optional = ["shared:1"], fsType = "ext4", source = "/dev/sda1", superOptions = "rw" } = line;
  const head = [mountId, parentId, device, escapeField(root), escapeField(mountPoint), options];
  return `${[...head, ...optional, "-", fsType, escapeField(source), superOptions].join(" ")}\n`;
}

function escapeField(text: string): string {
  return text.replace(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/** The mount point of a claim's volume in a pod, as a CSI driver makes it. */
export function csiMountPoint(podUid: string, volume: string, root = "/var/lib/kubelet"): string {
  return `${root}/pods/${podUid}/volumes/kubernetes.io~csi/${volume}/mount`;
}

/** The mount point of a pod's projected token, which proves the table when the pod is the agent's own. */
export function tokenMountPoint(podUid: string, root = "/var/lib/kubelet"): string {
  return `${root}/pods/${podUid}/volumes/kubernetes.io~projected/kube-api-access-x7k2p`;
}

/** A mount table that a test changes; each scan takes a millisecond. */
export interface FakeMountTable extends MountInfoSource {
  readonly mount: (line: MountLine | string) => void;
  /** Takes away the last mount at this place. */
  readonly unmount: (mountPoint: string) => void;
  /** What the next scans give instead of the table, one each; `undefined` is a scan that fails. */
  readonly disturb: (...reads: readonly ((text: string) => string | undefined)[]) => void;
  readonly text: () => string;
  readonly reads: () => number;
}

export function createFakeMountTable(clock: FakeClock, lines: readonly MountLine[] = []): FakeMountTable {
  const table = lines.map((line) => ({ mountPoint: line.mountPoint, text: formatMountLine(line) }));
  const disturbances: ((text: string) => string | undefined)[] = [];
  let reads = 0;
  const text = (): string => table.map((line) => line.text).join("");
  return {
    mount: (line) => {
      table.push(
        typeof line === "string"
          ? { mountPoint: line, text: formatMountLine({ mountPoint: line }) }
          : { mountPoint: line.mountPoint, text: formatMountLine(line) },
      );
    },
    unmount: (mountPoint) => {
      const index = table.findLastIndex((line) => line.mountPoint === mountPoint);
      if (index !== -1) table.splice(index, 1);
    },
    disturb: (...next) => void disturbances.push(...next),
    text,
    reads: () => reads,
    read: async (): Promise<MountInfoText> => {
      reads += 1;
      const beganAt = clock.monotonicMs();
      const disturb = disturbances.shift() ?? ((whole: string) => whole);
      const seen = disturb(text());
      clock.pass(1);
      if (seen === undefined) throw new MooringError("mount-table-unreadable", "no such file");
      return { text: seen, beganAt, endedAt: clock.monotonicMs() };
    },
  };
}
