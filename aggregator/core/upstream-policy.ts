import type { UpstreamPolicy } from "./claim-write.ts";

/** Whether Mooring writes Kubernetes' own condition `Unused` where no other client does. */
export const UPSTREAM_SETTINGS = ["auto", "never", "always"] as const;
export type UpstreamSetting = (typeof UPSTREAM_SETTINGS)[number];

/** An API server's release. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
}

/** Since 1.36 kube-controller-manager can write it: with the feature gate on, the default since 1.37 (KEP-5541). */
const FIRST_OWN = { major: 1, minor: 36 } as const;

/** The policy for this server. Before its version is known, `auto` neither writes nor removes the condition. */
export function upstreamPolicy(setting: UpstreamSetting, version: ServerVersion | undefined): UpstreamPolicy {
  if (setting !== "auto") return setting === "always" ? "write" : "remove";
  if (version === undefined) return "leave";
  const { major, minor } = version;
  const isOlder = major < FIRST_OWN.major || (major === FIRST_OWN.major && minor < FIRST_OWN.minor);
  return isOlder ? "write" : "remove";
}
