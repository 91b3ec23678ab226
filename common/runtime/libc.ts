import type { LibraryHandle } from "koffi";

// Loaded dynamically because koffi is native code that a machine may lack: all its users have a fallback.
const koffi = await import("koffi").catch(() => undefined);

/** The C library of this process (glibc or musl); undefined where it cannot be called. */
export function openLibc(): LibraryHandle | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    // Without a name: the symbols of the process itself.
    return koffi?.default.load(null);
  } catch {
    return undefined;
  }
}

/** `errno` of the call that returned last; in the callback of an asynchronous call it belongs to that call. */
export function lastErrno(): number {
  return koffi?.default.errno() ?? 0;
}
