import { createKubeClient } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { readIdentity } from "../../../common/kube/identity.ts";
import { createInformer } from "../../../common/kube/informer.ts";
import type { Stored } from "../../../common/kube/store.ts";
import { runTogether } from "../../../common/runtime/lifecycle.ts";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { explain } from "../../process/errors.ts";
import type { Owner } from "../../process/owner.ts";
import { type ClaimState, type ClaimWords, readWords } from "./claim-states.ts";

/** Keeps what was published of each claim, also across restarts of the API server. */
export interface ClaimLog {
  /** All that was said of the claims of this name in the namespace `default`, in the order in which it was published. */
  readonly states: (claim: string) => readonly ClaimState[];
}

interface SpokenOf extends Stored {
  readonly words: ClaimWords;
}

const CLAIMS = "/api/v1/persistentvolumeclaims";

/** Follows all claims from now on, until the owner ends. */
export async function startClaimLog(owner: Owner, plane: ControlPlane): Promise<ClaimLog> {
  const { clock } = owner;
  const connection = await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {});
  const client = createKubeClient(connection, { clock, userAgent: "claim-log" });
  const states = new Map<string, ClaimState[]>();
  const note = (key: string, words: ClaimState["words"]): void => {
    states.set(key, [...(states.get(key) ?? []), { seenMs: clock.wallMs(), words }]);
  };
  const informer = createInformer<SpokenOf>(
    { client, clock, random: createSystemRandom(), logger: createFakeLogger() },
    {
      collection: { path: CLAIMS, firstList: "quorum" },
      project: (object) => ({ ...identityOf(object), words: readWords(object) }),
      onChange: ({ kind, object }) => note(object.key, kind === "deleted" ? "gone" : object.words),
    },
  );
  // The owner may not know of its end: whoever waits for a state says so, and finds this line above.
  const running = runTogether([informer.run], owner.signal).catch((error: unknown) => {
    owner.say(`the log of claims ended: ${explain(error)}`);
  });
  owner.defer(async () => {
    await running;
    await client.close();
  });
  return { states: (claim) => states.get(`default/${claim}`) ?? [] };
}

function identityOf(object: unknown): Stored {
  const identity = readIdentity(object);
  if (identity === undefined) throw new TypeError("no API object");
  return identity;
}
