import type { Stored } from "../../../common/kube/store.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { type ClaimState, type ClaimStatuses, readStatuses } from "./claim-states.ts";
import { follow, identityOf } from "./follow.ts";

/** Keeps what was published of each claim, also across restarts of the API server. */
export interface ClaimLog {
  /** All that was said of the claims of this name in the namespace `default`, in the order in which it was published. */
  readonly states: (claim: string) => readonly ClaimState[];
}

interface SpokenOf extends Stored {
  readonly statuses: ClaimStatuses;
}

/** Follows all claims from now on, until the owner ends. */
export async function startClaimLog(owner: Owner, plane: ControlPlane): Promise<ClaimLog> {
  const states = new Map<string, ClaimState[]>();
  const note = (key: string, statuses: ClaimState["statuses"]): void => {
    states.set(key, [...(states.get(key) ?? []), { seenMs: owner.clock.wallMs(), statuses }]);
  };
  await follow<SpokenOf>(owner, plane, {
    name: "log of claims",
    path: "/api/v1/persistentvolumeclaims",
    project: (object) => ({ ...identityOf(object), statuses: readStatuses(object) }),
    onChange: ({ kind, object }) => note(object.key, kind === "deleted" ? "gone" : object.statuses),
  });
  return { states: (claim) => states.get(`default/${claim}`) ?? [] };
}
