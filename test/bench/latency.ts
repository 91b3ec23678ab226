import { randomUUID } from "node:crypto";
import { createKubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { createInformer } from "../../common/kube/informer.ts";
import { createLogger } from "../../common/runtime/logger.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { describeClaim, NAMESPACE, type Stage, volumeOf } from "../rig/stand-in/stage.ts";

const LIMIT_MS = 30_000;

/** Returns when a watch shows the awaited state of a claim: milliseconds on the monotonic clock. */
type ClaimWatch = (claim: string, mountedVolumes: (claim: Claim) => boolean) => Promise<number>;

/** From the end of `umount` until a watch shows the stored status, `count` times. Milliseconds. */
export async function unmountLatency(stage: Stage, claim: string, count: number): Promise<readonly number[]> {
  const { owner, kubelets } = stage;
  const watch = await watchClaims(stage);
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const pod = { namespace: NAMESPACE, name: claim, uid: randomUUID(), volume: volumeOf(claim) };
    const mounted = watch(claim, ({ status }) => status?.reason === "Mounted");
    await kubelets[0].mount(pod);
    await mounted;
    const unmounted = watch(claim, ({ status }) => status?.unused === true);
    await kubelets[0].unmount(pod);
    const endedAt = owner.clock.monotonicMs();
    samples.push((await unmounted) - endedAt);
  }
  return samples;
}

/** The baseline: from a pod's deletion until kube-controller-manager has stored its own `Unused`. Milliseconds. */
export async function upstreamLatency(stage: Stage, claim: string, count: number): Promise<readonly number[]> {
  const { owner, api, kubelets } = stage;
  const watch = await watchClaims(stage);
  const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
  const volumes = [{ name: "volume", persistentVolumeClaim: { claimName: claim } }];
  const spec = { nodeName: kubelets[0].node, containers: [{ name: "main", image: "example.invalid/main" }], volumes };
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const name = `baseline-${i}`;
    const used = watch(claim, ({ upstream }) => upstream?.unused === false);
    await api.create(pods, { metadata: { name }, spec });
    await used;
    const unused = watch(claim, ({ upstream }) => upstream?.unused === true);
    await api.remove(`${pods}/${name}`);
    const endedAt = owner.clock.monotonicMs();
    samples.push((await unused) - endedAt);
  }
  return samples;
}

async function watchClaims({ owner, plane }: Stage): Promise<ClaimWatch> {
  const { clock, signal } = owner;
  const connection = await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {});
  const client = createKubeClient(connection, { clock });
  owner.defer(() => client.close());
  const waiters = new Set<(claim: Claim) => void>();
  const parts = { client, clock, random: createSystemRandom(), logger: createLogger("silent") };
  const path = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`;
  const informer = createInformer(parts, {
    collection: { path, listsFrom: "quorum" },
    project: projectClaim,
    onChange: ({ object }) => {
      for (const waiter of waiters) waiter(object);
    },
  });
  void informer.run(signal);
  return async (name, mountedVolumes) => {
    const met = Promise.withResolvers<number>();
    const waiter = (claim: Claim): void => {
      if (claim.name === name && mountedVolumes(claim)) met.resolve(clock.monotonicMs());
    };
    waiters.add(waiter);
    const done = new AbortController();
    const limit = clock.sleep(LIMIT_MS, AbortSignal.any([signal, done.signal])).then(() => {
      const seen = informer.get(`${NAMESPACE}/${name}`);
      const state =
        seen === undefined ? "not there" : `${describeClaim(seen)}, resource version ${seen.resourceVersion}`;
      met.reject(new HarnessError(`claim ${name} did not change within ${LIMIT_MS} ms: the watch shows ${state}`));
    });
    return await met.promise.finally(async () => {
      waiters.delete(waiter);
      done.abort();
      await limit;
    });
  };
}
