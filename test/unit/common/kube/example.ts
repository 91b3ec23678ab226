import * as v from "valibot";
import { applyObject } from "../../../../common/kube/apply.ts";
import { createKubeClient, type KubeParts } from "../../../../common/kube/client.ts";
import { connect } from "../../../../common/kube/connection.ts";
import { createInformer } from "../../../../common/kube/informer.ts";
import type { Stored } from "../../../../common/kube/store.ts";
import { WorkQueue } from "../../../../common/kube/work-queue.ts";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { runTogether } from "../../../../common/runtime/lifecycle.ts";
import { createLogger } from "../../../../common/runtime/logger.ts";
import { createSystemRandom } from "../../../../common/runtime/random.ts";

const MANAGER = "count-entries";
const ANNOTATION = "example.org/entries";

/** The few fields that are kept of each ConfigMap. */
interface Counted extends Stored {
  readonly namespace: string;
  readonly name: string;
  readonly entries: string;
  readonly shown: string | undefined;
}

const text = v.optional(v.record(v.string(), v.string()), {});
const meta = { namespace: v.string(), name: v.string(), uid: v.string(), resourceVersion: v.string() };
const configMap = v.object({ metadata: v.object({ ...meta, annotations: text }), data: text });

function project(object: unknown): Counted {
  const { metadata, data } = v.parse(configMap, object);
  const { namespace, name, uid, resourceVersion, annotations } = metadata;
  const entries = String(Object.keys(data).length);
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    resourceVersion,
    entries,
    shown: annotations[ANNOTATION],
  };
}

/** Writes into an annotation of each ConfigMap how many entries it has, until the signal is aborted. */
export async function countEntries(parts: KubeParts, signal: AbortSignal): Promise<void> {
  const queue = new WorkQueue(parts);
  const maps = createInformer(parts, {
    collection: { path: "/api/v1/configmaps", listsFrom: "quorum" },
    project,
    onChange: ({ object }) => queue.add(object.key),
  });
  const work = async (key: string, stop: AbortSignal): Promise<void> => {
    const map = maps.get(key);
    if (map === undefined || map.entries === map.shown) return;
    const { namespace, name, uid, resourceVersion, entries } = map;
    const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    const target = { apiVersion: "v1", kind: "ConfigMap", path, namespace, name, uid, resourceVersion };
    const fields = { metadata: { annotations: { [ANNOTATION]: entries } } };
    const options = { fieldManager: MANAGER, force: true };
    const outcome = await applyObject(parts.client, { target, fields, options }, stop);
    // The key comes back after a wait, and the informer has the newer object by then.
    if (outcome.kind === "conflict") throw new MooringError("api-rejected", outcome.message);
    if (outcome.kind === "refused") parts.logger.error({ key, err: outcome.message }, "entries not written");
  };
  await runTogether([maps.run, (stop) => queue.run(work, stop)], signal);
}

/** The same for the cluster of your kubeconfig. */
export async function main(signal: AbortSignal): Promise<void> {
  const clock = createSystemClock();
  const client = createKubeClient(await connect({ inCluster: false }, process.env), { clock, userAgent: MANAGER });
  try {
    await countEntries({ client, clock, random: createSystemRandom(), logger: createLogger("info", {}) }, signal);
  } finally {
    await client.close();
  }
}
