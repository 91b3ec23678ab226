import { join } from "node:path";
import type { Owner } from "../process/owner.ts";
import { type Environment, missingIn, programFolder } from "./cache.ts";
import { byModule, COMPONENTS, type ComponentName } from "./components.ts";
import { goBuild } from "./go-build.ts";

/** The path of a program that was asked for. */
export type Binaries = (name: ComponentName) => string;

/** Finds or makes the programs. */
export async function findBinaries(
  owner: Owner,
  names: readonly ComponentName[],
  env: Environment = process.env,
): Promise<Binaries> {
  for (const [module, wanted] of byModule(names)) {
    const folder = programFolder(env, module);
    await goBuild(owner, missingIn(folder, wanted), folder);
  }
  return (name) => join(programFolder(env, COMPONENTS[name].module), name);
}
