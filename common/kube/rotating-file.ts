import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../runtime/clock.ts";
import { type ErrorCode, MooringError, messageOf } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";

/** A file that is replaced from time to time, such as a token or a CA certificate. */
export interface RotatingFile {
  /** Its text, read from the disk only when it may have changed. Throws a `MooringError` until the first successful read. */
  readonly read: () => Promise<string>;
  /** Its text on the disk at this moment. */
  readonly readAnew: () => Promise<string>;
}

/** A folder of files that are replaced together, as the kubelet does it in a projected volume. */
export interface RotatingFolder {
  readonly file: (name: string) => RotatingFile;
  /** Starts to watch the folder. Without this, or where it fails, a change is noticed within a minute. */
  readonly follow: () => void;
  readonly close: () => Promise<void>;
}

/** Reports any change in a folder. Rejects, or calls `onFailure`, when it cannot. */
export type FolderWatch = (
  folder: string,
  on: { readonly change: () => void; readonly failure: (error: unknown) => void },
) => Promise<{ readonly close: () => Promise<void> }>;

interface RotatingFolderParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watch?: FolderWatch;
  /** Error code for a file that cannot be read. */
  readonly code?: ErrorCode;
}

/** The file is read again after this time, even if no change was noticed: client-go reads its token as often. Milliseconds. */
const LONGEST_BELIEF_MS = 60_000;

interface Known {
  readonly text: string;
  readonly readAt: number;
  /** Number of noticed changes of the folder before the text was read. */
  readonly changes: number;
}

/** The files of one folder, watched once for all of them. */
export function createRotatingFolder(folder: string, parts: RotatingFolderParts): RotatingFolder {
  const { clock, logger, watch = watchFolder, code = "kubeconfig-invalid" } = parts;
  const known = new Map<string, Known>();
  const unreadable = new Set<string>();
  let changes = 0;
  let watching: Promise<{ readonly close: () => Promise<void> } | undefined> | undefined;
  let hasFailed = false;

  const change = (): void => {
    changes += 1;
  };
  const failure = (error: unknown): void => {
    if (hasFailed) return;
    hasFailed = true;
    const fields = { folder, err: messageOf(error), everyMs: LONGEST_BELIEF_MS };
    logger.warn(fields, "rotated files cannot be watched, reading them by time");
  };

  const readAnew = async (name: string): Promise<string> => {
    const before = changes;
    try {
      const text = await readFile(join(folder, name), "utf8");
      known.set(name, { text, readAt: clock.monotonicMs(), changes: before });
      unreadable.delete(name);
      return text;
    } catch (cause) {
      const message = `cannot read ${name}: ${messageOf(cause)}`;
      const last = known.get(name);
      if (last === undefined) throw new MooringError(code, message, { cause });
      // The last text is most likely still valid; the server decides that.
      if (!unreadable.has(name)) logger.warn({ file: name, err: messageOf(cause) }, "rotated file cannot be read now");
      unreadable.add(name);
      return last.text;
    }
  };
  const read = async (name: string): Promise<string> => {
    const last = known.get(name);
    const isFresh = last?.changes === changes && clock.monotonicMs() - last.readAt < LONGEST_BELIEF_MS;
    return isFresh ? last.text : await readAnew(name);
  };

  return {
    file: (name) => ({ read: () => read(name), readAnew: () => readAnew(name) }),
    follow: () => {
      watching ??= watch(folder, { change, failure }).catch((error: unknown) => {
        failure(error);
        return undefined;
      });
    },
    close: async () => {
      await (await watching)?.close();
    },
  };
}

/**
 * The kubelet replaces all files of such a volume at once, by pointing a symbolic link `..data` to a new folder (kubernetes/kubernetes:
 * pkg/volume/util/atomic_writer.go). So this watches the folder, not the files, and follows no link.
 */
const watchFolder: FolderWatch = async (folder, { change, failure }) => {
  const { watch } = await import("chokidar");
  const watcher = watch(folder, {
    followSymlinks: false,
    depth: 0,
    ignoreInitial: true,
    atomic: false,
    persistent: false,
  });
  watcher.on("all", change).on("error", failure);
  // A change before the watch was set up was not noticed.
  watcher.on("ready", change);
  return { close: () => watcher.close() };
};
