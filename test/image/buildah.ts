import { join } from "node:path";
import { runCommand } from "../rig/node/commands.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { findProgram, systemPath } from "../rig/process/program.ts";

/** Builds images with a store of its own below a folder. */
export interface Buildah {
  /** Builds the Dockerfile in `context` and names the image. The same files always give the same image. */
  readonly build: (context: string, options: BuildOptions) => Promise<void>;
  /** Writes an archive as `docker save` does. */
  readonly save: (image: string, path: string) => Promise<void>;
}

interface BuildOptions {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, string>>;
  /** Folders that the build sees, by where; read-only. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** What keeps this machine from building images, beside not being root; nothing when it can. */
export function missingForImages(path = systemPath()): readonly string[] {
  return findProgram("buildah", path) === undefined ? ["the program buildah, which is in the package buildah"] : [];
}

/** Throws a HarnessError where buildah is missing or this is not root. */
export function createBuildah(folder: string): Buildah {
  if (process.getuid?.() !== 0) throw new HarnessError("an image is built as root: its files belong to root");
  const command = findProgram("buildah", systemPath());
  if (command === undefined) throw new HarnessError("there is no program buildah: apt-get install buildah");
  // Neither a kernel module nor a daemon is needed for these; the run folder is gone afterwards, so nothing is shared.
  const store = ["--root", join(folder, "store"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];
  const run = async (...args: readonly string[]): Promise<void> => {
    await runCommand({ command, args: [...store, ...args] });
  };
  return {
    build: (context, { name, arguments: given = {}, mounts = {} }) =>
      run(
        "build",
        "--isolation=chroot",
        "--pull=never",
        "--timestamp=0",
        "--quiet",
        `--tag=${name}`,
        ...Object.entries(given).map(([key, value]) => `--build-arg=${key}=${value}`),
        ...Object.entries(mounts).map(([inside, outside]) => `--volume=${outside}:${inside}:ro`),
        context,
      ),
    save: (image, path) => run("push", "--quiet", image, `docker-archive:${path}:${image}`),
  };
}
