import { boolean, object, optional, parse, record, string } from "valibot";

/**
 * SPDX identifiers of licences under which a package may be part of Mooring. All of them let Mooring be given on under its own licence
 * as long as their text goes with it, which `notices.ts` sees to.
 */
export const SHIPPED_LICENCES = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "PSF-2.0",
  "Unlicense",
];

/** Tools that stay on the developer's machine may also be under these: nothing of them is given on. */
export const TOOL_LICENCES = [...SHIPPED_LICENCES, "BlueOak-1.0.0", "CC-BY-4.0", "MPL-2.0"];

const Entry = object({
  version: optional(string()),
  license: optional(string()),
  dev: optional(boolean(), false),
  link: optional(boolean(), false),
  integrity: optional(string()),
  resolved: optional(string()),
});
const Lock = object({ packages: record(string(), Entry) });

/** A package of a lock file. */
export interface LockedPackage {
  /** `node_modules/a/node_modules/b` */
  readonly path: string;
  readonly version: string;
  /** As the package names it; empty where it does not. */
  readonly licence: string;
  /** False for what no program of Mooring's needs. */
  readonly isShipped: boolean;
  /** What its archive must hash to; empty where that is left open. */
  readonly integrity: string;
  /** Where it is to come from; empty where the registry that is set up decides. */
  readonly resolved: string;
}

/** The packages that a lock file (its text) pins. */
export function packagesIn(lock: string): readonly LockedPackage[] {
  const { packages } = parse(Lock, JSON.parse(lock));
  return Object.entries(packages)
    .filter(([path]) => path !== "")
    .map(([path, { version = "", license = "", dev, link, integrity = "", resolved = "" }]) => ({
      ...{ path, version, integrity, resolved },
      licence: link ? "" : license,
      isShipped: !dev,
    }));
}

/** Whether an SPDX expression of names, OR and AND leaves a choice that is allowed. Anything else is not understood, so not allowed. */
export function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const words = expression.replaceAll(/^\(|\)$/g, "");
  return words.split(" OR ").some((choice) => choice.split(" AND ").every((name) => allowed.includes(name)));
}

/** How many packages are under each licence, most first: lines for people. */
export function licenceList(packages: readonly LockedPackage[]): string {
  const byLicence = Map.groupBy(packages, ({ licence }) => licence);
  const rows = [...byLicence].toSorted(([, one], [, other]) => other.length - one.length);
  return rows
    .map(([licence, all]) => `${licence.padEnd(20)} ${String(all.length).padStart(4)}  ${all.map(nameOf).join(", ")}`)
    .join("\n");
}

function nameOf({ path }: LockedPackage): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
