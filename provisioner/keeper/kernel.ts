import { MooringError } from "../../common/runtime/errors.ts";
import { openLibc } from "../../common/runtime/libc.ts";
import { SystemError } from "./system-error.ts";

/** The system calls that Node.js lacks. Each runs in a thread: a slow disk does not block the event loop. */
export interface Kernel {
  /** ioctl(2) with a number or a struct, which it may change. Rejects with a `SystemError`. */
  readonly ioctl: (descriptor: number, request: number, argument: number | Buffer) => Promise<number>;
  /** Allocates blocks for the file up to `bytes`, and extends it to that length. Rejects with a `SystemError`. */
  readonly allocate: (descriptor: number, bytes: number) => Promise<void>;
}

/** `<errno.h>` */
const EINTR = 4;

type Call = { readonly async: (...args: readonly unknown[]) => void };

/** Throws `MooringError` "kernel-unusable" where libc cannot be called. */
export function openKernel(): Kernel {
  const libc = openLibc();
  if (libc === undefined)
    throw new MooringError("kernel-unusable", "ioctl(2) cannot be called: koffi does not load", { retriable: false });
  const withNumber = libc.func("int ioctl(int fd, unsigned long request, long argument)");
  const withStruct = libc.func("int ioctl(int fd, unsigned long request, _Inout_ uint8_t *argument)");
  // Not fallocate(2), because posix_fallocate(3) returns its error instead of setting errno. On ext4 and XFS both are the same call.
  const fallocate = libc.func("int posix_fallocate(int fd, int64_t offset, int64_t bytes)");
  return {
    ioctl: async (descriptor, request, argument) =>
      await run(typeof argument === "number" ? withNumber : withStruct, [descriptor, request, argument], (result) => {
        if (result < 0) throw new SystemError(`ioctl 0x${request.toString(16)}`);
        return result;
      }),
    allocate: async (descriptor, bytes) => {
      let errno = EINTR;
      while (errno === EINTR) errno = await run(fallocate, [descriptor, 0, bytes], (result) => result);
      if (errno !== 0) throw new SystemError("fallocate", errno);
    },
  };
}

/** Calls a function in another thread. `check` runs before any other call can change errno. */
function run(call: Call, args: readonly unknown[], check: (result: number) => number): Promise<number> {
  return new Promise((resolve, reject) => {
    call.async(...args, (error: unknown, result: number) => {
      try {
        if (error !== null && error !== undefined) throw error;
        resolve(check(result));
      } catch (problem) {
        reject(problem);
      }
    });
  });
}
