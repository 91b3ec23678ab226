import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type ComponentName, MODULES, type ModuleName, type PinnedModule } from "./components.ts";

/** The environment variables that a run reads. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The folder that keeps programs between runs, by the XDG base directory convention. */
export function cacheFolder(env: Environment): string {
  // The convention says that a relative path is invalid and is to be ignored.
  const base = env.XDG_CACHE_HOME?.startsWith("/") ? env.XDG_CACHE_HOME : join(homedir(), ".cache");
  return join(base, "mooring");
}

/** What decides whether a program in the cache is the wanted one. */
export interface BuildInputs {
  readonly version: string;
  readonly ldflags: string;
  /** `linux-amd64` */
  readonly platform: string;
  /** The texts of go.mod and go.sum. */
  readonly sources: readonly string[];
}

/** A folder name that changes whenever any input does, so that an upgrade never uses old programs. */
export function cacheKey(module: ModuleName, inputs: BuildInputs): string {
  const { version, platform } = inputs;
  const hash = createHash("sha256")
    .update(JSON.stringify([inputs.ldflags, ...inputs.sources]))
    .digest("hex");
  return `${module}-${version}-${platform}-${hash.slice(0, 12)}`;
}

/** The cache's folder for the programs of a module. */
export function programFolder(env: Environment, name: ModuleName): string {
  const module: PinnedModule = MODULES[name];
  const sources = ["go.mod", "go.sum"].map((file) => readFileSync(join(module.folder, file), "utf8"));
  const key = cacheKey(name, { version: module.version, ldflags: module.ldflags, platform: goPlatform(), sources });
  return join(cacheFolder(env), "bin", key);
}

/** The names that have no executable in `folder`. */
export function missingIn(folder: string, names: readonly ComponentName[]): readonly ComponentName[] {
  return names.filter((name) => !isExecutable(join(folder, name)));
}

/** This machine in Go's words. */
export function goPlatform(): string {
  return `${process.platform}-${goArchitecture(process.arch)}`;
}

/** Go's name of a processor architecture that Node names. */
export function goArchitecture(arch: string): string {
  return arch === "x64" ? "amd64" : arch;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
