import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isProgram } from "../process/program.ts";
import { type ComponentName, MODULES, type ModuleName, type PinnedModule } from "./components.ts";

const UNFINISHED = ".new-";

/** What decides whether a program in the cache is the wanted one. */
export interface BuildInputs {
  readonly version: string;
  readonly ldflags: string;
  readonly tags?: readonly string[];
  /** `linux-amd64` */
  readonly platform: string;
  /** The texts of go.mod and go.sum. */
  readonly sources: readonly string[];
}

/** A folder name that changes whenever any input does, so that an upgrade never uses old programs. */
export function cacheKey(module: ModuleName, inputs: BuildInputs): string {
  const { version, platform, tags } = inputs;
  const hash = createHash("sha256")
    .update(JSON.stringify([inputs.ldflags, ...(tags === undefined ? [] : [tags]), ...inputs.sources]))
    .digest("hex");
  return `${module}-${version}-${platform}-${hash.slice(0, 12)}`;
}

/** The folder in the cache for the programs of a module. */
export function programFolder(cache: string, name: ModuleName): string {
  const module: PinnedModule = MODULES[name];
  const sources = ["go.mod", "go.sum"].map((file) => readFileSync(join(module.folder, file), "utf8"));
  const platform = `${process.platform}-${goArchitecture(process.arch)}`;
  const { version, ldflags, tags } = module;
  const flags = tags === undefined ? { ldflags } : { ldflags, tags };
  return join(cache, "bin", cacheKey(name, { version, ...flags, platform, sources }));
}

/** The names that have no executable in `folder`. */
export function missingIn(folder: string, names: readonly ComponentName[]): readonly ComponentName[] {
  return names.filter((name) => !isProgram(join(folder, name)));
}

/** Lets `make` write into a folder beside `folder`; only what it hands to `keep` moves over, whole, and nothing else stays. */
export async function fill(
  folder: string,
  make: (unfinished: string, keep: (file: string, name: ComponentName) => void) => Promise<void>,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const unfinished = mkdtempSync(`${folder}${UNFINISHED}`);
  try {
    await make(unfinished, (file, name) => renameSync(join(unfinished, file), join(folder, name)));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Removes what a killed run left unfinished beside `folder`; only the holder of the cache's lock may call it. */
export function removeUnfinished(folder: string): void {
  const parent = dirname(folder);
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent)) {
    if (name.startsWith(`${basename(folder)}${UNFINISHED}`))
      rmSync(join(parent, name), { recursive: true, force: true });
  }
}

/** Go's name of a processor architecture that Node names. */
export function goArchitecture(arch: string): string {
  return arch === "x64" ? "amd64" : arch;
}
