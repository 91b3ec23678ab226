import { execFile } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";

/** Name and version of the distribution that this process sees, if known. Never rejects; the signal ends it at once. */
export type OsInfo = (signal: AbortSignal) => Promise<string | undefined>;

/** Beside this file, and bundled if this one is. */
const PROGRAM = fileURLToPath(new URL(`os-info-program${extname(import.meta.url)}`, import.meta.url));

/** The tools that it calls get no token or password. */
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

const known = v.pipe(
  v.optional(v.string(), ""),
  v.transform((text) => (text === "unknown" ? "" : text)),
);
const answer = v.object({ distro: known, release: known });

/**
 * Calls systeminformation. That calls tools which may be missing or hang (`hostname -f` asks the network), and waits for some of them
 * without a limit and synchronously, so it gets a process of its own that can be killed.
 */
export const readOsInfo: OsInfo = (signal) =>
  new Promise((resolve) => {
    const options = { env: ENVIRONMENT, signal, killSignal: "SIGKILL" } as const;
    execFile(process.execPath, [PROGRAM], options, (error, stdout) => {
      resolve(error === null ? distributionIn(stdout) : undefined);
    });
  });

function distributionIn(text: string): string | undefined {
  try {
    const { distro, release } = v.parse(answer, JSON.parse(text));
    return [distro, release].filter((part) => part !== "").join(" ") || undefined;
  } catch {
    // Any other output is no answer, and none is needed.
    return undefined;
  }
}
