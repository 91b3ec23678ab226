import fc from "fast-check";
import type {
  AffinityFacts,
  ContainerState,
  LivePod,
  LiveRead,
  VolumeFacts,
} from "../../../../../agent/core/affinity/facts.ts";
import type { MountedVolume, VolumeIdentity } from "../../../../../common/storage/volume-identity.ts";
import {
  ATTACHED,
  CREATED_MS,
  CSI,
  claimWith,
  containerWith,
  driverWith,
  FAILED,
  inZone,
  MISSING,
  mountsWith,
  nodeWith,
  podWith,
  pvWith,
  read,
  volumeWith,
} from "./facts.ts";

/** The first one nearly always, so that many looks are but one thing away from a rejection. */
function mostly<T>(good: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 50, arbitrary: fc.constant(good) },
    { weight: 1, arbitrary: fc.constantFrom(good, ...others) },
  );
}

function orNone<T>(good: fc.Arbitrary<T>): fc.Arbitrary<LiveRead<T>> {
  return fc.oneof(
    { weight: 50, arbitrary: good.map((value) => read(value)) },
    { weight: 1, arbitrary: fc.constantFrom<LiveRead<T>>(MISSING, FAILED) },
  );
}

function perhaps<T>(good: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 50, arbitrary: good }, { weight: 1, arbitrary: fc.constant(undefined) });
}

const affinity = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(inZone("b"), inZone("c")) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      inZone("a"),
      undefined,
      null,
      {},
      { required: null },
      { required: {} },
      { required: "a" },
      inZone(" "),
    ),
  },
);
const source = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(CSI, { ...CSI, handle: "vol-2", handleHash: "ffff" }) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom("local", "hostPath", "nfs", "iscsi", "fc", "flexVolume", "cinder", "")
      .map((plugin) => ({ kind: "in-tree", plugin }) as const),
  },
);

function volumeLook(n: number): fc.Arbitrary<VolumeFacts> {
  const ids = { name: `data-${n}`, uid: `claim-${n}` };
  const use = fc.oneof(
    { weight: 20, arbitrary: fc.constant({ isMounted: true, isMapped: false, mode: "Filesystem" }) },
    { weight: 3, arbitrary: fc.constant({ isMounted: false, isMapped: true, mode: "Block" }) },
    {
      weight: 1,
      arbitrary: fc.record({
        isMounted: fc.boolean(),
        isMapped: fc.boolean(),
        mode: fc.constantFrom("Filesystem", "Block", "x"),
      }),
    },
  );
  const ref = { namespace: "shop", ...ids };
  const claim = fc
    .record({
      name: mostly(ids.name, "data-9"),
      namespace: mostly("shop", "bank"),
      phase: mostly("Bound", "Pending", "Lost", ""),
      isDeleting: mostly(false, true),
      volume: mostly<string | undefined>(`pv-${n}`, undefined, "pv-9"),
      controllerUid: fc.constantFrom("pod-1", "pod-1", "pod-1", "pod-0", undefined),
    })
    .map((changes) => claimWith({ uid: ids.uid, ...changes }));
  const claimRef = mostly<ReturnType<typeof pvWith>["claimRef"]>(
    ref,
    undefined,
    { ...ref, uid: undefined },
    { ...ref, uid: "claim-0" },
    { ...ref, name: "data-9" },
    { ...ref, namespace: "bank" },
  );
  return use.chain(({ mode, ...used }) =>
    fc.record({
      volume: fc
        .record({ isEphemeral: mostly(false, true) })
        .map((changes) => volumeWith({ name: `volume-${n}`, claim: ids.name, ...used, ...changes })),
      claim: perhaps(orNone(claim)),
      pv: perhaps(
        orNone(
          fc
            .record({ nodeAffinity: affinity, source, claimRef })
            .map((changes) => pvWith({ name: `pv-${n}`, mode, ...changes })),
        ),
      ),
      driver: perhaps(
        fc.oneof(
          { weight: 8, arbitrary: orNone(mostly("disk.example.com", "x").map((name) => driverWith({ name }))) },
          { weight: 1, arbitrary: fc.constant(MISSING) },
        ),
      ),
    }),
  );
}

