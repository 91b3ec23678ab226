import { HarnessError } from "../process/errors.ts";

/** A mount that appeared in the namespace or left it; both when it was moved to another place. */
export interface MarkEvent {
  /** The mount's identifier, which is never used again. */
  readonly mount: bigint;
  readonly isAttached: boolean;
  readonly isDetached: boolean;
}

/** Where a mount is and what it shows. */
export interface MountPlace {
  /** The mount point, as the namespace sees it. */
  readonly mountPoint: string;
  /** The part of the filesystem that it shows. */
  readonly root: string;
  readonly fsType: string;
  /** `major:minor` */
  readonly device: string;
}

/** `<linux/fanotify.h>` */
const FAN_Q_OVERFLOW = 0x4000n;
const FAN_MNT_ATTACH = 0x0100_0000n;
const FAN_MNT_DETACH = 0x0200_0000n;
const INFO_TYPE_MNT = 7;
const METADATA_VERSION = 3;

/** The events in what a fanotify group was read to. Throws a HarnessError when some were lost or are of another form. */
export function readEvents(bytes: Buffer): readonly MarkEvent[] {
  const events: MarkEvent[] = [];
  // struct fanotify_event_metadata: u32 length, u8 version, u8, u16 metadata length, u64 mask, s32 fd, s32 pid; then the records.
  for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at)) {
    const mask = bytes.readBigUInt64LE(at + 8);
    if ((mask & FAN_Q_OVERFLOW) !== 0n) throw new HarnessError("the kernel lost events of mounts");
    const info = at + bytes.readUInt16LE(at + 6);
    if (bytes.readUInt8(at + 4) !== METADATA_VERSION || bytes.readUInt8(info) !== INFO_TYPE_MNT) {
      throw new HarnessError("the kernel's events of mounts have another form than in Linux 6.15");
    }
    events.push({
      // struct fanotify_event_info_mnt: an aligned u64 behind a header of four bytes.
      mount: bytes.readBigUInt64LE(info + 8),
      isAttached: (mask & FAN_MNT_ATTACH) !== 0n,
      isDetached: (mask & FAN_MNT_DETACH) !== 0n,
    });
  }
  return events;
}

/** Reads a `struct statmount`: offsets of texts are counted from byte 512 on. */
export function readPlace(bytes: Buffer): MountPlace {
  const text = (offset: number): string => {
    const begin = 512 + bytes.readUInt32LE(offset);
    return bytes.subarray(begin, bytes.indexOf(0, begin)).toString("utf8");
  };
  return {
    mountPoint: text(108),
    root: text(104),
    fsType: text(36),
    device: `${bytes.readUInt32LE(16)}:${bytes.readUInt32LE(20)}`,
  };
}
