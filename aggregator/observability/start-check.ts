import type { KubeClient } from "../../common/kube/client.ts";
import { type CheckResult, failed, PASSED } from "../../common/runtime/health.ts";
import type { Cluster } from "../sources/cluster.ts";

/** What decisions depend on. */
export interface Start {
  readonly cluster: Pick<Cluster, "unsynced">;
  readonly client: Pick<KubeClient, "serverTime">;
}

/**
 * Passes when everything has been listed and the API server's time is known. Before that nothing is decided, and this replica does not
 * compete.
 */
export function checkStart({ cluster, client }: Start): CheckResult {
  const unsynced = cluster.unsynced();
  if (unsynced.length > 0) return failed(`not listed yet: ${unsynced.join(", ")}`);
  // A proxy may drop the header. Our own wall clock is no replacement: it may be wrong by hours.
  if (client.serverTime() === undefined)
    return failed("no answer of the API server has a date, so no time can be computed");
  return PASSED;
}
