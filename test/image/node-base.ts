import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "../rig/node/commands.ts";
import { HarnessError } from "../rig/process/errors.ts";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** Loaded by name when a host name is looked up, on a glibc before 2.34; nothing says that it needs them. */
const NAME_SERVICE = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];

/** A file of the base image, and where it is on this machine. */
export interface BaseFile {
  readonly path: string;
  readonly source: string;
}

/**
 * What stands in for a base image with Node.js where there is no image registry: the Node.js of the lock file and the
 * libraries of this machine that it and the native package need. No shell, no package manager. Throws a HarnessError
 * where a library is missing.
 */
export async function baseFiles(): Promise<readonly BaseFile[]> {
  const programs = [process.execPath, nativeAddon()];
  const lists = await Promise.all(programs.map((program) => runCommand({ command: "ldd", args: [program] })));
  const libraries = [...new Set(lists.flatMap(librariesIn))].toSorted();
  const folders = [...new Set(libraries.map(dirname))];
  const named = folders.flatMap((folder) => NAME_SERVICE.map((name) => join(folder, name))).filter(existsSync);
  const paths = [...new Set([...libraries, ...named])];
  return [{ path: "/usr/local/bin/node", source: process.execPath }, ...paths.map((path) => ({ path, source: path }))];
}

/** The libraries and the loader in what ldd(1) prints. Throws a HarnessError that names one that was not found. */
export function librariesIn(text: string): readonly string[] {
  const missing = /^\s*(\S+) => not found$/m.exec(text)?.[1];
  if (missing !== undefined) throw new HarnessError(`Node.js needs ${missing}, which is not on this machine`);
  // `name => /path (0x…)`, or the loader's `/path (0x…)`; what the kernel provides has no path.
  return [...text.matchAll(/(?:^\s*|=> )(\/\S+) \(0x[0-9a-f]+\)$/gm)].map(([, path]) => path ?? "");
}

/** Lays the base image's files out below `folder`. */
export function writeBase(folder: string, files: readonly BaseFile[]): void {
  for (const { path, source } of files) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(source, target);
    chmodSync(target, 0o755);
  }
  mkdirSync(join(folder, "etc"), { recursive: true });
  writeFileSync(join(folder, "etc/passwd"), "root:x:0:0:root:/:/nologin\nnobody:x:65534:65534:nobody:/:/nologin\n");
  writeFileSync(join(folder, "etc/group"), "root:x:0:\nnobody:x:65534:\n");
  writeFileSync(join(folder, "etc/nsswitch.conf"), "hosts: files dns\n");
  // What a container runtime mounts, and the one folder that anybody may write to.
  for (const name of ["dev", "proc", "sys", "tmp"]) mkdirSync(join(folder, name));
  chmodSync(join(folder, "tmp"), 0o1777);
}

function nativeAddon(): string {
  return join(modules, `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`);
}
