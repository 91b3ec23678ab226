// Follows collections by the informer of @kubernetes/client-node, as its example (examples/typescript/informer) shows.
import {
  CoreV1Api,
  type Informer,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
  type ObjectCache,
} from "@kubernetes/client-node";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { readSeen } from "../rig/faults/direct.ts";
import type { Delivery } from "../rig/faults/ledger.ts";
import { type ChildTask, pathOf, report, show, type ToFollow } from "./faults-child.ts";

/** "Restart informer after 5sec", says the example. */
const RESTART_MS = 5_000;

const task: ChildTask = JSON.parse(process.argv[2] ?? "");
const clock = createSystemClock();
const config = new KubeConfig();
config.loadFromFile(task.access);
const api = config.makeApiClient(CoreV1Api);

function listOf({ namespace, resource, labelSelector }: ToFollow) {
  const named = { namespace, ...(labelSelector === undefined ? {} : { labelSelector }) };
  return resource === "configmaps"
    ? () => api.listNamespacedConfigMap(named)
    : () => api.listNamespacedPersistentVolumeClaim(named);
}

function follow(collection: ToFollow, index: number): Informer<KubernetesObject> & ObjectCache<KubernetesObject> {
  const informer = makeInformer<KubernetesObject>(
    config,
    pathOf(collection),
    listOf(collection),
    collection.labelSelector,
  );
  const on = (event: "add" | "update" | "delete", kind: Delivery["kind"]): void => {
    informer.on(event, (object) => report({ collection: index, kind, object: readSeen(object) }));
  };
  on("add", "added");
  on("update", "updated");
  on("delete", "deleted");
  if (task.restarts) {
    informer.on("error", () => {
      void clock.sleep(RESTART_MS).then(() => informer.start());
    });
  }
  void informer.start();
  return informer;
}

const informers = task.follow.map(follow);
show(task.port, () => informers.map((informer) => informer.list().map(readSeen)));
