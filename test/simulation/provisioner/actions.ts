import { finalizersOf } from "../engine/api/deletion.ts";
import { isObject, textAt } from "../engine/api/json.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import { onNode, SLOW_MS } from "./node-actions.ts";
import type { Action, Of } from "./plan.ts";
import { CLASSES, claimRef, NAMESPACE, volumeRef, withFinalizers } from "./world/controllers.ts";
import { bytesOf, type ProvisionerWorld } from "./world/world.ts";

function nth<T>(list: readonly T[], index: number): T | undefined {
  return list.length === 0 ? undefined : list[index % list.length];
}

const isOwn = ({ metadata }: ApiObject): boolean => !metadata.name.startsWith("foreign");

/** Does what a plan says. An action without a target does nothing. */
export function doAction(world: ProvisionerWorld, action: Action): void {
  world.judge.count(`action ${action.kind}`);
  const { api } = world.engine;
  switch (action.kind) {
    case "new-claim":
      newClaim(world, action);
      break;
    case "new-pod":
    case "delete-claim":
    case "grow-claim": {
      const claim = nth(api.list("persistentvolumeclaims").filter(isOwn), action.index);
      if (claim !== undefined) onClaim(world, action.kind, claim);
      break;
    }
    case "delete-volume":
    case "force-volume":
    case "retain-volume": {
      const volume = nth(api.list("persistentvolumes").filter(isOwn), action.index);
      if (volume !== undefined) onVolume(world, action.kind, volume);
      break;
    }
    case "end-pod":
      endPod(world, action);
      break;
    default:
      if ("index" in action) onNode(world, action);
      else onCluster(world, action);
  }
}

type ClusterAction = Of<
  "crash-at" | "network" | "api-restart" | "lag" | "class-anew" | "compact" | "other-loop" | "rest"
>;

function onCluster(world: ProvisionerWorld, action: ClusterAction): void {
  const { api } = world.engine;
  switch (action.kind) {
    case "crash-at":
      world.crashPoint = { site: action.site, skip: action.skip };
      break;
    case "network":
      active(world, action);
      break;
    case "api-restart":
      api.restart(action.ms);
      break;
    case "compact":
      api.compact();
      break;
    case "lag":
      for (const server of api.servers) server.lagMs = () => action.ms * world.dice.fraction();
      break;
    case "class-anew":
      classAnew(world);
      break;
    case "other-loop":
      for (const { kernel } of world.nodes)
        kernel.configure(kernel.freeLoop(), { kind: "other", path: "/var/other.img" });
      break;
    default:
  }
}

function newClaim(world: ProvisionerWorld, { name: number, mib, storageClass, isBlock, bad }: Of<"new-claim">): void {
  const { api } = world.engine;
  const name = `claim-${number}`;
  if (api.get(claimRef(name)) === undefined) {
    world.judge.count("claims made");
    api.create("persistentvolumeclaims", {
      metadata: { name, namespace: NAMESPACE, uid: world.newUid() },
      spec: {
        storageClassName: storageClass,
        accessModes: [bad === "mode" ? "ReadWriteMany" : "ReadWriteOnce"],
        volumeMode: isBlock ? "Block" : "Filesystem",
        resources: { requests: { storage: `${mib}Mi` } },
        ...(bad === "selector" && { selector: { matchLabels: { a: "b" } } }),
        ...(bad === "source" && { dataSource: { kind: "PersistentVolumeClaim", name: "other" } }),
      },
    });
  }
  newPod(world, name);
}

function newPod(world: ProvisionerWorld, claim: string): void {
  const uid = world.newUid();
  if (world.podsOf(claim).length > 1) return;
  world.engine.api.create("pods", {
    metadata: { name: `pod-${uid.slice(-6)}`, namespace: NAMESPACE, uid },
    spec: { claim },
  });
}

function onClaim(world: ProvisionerWorld, kind: "new-pod" | "delete-claim" | "grow-claim", claim: ApiObject): void {
  const { api } = world.engine;
  const { name } = claim.metadata;
  if (kind === "new-pod") {
    newPod(world, name);
    return;
  }
  if (kind === "delete-claim") {
    world.judge.count("claims deleted");
    api.requestDeletion(claimRef(name));
    if (!world.dice.chance(0.7)) return;
    for (const pod of world.podsOf(name)) removePod(world, pod, world.dice.chance(0.4));
    return;
  }
  if (textAt(claim, "status", "phase") !== "Bound") return;
  const bytes = bytesOf(textAt(claim, "spec", "resources", "requests", "storage")) + 4 * 2 ** 20;
  api.update(claimRef(name), (now) => ({
    ...now,
    spec: { ...(isObject(now.spec) ? now.spec : {}), resources: { requests: { storage: `${bytes / 2 ** 20}Mi` } } },
  }));
}

function onVolume(
  world: ProvisionerWorld,
  kind: "delete-volume" | "force-volume" | "retain-volume",
  volume: ApiObject,
): void {
  const { api } = world.engine;
  const ref = volumeRef(volume.metadata.name);
  if (kind === "delete-volume") {
    api.requestDeletion(ref);
    return;
  }
  if (kind === "retain-volume")
    return void api.update(ref, (now) => ({
      ...now,
      spec: { ...(isObject(now.spec) ? now.spec : {}), persistentVolumeReclaimPolicy: "Retain" },
    }));
  world.forced.add(volume.metadata.name);
  if (finalizersOf(volume).length > 0) api.update(ref, (now) => withFinalizers(now, []));
  api.requestDeletion(ref);
}

function endPod(world: ProvisionerWorld, { index, isForced }: Of<"end-pod">): void {
  const pod = nth(world.engine.api.list("pods"), index);
  if (pod !== undefined) removePod(world, pod, isForced);
}

export function removePod(world: ProvisionerWorld, pod: ApiObject, isForced: boolean): void {
  const at = world.nodes.findIndex(({ name }) => name === textAt(pod, "spec", "nodeName"));
  world.kubelets[at]?.ending.add(pod.metadata.uid);
  if (isForced || at === -1)
    world.engine.api.delete({ resource: "pods", namespace: NAMESPACE, name: pod.metadata.name });
  world.syncAll();
}

function active(world: ProvisionerWorld, { fault, probability, ms }: Of<"network">): void {
  const { injector, engine } = world;
  world.graceMs = SLOW_MS;
  // The provisioner retries a forbidden write after five minutes, and again.
  if (fault === "forbidden-writes") world.patienceMs = 720_000;
  const active = { kind: fault, from: "", to: "api", probability } as const;
  injector.begin(active);
  engine.scheduler.after(ms, () => injector.end(active));
}

/** The class is recreated, with another pool. */
function classAnew(world: ProvisionerWorld): void {
  const { api } = world.engine;
  const [first] = CLASSES;
  const known = api.get({ resource: "storageclasses", name: first.name });
  const pool = textAt(known, "parameters", "pool") === "one" ? "two" : "one";
  api.delete({ resource: "storageclasses", name: first.name });
  world.makeClass({ ...first, pool });
}
