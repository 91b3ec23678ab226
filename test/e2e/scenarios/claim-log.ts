import type { Stored } from "../../../common/kube/store.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { type ClaimState, type ClaimWords, readWords } from "./claim-states.ts";
import { follow, identityOf } from "./follow.ts";

/** Keeps what was published of each claim, also across restarts of the API server. */
export interface ClaimLog {
  /** All that was said of the claims of this name in the namespace `default`, in the order in which it was published. */
  readonly states: (claim: string) => readonly ClaimState[];
}

interface SpokenOf extends Stored {
  readonly words: ClaimWords;
}

/** Follows all claims from now on, until the owner ends. */
export async function startClaimLog(owner: Owner, plane: ControlPlane): Promise<ClaimLog> {
  const states = new Map<string, ClaimState[]>();
  const note = (key: string, words: ClaimState["words"]): void => {
    states.set(key, [...(states.get(key) ?? []), { seenMs: owner.clock.wallMs(), words }]);
  };
  await follow<SpokenOf>(owner, plane, {
    name: "log of claims",
    path: "/api/v1/persistentvolumeclaims",
    project: (object) => ({ ...identityOf(object), words: readWords(object) }),
    onChange: ({ kind, object }) => note(object.key, kind === "deleted" ? "gone" : object.words),
  });
  return { states: (claim) => states.get(`default/${claim}`) ?? [] };
}
