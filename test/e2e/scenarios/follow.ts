import { createKubeClient } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { type Identity, readIdentity } from "../../../common/kube/identity.ts";
import { createInformer, type InformerOptions } from "../../../common/kube/informer.ts";
import type { Stored } from "../../../common/kube/store.ts";
import { runTogether } from "../../../common/runtime/lifecycle.ts";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import { explain } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";

/** Which objects are followed, and who is told. */
export interface Followed<T extends Stored> extends Required<Pick<InformerOptions<T>, "project" | "onChange">> {
  /** Names it in messages: `log of claims`. */
  readonly name: string;
  readonly path: string;
}

/** Follows all objects of a path from now on, also over restarts of the API server, until the owner ends. */
export async function follow<T extends Stored>(
  owner: Owner,
  plane: Pick<ControlPlane, "kubeconfig">,
  { name, path, project, onChange }: Followed<T>,
): Promise<void> {
  const { clock } = owner;
  const connection = await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {});
  const client = createKubeClient(connection, { clock, userAgent: name.replaceAll(" ", "-") });
  const { run } = createInformer<T>(
    { client, clock, random: createSystemRandom(), logger: createFakeLogger() },
    { collection: { path, listsFrom: "quorum" }, project, onChange },
  );
  // The owner may not know of its end: the code that waits for a state says so, and finds this line above.
  const running = runTogether([run], owner.signal).catch((error: unknown) => {
    owner.say(`the ${name} ended: ${explain(error)}`);
  });
  owner.defer(async () => {
    await running;
    await client.close();
  });
}

/** The identity of an API object. Throws for what has none. */
export function identityOf(object: unknown): Identity {
  const identity = readIdentity(object);
  if (identity === undefined) throw new TypeError("no API object");
  return identity;
}
