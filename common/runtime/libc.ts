import type { LibraryHandle } from "koffi";

// Loaded like this because koffi is native code that some machine may not have: what needs it has a fallback.
const koffi = await import("koffi").catch(() => undefined);

/** The C library that this process runs with (glibc or musl), or nothing where it cannot be called. */
export function openLibc(): LibraryHandle | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    // Without a name: the symbols of the process itself.
    return koffi?.default.load(null);
  } catch {
    return undefined;
  }
}

/** `errno` of the call that returned last; in the callback of an asynchronous call it is that call's. */
export function lastErrno(): number {
  return koffi?.default.errno() ?? 0;
}
