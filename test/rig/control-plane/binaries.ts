import { join } from "node:path";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { explain, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { whyPassedOver } from "./assets.ts";
import { withLock } from "./build-lock.ts";
import { missingIn, programFolder, removeUnfinished } from "./cache.ts";
import { byModule, COMPONENTS, type ComponentName, type ModuleName } from "./components.ts";
import { DOWNLOAD_LIMITS, downloadPrograms } from "./download.ts";
import { findGo, goBuild } from "./go-build.ts";
import { showProgress, size, standardError } from "./progress.ts";
import { type Environment, readSettings, type Settings } from "./settings.ts";
import { type Attempt, unavailable } from "./unavailable.ts";

/** The path of a program that was asked for. */
export type Binaries = (name: ComponentName) => string;

/**
 * Finds or makes programs: in KUBEBUILDER_ASSETS, in the cache, by download of the official release, by `go build` of the
 * pinned modules. Throws a HarnessError that tells what was tried when no way leads to one of them.
 */
export async function findBinaries(
  owner: Owner,
  names: readonly ComponentName[],
  env: Environment = process.env,
): Promise<Binaries> {
  const settings = readSettings(env);
  const { assets, cache } = settings;
  const reason = assets === undefined ? "not set" : await whyPassedOver(assets, names);
  if (assets !== undefined && reason === undefined) return (name) => join(assets, name);
  if (assets !== undefined) owner.say(`KUBEBUILDER_ASSETS is passed over: ${reason}`);

  if (missingInCache(cache, names).length > 0) {
    const search = new Search(owner, settings);
    search.failed("KUBEBUILDER_ASSETS", reason);
    const lock = { path: join(cache, "lock"), what: `gets ${names.join(", ")}`, random: createSystemRandom() };
    await withLock(owner, lock, () => search.obtain(names));
  }
  return (name) => join(programFolder(cache, COMPONENTS[name].module), name);
}

function missingInCache(cache: string, names: readonly ComponentName[]): readonly ComponentName[] {
  return byModule(names).flatMap(([module, wanted]) => missingIn(programFolder(cache, module), wanted));
}

/** Fills the cache; it remembers what was tried. */
class Search {
  readonly #owner: Owner;
  readonly #settings: Settings;
  readonly #attempts: Attempt[] = [];

  constructor(owner: Owner, settings: Settings) {
    this.#owner = owner;
    this.#settings = settings;
  }

  /** Notes a way that did not lead to the programs. */
  failed(way: string, reason: unknown): void {
    this.#attempts.push({ way, outcome: explain(reason) });
  }

  async obtain(names: readonly ComponentName[]): Promise<void> {
    const { cache } = this.#settings;
    // The one who held the lock before may have got them.
    const missing = missingInCache(cache, names);
    for (const [module] of byModule(missing)) removeUnfinished(programFolder(cache, module));
    this.failed(`cache ${cache}`, `has no ${missing.join(", ")}`);
    await this.#download(missing);
    await this.#build(missingInCache(cache, missing));
    const still = missingInCache(cache, missing);
    if (still.length > 0) throw new HarnessError(unavailable(still, this.#attempts));
  }

  async #download(names: readonly ComponentName[]): Promise<void> {
    const { clock } = this.#owner;
    const done = new Map<string, string>();
    const work = byModule(names).map(([module, wanted]) => this.#downloadModule(module, wanted, done));
    const describe = (elapsed: string): string => `downloading ${[...done.values()].join(", ")}, ${elapsed}`;
    await showProgress({ clock, screen: standardError() }, describe, Promise.all(work));
  }

  async #downloadModule(module: ModuleName, names: readonly ComponentName[], done: Map<string, string>): Promise<void> {
    const base = this.#settings.downloads[module];
    if (base === "") return this.failed(`download of ${names.join(", ")}`, "turned off, or nothing is published");
    const onBytes = (name: string, bytes: number, total?: number): void => {
      done.set(name, `${name} ${size(bytes)}${total === undefined ? "" : ` of ${size(total)}`}`);
    };
    const downloads = { base, limits: DOWNLOAD_LIMITS, signal: this.#owner.signal, onBytes };
    try {
      await downloadPrograms(downloads, names, programFolder(this.#settings.cache, module));
    } catch (error) {
      if (this.#owner.signal.aborted) throw error;
      this.#owner.say(`no download from ${base}: ${explain(error)}`);
      this.failed(`download from ${base}`, error);
    }
  }

  async #build(names: readonly ComponentName[]): Promise<void> {
    if (names.length === 0) return;
    try {
      const go = await findGo(this.#settings.path);
      // One after the other: each keeps all cores busy.
      for (const [module, wanted] of byModule(names)) {
        const folder = programFolder(this.#settings.cache, module);
        await goBuild(this.#owner, { go, module, names: wanted, folder, screen: standardError() });
      }
    } catch (error) {
      if (this.#owner.signal.aborted || !(error instanceof HarnessError)) throw error;
      this.failed("go build", error);
    }
  }
}
