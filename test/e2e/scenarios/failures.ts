import { ABSENCES, UNWATCHED_BOOT } from "./failures/away.ts";
import { BLIND_AGENT_FAILURES } from "./failures/blind-agent.ts";
import { BRIEF_USES } from "./failures/brief-uses.ts";
import { DELETED_NODE_FAILURES } from "./failures/deleted-nodes.ts";
import { KUBELET_FAILURES } from "./failures/kubelet.ts";
import { MID_UNMOUNT_FAILURES } from "./failures/mid-unmount.ts";
import { POWER_FAILURES } from "./failures/power.ts";
import { STAGING_FAILURES } from "./failures/staging.ts";
import { UPGRADES } from "./failures/upgrade.ts";
import type { Scenario } from "./scenario.ts";

/** What happens to claims on a bad day. The last ones tell Mooring to give up on nodes soon. */
export const FAILURES: readonly Scenario[] = [
  ...KUBELET_FAILURES,
  ...STAGING_FAILURES,
  ...MID_UNMOUNT_FAILURES,
  ...BLIND_AGENT_FAILURES,
  ...BRIEF_USES,
  ...POWER_FAILURES,
  ...DELETED_NODE_FAILURES,
];

/** Times that went unobserved, or nearly so. The first moves the times of claims that are idle before it. */
export const UNWATCHED: readonly Scenario[] = [...UNWATCHED_BOOT, ...ABSENCES, ...UPGRADES];
