import { looseObject, number, object, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { StandInPod } from "../rig/stand-in/kubelet.ts";
import { claimObject, claimThat, NAMESPACE, volumeObject, volumeOf } from "../rig/stand-in/stage.ts";
import { enforce, openProtectionScene, type ProtectionScene } from "./protection-scene.ts";

/** A StatefulSet whose claims go with it, on the real controllers; pods are placed by the test. */

const SETS = `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const identity = looseObject({ metadata: object({ uid: string() }) });

const setStatus = looseObject({
  metadata: object({ generation: number() }),
  status: object({ observedGeneration: number(), replicas: number() }),
});

let owner: Owner;
let signals: Disposable;
let scene: ProtectionScene;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  scene = await openProtectionScene(owner);
  await enforce(scene);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Of one replica; its claim is `data-NAME-0`, with a volume of its own. */
async function createSet(name: string, retention: object): Promise<void> {
  const { api } = scene.stage;
  await api.create("/api/v1/persistentvolumes", volumeObject(`data-${name}-0`, "node-a"));
  const labels = { app: name };
  const container = { name: "main", image: "none", volumeMounts: [{ name: "data", mountPath: "/data" }] };
  const { spec } = claimObject(`data-${name}-0`);
  await api.create(SETS, {
    metadata: { name },
    spec: {
      replicas: 1,
      serviceName: name,
      selector: { matchLabels: labels },
      persistentVolumeClaimRetentionPolicy: retention,
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [container] } },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec }],
    },
  });
}

async function podUid(name: string): Promise<string | undefined> {
  const { status, text } = await scene.stage.plane.api({ path: `${PODS}/${name}` });
  return status === 404 ? undefined : parse(identity, JSON.parse(text)).metadata.uid;
}

/** Waits for the set's pod, places it as the scheduler does, and mounts its claim. */
async function runPod(set: string): Promise<StandInPod> {
  const { stage } = scene;
  const name = `${set}-0`;
  let uid: string | undefined;
  const check = async (): Promise<void> => {
    uid = await podUid(name);
    if (uid === undefined) throw new Error("there is none");
  };
  await waitUntil(owner, { what: `pod ${name}`, limitMs: 60_000, check });
  const target = { apiVersion: "v1", kind: "Node", name: "node-a" };
  await stage.api.create(`${PODS}/${name}/binding`, { metadata: { name }, target });
  const claim = `data-${name}`;
  const pod = { namespace: NAMESPACE, name, uid: uid ?? "", volume: volumeOf(claim) };
  await stage.kubelets[0].mount(pod);
  await stage.kubelets[0].reportRunning(pod);
  await claimThat(stage, { claim, what: "mounted", holds: ({ status }) => status?.reason === "Mounted" });
  return pod;
}

/** The controller says whose end is the claim's, which it does once it has seen the pod. */
async function owned(claim: string, kind: string): Promise<void> {
  const check = async (): Promise<void> =>
    expect((await scene.read(claim))?.metadata.ownerReferences).toMatchObject([{ kind }]);
  await waitUntil(owner, { what: `an owner of ${claim}`, limitMs: 60_000, check });
}

async function deletionAsked(claim: string): Promise<void> {
  const check = async (): Promise<void> => expect((await scene.read(claim))?.metadata.deletionTimestamp).toBeDefined();
  await waitUntil(owner, { what: `deletion of ${claim}`, limitMs: 60_000, check });
}

/** Waits until the controller has acted on the newest number of replicas; answers how many pods there are. */
async function replicasOf(set: string): Promise<number> {
  let replicas = 0;
  const check = async (): Promise<void> => {
    const { metadata, status } = parse(setStatus, await scene.stage.api.get(`${SETS}/${set}`));
    if (status.observedGeneration !== metadata.generation) throw new Error("it has not looked yet");
    replicas = status.replicas;
  };
  await waitUntil(owner, { what: `StatefulSet ${set}`, limitMs: 60_000, check });
  return replicas;
}

describe("a StatefulSet's mounted claim whose pod was force-deleted is protected:", () => {
  it("whenScaled: Delete, and a new pod waits until the claim has gone and the set is touched", async () => {
    const { stage, held, read } = scene;
    const { api, kubelets } = stage;
    await createSet("scaled", { whenScaled: "Delete", whenDeleted: "Retain" });
    const pod = await runPod("scaled");
    const before = await read("data-scaled-0");

    await api.patch(`${SETS}/scaled`, { spec: { replicas: 0 } });
    await deletionAsked("data-scaled-0");
    await kubelets[0].forceDelete(pod);
    const { claim, volume } = await held("data-scaled-0");
    await api.patch(`${SETS}/scaled`, { spec: { replicas: 1 } });
    const replicas = await replicasOf("scaled");
    const waiting = await podUid("scaled-0");
    await kubelets[0].unmount(pod);
    // The volume is free again once its old claim is gone: here by hand, elsewhere a provisioner makes a new one.
    await scene.goneOf(before);
    await api.patch("/api/v1/persistentvolumes/pv-data-scaled-0", { spec: { claimRef: null } });
    // Its controller watches no claims: it looks again when something else of the set changes.
    await api.patch(`${SETS}/scaled`, { metadata: { annotations: { "tests.mooring.dev/touched": "yes" } } });
    const next = await runPod("scaled");
    await kubelets[0].forceDelete(next);
    await kubelets[0].unmount(next);

    expect([claim?.metadata.uid, volume]).toEqual([before?.metadata.uid, "Bound"]);
    expect([replicas, waiting]).toEqual([0, undefined]);
    expect((await read("data-scaled-0"))?.metadata.uid).not.toBe(before?.metadata.uid);
  });

  it("whenDeleted: Delete", async () => {
    const { stage, held, gone } = scene;
    await createSet("deleted", { whenScaled: "Retain", whenDeleted: "Delete" });
    const pod = await runPod("deleted");
    await owned("data-deleted-0", "StatefulSet");

    await stage.api.remove(`${SETS}/deleted`);
    await stage.kubelets[0].forceDelete(pod);
    await deletionAsked("data-deleted-0");
    const { volume } = await held("data-deleted-0");
    await stage.kubelets[0].unmount(pod);

    await gone("data-deleted-0");
    expect(volume).toBe("Bound");
  });
});