const identity: fc.Arbitrary<VolumeIdentity> = fc.constantFrom(
  { by: "name", name: "pv-1" },
  { by: "name", name: "pv-2" },
  { by: "handle", driver: "disk.example.com", handleHash: "0a1b" },
  { by: "handle", driver: "disk.example.com", handleHash: "ffff" },
  { by: "handle", driver: "x", handleHash: "0a1b" },
  { by: "device", plugin: "iscsi", path: "lun-0" },
  { by: "device", plugin: "fc", path: "lun-0" },
);
const mountedVolume: fc.Arbitrary<MountedVolume> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("pod", "subpath", "block"),
    volume: identity,
    podUid: fc.constantFrom("pod-1", "pod-2"),
  }),
  fc.record({ kind: fc.constant("staging"), volume: identity, podUid: fc.constant(undefined) }),
);
const attached = fc.constantFrom(
  ATTACHED,
  "kubernetes.io/csi/disk.example.com^vol-3",
  "kubernetes.io/iscsi/p:i:0",
  "kubernetes.io/fc/x",
);

const container = fc
  .record({
    kind: fc.constantFrom("init", "main", "ephemeral"),
    state: mostly<ContainerState["state"]>("waiting", "running", "terminated", "none", "several"),
    waitingReason: mostly<string | undefined>(
      "ContainerCreating",
      "PodInitializing",
      "ImagePullBackOff",
      undefined,
      "",
    ),
    hasRun: mostly(false, true),
  })
  .map(containerWith);

function pod(volumes: LivePod["volumes"]): fc.Arbitrary<LivePod> {
  return fc
    .record({
      boundAtMs: mostly<number | undefined>(CREATED_MS, undefined, CREATED_MS - 86_400_000),
      nodeName: mostly<string | undefined>("n1", "n2", undefined),
      phase: mostly("Pending", "Running", "Succeeded", "Failed", "Unknown", ""),
      isDeleting: mostly(false, true),
      isGated: mostly(false, true),
      isHostNetwork: mostly(false, true),
      podIps: mostly<readonly string[]>([], ["10.0.0.7"]),
      readyToStartContainers: mostly<string | undefined>("False", undefined, "True", "Unknown"),
      isStatic: mostly(false, true),
      containers: fc.array(container, { maxLength: 2 }),
    })
    .map((changes) => podWith({ volumes, ...changes }));
}

const node = fc
  .record({
    name: mostly("n1", "n2"),
    uid: mostly("node-1", "node-2"),
    createdAtMs: mostly<number | undefined>(CREATED_MS - 86_400_000, CREATED_MS, undefined),
    isDeleting: mostly(false, true),
    labels: mostly<ReturnType<typeof nodeWith>["labels"]>(
      { zone: "a", "kubernetes.io/hostname": "n1" },
      {},
      null,
      undefined,
    ),
    volumesAttached: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(attached, { maxLength: 2 }) },
    ),
  })
  .map(nodeWith);

const mounts = fc
  .record({
    beganAt: mostly(5_001, 5_000, 4_999, Number.NaN),
    incomplete: mostly<string | undefined>(undefined, "1 damaged lines"),
    mountedVolumes: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(mountedVolume, { maxLength: 2 }) },
    ),
  })
  .map((changes) => ({ ...mountsWith(), ...changes }));

/** Looks at a pod with up to two volumes: near a rejection, and most of them with a thing or two that speak against it. */
export const anyFacts: fc.Arbitrary<AffinityFacts> = fc
  .oneof(
    { weight: 4, arbitrary: fc.tuple(volumeLook(1)) },
    { weight: 3, arbitrary: fc.tuple(volumeLook(1), volumeLook(2)) },
  )
  .chain((volumes) =>
    fc.record({
      self: fc.record({ nodeName: fc.constant("n1"), nodeUid: mostly<string | undefined>("node-1", undefined) }),
      pod: orNone(pod(volumes.map(({ volume }) => volume))),
      volumes: mostly<readonly VolumeFacts[]>(volumes, []),
      node: orNone(node),
      csiNode: perhaps(orNone(mostly({ drivers: ["disk.example.com"] }, { drivers: [] }))),
      readsEndedAt: fc.constant(5_000),
      mounts: perhaps(mounts),
    }),
  );
