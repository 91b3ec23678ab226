import { byModule, type ComponentName, MODULES, type ModuleName } from "./components.ts";
import { DOWNLOAD_VARIABLES } from "./settings.ts";

/** A way to programs that did not lead to all of them. */
export interface Attempt {
  /** `download from https://...` */
  readonly way: string;
  /** Why not, in words. */
  readonly outcome: string;
}

/** Tells that programs cannot be had, what was tried, and what can be done about it. */
export function unavailable(names: readonly ComponentName[], attempts: readonly Attempt[]): string {
  const modules = modulesOf(names);
  const wanted = modules.map((module) => `${MODULES[module].title} ${MODULES[module].version}`).join(", ");
  const series = modules.map((module) => `${MODULES[module].title} ${MODULES[module].series}x`).join(" and ");
  const variables = modules.map((module) => DOWNLOAD_VARIABLES[module]).join(", ");
  return [
    `cannot get ${names.join(", ")} (${wanted}). Tried:`,
    ...attempts.map(({ way, outcome }) => `  - ${way}: ${outcome.replaceAll("\n", "\n    ")}`),
    "Do one of these and run it again:",
    `  - let this machine reach the download sites (or a mirror: ${variables}; HTTPS_PROXY is respected)`,
    "  - install Go 1.26 or newer, with a reachable module proxy (GOPROXY); the programs are then built once",
    `  - set KUBEBUILDER_ASSETS to a folder with ${names.join(", ")} of ${series}`,
  ].join("\n");
}

/** The modules of the programs, in the order of the list of all. */
function modulesOf(names: readonly ComponentName[]): readonly ModuleName[] {
  const order = Object.keys(MODULES);
  return byModule(names)
    .map(([module]) => module)
    .toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
}
