import { closeSync, openSync } from "node:fs";
import koffi from "koffi";
import { HarnessError } from "../process/errors.ts";
import { type MarkEvent, type MountPlace, readEvents, readPlace } from "./kernel-structs.ts";

/** What the kernel says of the mounts of a mount namespace: as it is, and as it changes. */
export interface NamespaceWatch {
  /** Waits, blocking, for a mount or an unmount, at most so many milliseconds; answers what was noted since the last call. */
  readonly wait: (ms: number) => readonly MarkEvent[];
  /** The identifiers of all mounts; nothing when the namespace is gone. */
  readonly list: () => readonly bigint[] | undefined;
  /** What a mount is; nothing when it is gone. */
  readonly describe: (id: bigint) => MountPlace | undefined;
  readonly close: () => void;
}

/** `<linux/fanotify.h>` */
const FAN_CLOEXEC = 0x1;
const FAN_NONBLOCK = 0x2;
const FAN_UNLIMITED_QUEUE = 0x10;
const FAN_REPORT_MNT = 0x4000;
const FAN_MARK_ADD = 0x1;
const FAN_MARK_MNTNS = 0x110;
const FAN_MNT_ATTACH_DETACH = 0x0300_0000;
/** `<linux/nsfs.h>` */
const NS_GET_MNTNS_ID = 0x8008_b705;
/** `<asm-generic/unistd.h>`; the same on x86-64. */
const STATMOUNT = 457;
const LISTMOUNT = 458;
/** `<linux/mount.h>` */
const LSMT_ROOT = 0xffff_ffff_ffff_ffffn;
const STATMOUNT_BASIC_ROOT_POINT_TYPE = 0x2n | 0x8n | 0x10n | 0x20n;
/** `<errno.h>` */
const ENOENT = 2;
const EAGAIN = 11;
const POLLIN = 1;

const LIST_SIZE = 4096;

/**
 * Watches the namespace behind a file such as `/proc/<pid>/ns/mnt` (Linux 6.15, CAP_SYS_ADMIN). Throws a HarnessError where that
 * cannot be. It does not keep the namespace alive.
 */
export function watchNamespace(file: string): NamespaceWatch {
  const calls = systemCalls();
  const namespace = openSync(file, "r");
  const group: number = calls.fanotifyInit(FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_REPORT_MNT, 0);
  if (group < 0) throw failure("fanotify_init for mounts");
  const flags = FAN_MARK_ADD | FAN_MARK_MNTNS;
  if (calls.fanotifyMark(group, flags, FAN_MNT_ATTACH_DETACH, namespace, null) !== 0) throw failure("fanotify_mark");
  const id = new BigUint64Array(1);
  if (calls.ioctl(namespace, NS_GET_MNTNS_ID, id) !== 0) throw failure("NS_GET_MNTNS_ID");
  // An open namespace would outlive its processes, with all its mounts.
  closeSync(namespace);
  const namespaceId = id[0] ?? 0n;
  const events = Buffer.alloc(64 * 1024);
  return {
    wait: (ms) => {
      const poll = Buffer.alloc(8);
      poll.writeInt32LE(group, 0);
      poll.writeInt16LE(POLLIN, 4);
      if (calls.poll(poll, 1, ms) <= 0) return [];
      const length: number = calls.read(group, events, events.length);
      if (length < 0 && koffi.errno() !== EAGAIN) throw failure("read of fanotify");
      return readEvents(events.subarray(0, Math.max(0, length)));
    },
    list: () => listMounts(calls, namespaceId),
    describe: (mount) => describeMount(calls, request(mount, STATMOUNT_BASIC_ROOT_POINT_TYPE, namespaceId)),
    close: () => closeSync(group),
  };
}

type SystemCalls = ReturnType<typeof systemCalls>;

function systemCalls() {
  const libc = koffi.load(null);
  return {
    fanotifyInit: libc.func("int fanotify_init(unsigned int flags, unsigned int event_f_flags)"),
    fanotifyMark: libc.func(
      "int fanotify_mark(int group, unsigned int flags, uint64_t mask, int dirfd, const char *path)",
    ),
    ioctl: libc.func("int ioctl(int fd, unsigned long request, _Out_ uint64_t *value)"),
    poll: libc.func("int poll(_Inout_ uint8_t *fds, unsigned long count, int timeout)"),
    read: libc.func("long read(int fd, _Out_ uint8_t *buffer, size_t count)"),
    syscall: libc.func(
      "long syscall(long number, _In_ uint8_t *request, _Out_ uint8_t *answer, size_t size, unsigned int flags)",
    ),
  };
}

function failure(what: string): HarnessError {
  const errno = koffi.errno();
  return new HarnessError(`${what} failed with errno ${errno}: mounts are watched on Linux 6.15 and newer, as root`);
}

/** `struct mnt_id_req` */
function request(mount: bigint, parameter: bigint, namespaceId: bigint): Buffer {
  const bytes = Buffer.alloc(32);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeBigUInt64LE(mount, 8);
  bytes.writeBigUInt64LE(parameter, 16);
  bytes.writeBigUInt64LE(namespaceId, 24);
  return bytes;
}

function listMounts({ syscall }: SystemCalls, namespaceId: bigint): readonly bigint[] | undefined {
  const found: bigint[] = [];
  const answer = Buffer.alloc(LIST_SIZE * 8);
  for (let last = 0n; ; last = found.at(-1) ?? 0n) {
    const count: number = Number(syscall(LISTMOUNT, request(LSMT_ROOT, last, namespaceId), answer, LIST_SIZE, 0));
    if (count < 0 && koffi.errno() === ENOENT) return undefined;
    if (count < 0) throw failure("listmount");
    for (let index = 0; index < count; index += 1) found.push(answer.readBigUInt64LE(index * 8));
    if (count < LIST_SIZE) return found;
  }
}

function describeMount({ syscall }: SystemCalls, asked: Buffer): MountPlace | undefined {
  // Two paths and a name; PATH_MAX is 4096.
  const answer = Buffer.alloc(512 + 3 * 4096);
  if (Number(syscall(STATMOUNT, asked, answer, answer.length, 0)) === 0) return readPlace(answer);
  if (koffi.errno() === ENOENT) return undefined;
  throw failure("statmount");
}
