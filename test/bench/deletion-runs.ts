import { array, looseObject, optional, parse, string } from "valibot";
import { waitUntil } from "../rig/process/wait.ts";
import type { StandInPod } from "../rig/stand-in/kubelet.ts";
import { NAMESPACE, volumeOf } from "../rig/stand-in/stage.ts";
import { forEachIndex } from "./cluster/concurrency.ts";
import {
  CLAIMS,
  LABEL,
  LIMIT_MS,
  makeAll,
  mounted,
  requests,
  type Scene,
  unmounted,
  WORKERS,
} from "./deletion-scene.ts";

const AGGREGATOR = "system:serviceaccount:mooring:mooring-aggregator";
const conditions = looseObject({
  status: looseObject({ conditions: optional(array(looseObject({ type: string(), status: string() })), []) }),
});

/** How many status writes a claim costs from the mount of its volume until it is unstaged. */
export async function writesPerUse(
  scene: Scene,
  { claim, uses }: { readonly claim: string; readonly uses: number },
): Promise<number> {
  const { stage } = scene;
  const written = (): Promise<number> =>
    requests(scene, ({ user, objectRef }) => user.username === AGGREGATOR && objectRef.name === claim);
  const before = await written();
  for (let use = 0; use < uses; use += 1) {
    const pod = await mounted(stage, claim);
    await unmounted(stage, claim, pod);
    await stage.kubelets[0].unstage(pod.volume);
    const check = async (): Promise<void> => {
      const { status } = parse(conditions, await stage.api.get(`${CLAIMS}/${claim}`));
      if (status.conditions.some((one) => one.type === "mooring.dev/Staged" && one.status === "True"))
        throw new Error("it says that it is staged");
    };
    await waitUntil(stage.owner, { what: `${claim} unstaged`, limitMs: LIMIT_MS, check });
  }
  return ((await written()) - before) / uses;
}

/** From the request until each claim is gone, and until all are. */
export async function deleteUnused(
  scene: Scene,
  names: readonly string[],
): Promise<{ readonly samples: readonly number[]; readonly ms: number }> {
  const { stage, client } = scene;
  const { clock, signal } = stage.owner;
  await makeAll(scene, names);
  const gone = goneTimes(scene);
  const requestedAt = new Map<string, number>();
  const beganAt = clock.monotonicMs();
  await forEachIndex({ count: names.length, workers: WORKERS, signal }, async (index) => {
    const name = names[index] ?? "";
    requestedAt.set(name, clock.monotonicMs());
    await client.request({ method: "DELETE", path: `${CLAIMS}/${name}` }, signal);
  });
  const samples = await gone.since(requestedAt);
  return { samples, ms: Math.max(...gone.times()) - beganAt };
}

/**
 * From the unmount until each claim is gone. One request deletes all while they are mounted; then each is unmounted, and its pod deleted,
 * as a kubelet does it.
 */
export async function deleteMounted(scene: Scene, count: number): Promise<readonly number[]> {
  const { stage, client } = scene;
  const { owner, kubelets } = stage;
  const { clock, signal } = owner;
  const names = Array.from({ length: count }, (_, i) => `mounted-${i}`);
  await makeAll(scene, names);
  const pods: StandInPod[] = [];
  await forEachIndex({ count, workers: WORKERS, signal }, async (index) => {
    const claim = names[index] ?? "";
    pods.push(await kubelets[0].runPod({ namespace: NAMESPACE, name: claim, claim, volume: volumeOf(claim) }));
  });
  await untilMounted(scene, count);
  const gone = goneTimes(scene);
  const unmountedAt = new Map<string, number>();
  await client.request({ method: "DELETE", path: CLAIMS, query: { labelSelector: `${LABEL}=mounted` } }, signal);
  await forEachIndex({ count, workers: 4, signal }, async (index) => {
    const pod = pods[index];
    if (pod === undefined) return;
    await kubelets[0].unmount(pod);
    unmountedAt.set(pod.name, clock.monotonicMs());
    await kubelets[0].forceDelete(pod);
  });
  return await gone.since(unmountedAt);
}

async function untilMounted({ stage }: Scene, count: number): Promise<void> {
  const list = looseObject({ items: array(conditions) });
  const check = async (): Promise<void> => {
    const { items } = parse(list, await stage.api.get(`${CLAIMS}?labelSelector=${LABEL}%3Dmounted`));
    const known = items.filter(({ status }) =>
      status.conditions.some(
        (one) => one.type === "mooring.dev/Unused" && one.status === "False" && one.reason === "Mounted",
      ),
    );
    if (known.length < count) throw new Error(`${known.length} of ${count} are`);
  };
  await waitUntil(stage.owner, { what: "all claims mounted", limitMs: LIMIT_MS, check });
}

/** When each claim was gone, from now on. */
function goneTimes({ stage, watch }: Scene) {
  const { owner } = stage;
  const gone = new Map<string, number>();
  const stop = watch.listen(({ name }, seenAt, isGone) => {
    if (isGone) gone.set(name, seenAt);
  });
  return {
    times: () => [...gone.values()],
    /** Waits until all of these claims are gone; returns how long after its moment each went. */
    since: async (moments: ReadonlyMap<string, number>): Promise<readonly number[]> => {
      const check = async (): Promise<void> => {
        if (gone.size < moments.size) throw new Error(`${gone.size} of ${moments.size} are`);
      };
      await waitUntil(owner, { what: "all claims gone", limitMs: LIMIT_MS, everyMs: 50, check });
      stop();
      return [...moments].map(([name, at]) => (gone.get(name) ?? Number.NaN) - at);
    },
  };
}
