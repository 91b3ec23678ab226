import { ApiError, createKubeClient, type KubeClient, type KubeParts } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { WorkQueue } from "../../../common/kube/work-queue.ts";
import { runTogether } from "../../../common/runtime/lifecycle.ts";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { createFakeLogger, type FakeLogger } from "../../fakes/logger.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { explain } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";

/** A controller of the harness: it has all rights and works on keys until its owner ends. */
export interface Controller {
  /** What it had trouble with. */
  readonly logger: FakeLogger;
}

/** What a controller follows and does. */
export interface ControllerPlan {
  readonly name: string;
  /** Makes the informers, whose changes add keys. */
  readonly follow: (
    parts: KubeParts,
    add: (key: string) => void,
  ) => readonly { readonly run: (signal: AbortSignal) => Promise<void> }[];
  /** Brings what the key names nearer to what it should be; may be asked again at any time. */
  readonly work: (client: KubeClient, key: string, signal: AbortSignal) => Promise<void>;
}

export async function startController(owner: Owner, plane: ControlPlane, plan: ControllerPlan): Promise<Controller> {
  const { clock } = owner;
  const logger = createFakeLogger();
  const connection = await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {});
  const client = createKubeClient(connection, { clock, userAgent: plan.name });
  const parts = { client, clock, random: createSystemRandom(), logger };
  const queue = new WorkQueue(parts);
  const informers = plan.follow(parts, (key) => queue.add(key));
  const tasks = [
    ...informers.map(({ run }) => run),
    (signal: AbortSignal) => queue.run((key, asked) => plan.work(client, key, asked), signal),
  ];
  // The owner may not know of its end: the code that waits for what it does says so, and finds this line above.
  const running = runTogether(tasks, owner.signal).catch((error: unknown) => {
    owner.say(`${plan.name} ended: ${explain(error)}`);
  });
  owner.defer(async () => {
    await running;
    await client.close();
  });
  return { logger };
}

/** Changes an object by a merge patch; one that is gone needs no change. */
export async function patchObject(
  client: KubeClient,
  { path, body }: { readonly path: string; readonly body: object },
  signal: AbortSignal,
): Promise<void> {
  const contentType = "application/merge-patch+json";
  await unlessStatus(404, client.request({ method: "PATCH", path, body, contentType }, signal));
}

/** Waits for a request, for which one answer besides a success is fine. */
export async function unlessStatus(status: number, request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== status) throw error;
  }
}
