import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { missingIn } from "./cache.ts";
import { COMPONENTS, type Component, type ComponentName, MODULES } from "./components.ts";

const VERSION_LIMIT_MS = 60_000;

/** What programs say of their version; nothing where one said none. */
export type Versions = ReadonlyMap<ComponentName, string | undefined>;

/** Why the folder of KUBEBUILDER_ASSETS does not serve, or nothing when it does. */
export async function whyPassedOver(folder: string, names: readonly ComponentName[]): Promise<string | undefined> {
  const missing = missingIn(folder, names);
  if (missing.length > 0) return `${folder} has no ${missing.join(", ")}`;
  const versions = await Promise.all(names.map(async (name) => [name, await versionOf(folder, name)] as const));
  return wrongVersions(new Map(versions));
}

/** The programs of another release than the tests are written for, in words; nothing when all fit. */
export function wrongVersions(versions: Versions): string | undefined {
  const wrong = [...versions].flatMap(([name, version]) => {
    const { series } = MODULES[COMPONENTS[name].module];
    if (version?.startsWith(series)) return [];
    return [`${name} is ${version ?? "of an unknown version"} and not ${series}x`];
  });
  return wrong.length === 0 ? undefined : wrong.join(", ");
}

/** The version in what a program prints: `etcd Version: 3.6.16` or `Kubernetes v1.36.3`. */
export function parseVersion(text: string): string | undefined {
  return /\bv?(\d+\.\d+\.\d+)/.exec(text)?.[1];
}

async function versionOf(folder: string, name: ComponentName): Promise<string | undefined> {
  const component: Component = COMPONENTS[name];
  try {
    const run = promisify(execFile)(join(folder, name), [...component.versionArgs], { timeout: VERSION_LIMIT_MS });
    return parseVersion((await run).stdout);
  } catch {
    // Not a program of this machine, or one that does not know the argument: its version is unknown.
    return undefined;
  }
}
