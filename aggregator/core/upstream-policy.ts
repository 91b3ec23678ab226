import type { UpstreamPolicy } from "./claim-write.ts";

/** Whether Mooring writes Kubernetes' own condition `Unused` where nobody else does. */
export const UPSTREAM_SETTINGS = ["auto", "never", "always"] as const;
export type UpstreamSetting = (typeof UPSTREAM_SETTINGS)[number];

/** An API server's release. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
}

/** From 1.36 on kube-controller-manager can write it: with the gate on (the default from 1.37), or not at all by choice (KEP-5541). */
const FIRST_OWN = { major: 1, minor: 36 } as const;

/** What the setting means for this server: as long as its version is not known, `auto` neither writes nor takes back. */
export function upstreamPolicy(setting: UpstreamSetting, version: ServerVersion | undefined): UpstreamPolicy {
  if (setting !== "auto") return setting === "always" ? "write" : "remove";
  if (version === undefined) return "leave";
  const { major, minor } = version;
  const isOlder = major < FIRST_OWN.major || (major === FIRST_OWN.major && minor < FIRST_OWN.minor);
  return isOlder ? "write" : "remove";
}
