import * as v from "valibot";
import { createKubeClient, type KubeClient } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { createEventRecorder } from "../../../common/kube/events.ts";
import type { KubeEvent } from "../../../common/kube/kube-event.ts";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import type { AccountName } from "../../rig/stand-in/account-pods.ts";
import type { AttackStage } from "./stage.ts";

/** Which object, and which state of it. */
export const identity = v.object({
  metadata: v.object({ name: v.string(), uid: v.string(), resourceVersion: v.string() }),
});

/** A client as the program has it, with the token of its pod on node-1. */
export async function clientOf(stage: AttackStage, account: AccountName): Promise<KubeClient> {
  const path = `/api/v1/namespaces/${account.namespace}/pods/${account.name}-node-1`;
  const { name, uid } = v.parse(identity, await stage.api.get(path)).metadata;
  const kubeconfig = await stage.plane.kubeconfigFor({ serviceAccount: { ...account, pod: { name, uid } } });
  const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), stage.owner);
  stage.owner.defer(() => client.close());
  return client;
}

/** Writes events as the programs do, and answers what became of each. */
export async function emitAll(
  { owner }: Pick<AttackStage, "owner">,
  speaker: { readonly client: KubeClient; readonly controller: string; readonly instance: string },
  events: readonly KubeEvent[],
): Promise<readonly string[]> {
  const outcomes: string[] = [];
  const logger = createFakeLogger();
  const { client, ...who } = speaker;
  const parts = { client, clock: owner.clock, random: createSystemRandom(), logger };
  const counter = { increment: ({ outcome }: { readonly outcome: string }) => void outcomes.push(outcome) };
  const recorder = createEventRecorder(parts, { ...who, outcomes: counter });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  for (const event of events) recorder.emit(event);
  const check = async (): Promise<void> => {
    if (outcomes.length < events.length)
      throw new Error(`there are ${outcomes.length}: ${JSON.stringify(logger.lines)}`);
  };
  await waitUntil(owner, { what: "outcomes of all events", limitMs: 20_000, check });
  stop.abort();
  await running;
  return outcomes;
}
