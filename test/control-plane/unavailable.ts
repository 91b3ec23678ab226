import { type ComponentName, MODULES } from "./components.ts";
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
  const { kubernetes, etcd } = MODULES;
  return [
    `cannot get ${names.join(", ")} (Kubernetes ${kubernetes.version}, etcd ${etcd.version}). Tried:`,
    ...attempts.map(({ way, outcome }) => `  - ${way}: ${outcome.replaceAll("\n", "\n    ")}`),
    "Do one of these and run it again:",
    `  - let this machine reach the download sites (or a mirror: ${Object.values(DOWNLOAD_VARIABLES).join(", ")}; HTTPS_PROXY is respected)`,
    "  - install Go 1.26 or newer, with a reachable module proxy (GOPROXY); the programs are then built once",
    `  - set KUBEBUILDER_ASSETS to a folder with ${names.join(", ")} of Kubernetes ${kubernetes.series}x and etcd ${etcd.series}x`,
  ].join("\n");
}
