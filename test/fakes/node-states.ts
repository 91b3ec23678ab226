import fc from "fast-check";
import { mountedVolumeKey } from "../../agent/core/mounted-volumes.ts";
import { initialState, type KnownMountedVolume, type NodeState } from "../../agent/core/node-state.ts";
import type { UnmountRecord } from "../../common/storage/node-report.ts";
import type { MountKind } from "../../common/storage/volume-identity.ts";

/** States of an agent, as its journal gets them to store. */

/** A mounted volume `pv-<n>` of a pod, seen from 10 to 20 of the boot clock. */
export function knownMountedVolume(
  n: number,
  fields: Partial<KnownMountedVolume> & { readonly kind?: MountKind } = {},
): KnownMountedVolume {
  const { kind = "pod", ...rest } = fields;
  const podUid = kind === "staging" ? undefined : `u${n}`;
  return {
    mountedVolume: { kind, volume: { by: "name", name: `pv-${n}` }, podUid },
    pod: podUid && `team/web-${n}`,
    mountPoint: `/var/lib/kubelet/pods/u${n}/volumes/kubernetes.io~csi/pv-${n}/mount`,
    device: "8:1",
    root: "/",
    since: 11,
    seenAt: 20,
    proven: true,
    pendingUnmount: undefined,
    leakedSince: undefined,
    ...rest,
  };
}

export function unmountRecordOf(n: number, by = 30, fields: Partial<UnmountRecord> = {}): UnmountRecord {
  const volume = { by: "name", name: `pv-${n}` } as const;
  return {
    id: `boot-1/${by}/u${n}/pv-${n}`,
    volume,
    podUid: `u${n}`,
    pod: `team/web-${n}`,
    after: by - 10,
    by,
    ...fields,
  };
}

export function mountedVolumesOf(...known: readonly KnownMountedVolume[]): ReadonlyMap<string, KnownMountedVolume> {
  return new Map(known.map((one) => [mountedVolumeKey(one.mountedVolume), one]));
}

/** A state of boot `boot-1`. Its last complete scan took from 20 to 21; the time before 11 is a gap. */
export function nodeState(fields: Partial<NodeState> = {}): NodeState {
  const scan = { beganAt: 20, endedAt: 21 };
  return {
    ...initialState("boot-1", { run: "run-1", clock: "monotonic-raw" }),
    scan,
    agentGaps: [{ to: 11 }],
    coverage: "unbroken",
    ...fields,
  };
}

/** Any state that mounted volumes and unmount records of a few volumes can make up; odd names and stamps included. */
export const anyNodeState: fc.Arbitrary<NodeState> = fc
  .record({
    mountedVolumes: fc.uniqueArray(anyMountedVolume(), {
      maxLength: 6,
      selector: ({ mountedVolume }) => mountedVolumeKey(mountedVolume),
    }),
    unmountRecords: fc.uniqueArray(
      fc.tuple(fc.nat(4), fc.nat(1000)).map(([n, at]) => unmountRecordOf(n, 30 + at)),
      { maxLength: 6, selector: ({ id }) => id },
    ),
    generation: fc.nat(),
    endedAt: fc.double({ min: 25, max: 1e9, noNaN: true }),
    spans: fc.nat(3),
  })
  .map(({ mountedVolumes, unmountRecords, generation, endedAt, spans }) =>
    nodeState({
      mountedVolumes: mountedVolumesOf(...mountedVolumes),
      unmountRecords: unmountRecords.toSorted((one, other) => one.by - other.by),
      generation,
      scan: { beganAt: 20, endedAt },
      agentGaps: [{ to: 11 }, ...Array.from({ length: spans }, (_, at) => ({ from: 12 + at, to: 12.5 + at }))],
    }),
  );

function anyMountedVolume(): fc.Arbitrary<KnownMountedVolume> {
  return fc
    .record({
      n: fc.nat(4),
      kind: fc.constantFrom<MountKind>("pod", "subpath", "block", "staging"),
      // A byte a character, as the mount table has them; the log and the report know how to show them.
      mountPoint: fc.string({ unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)) }),
      since: fc.double({ min: 0, max: 20, noNaN: true }),
      proven: fc.boolean(),
      leakedSince: fc.option(fc.nat(20), { nil: undefined }),
      pendingUnmount: fc.option(
        fc.record({
          by: fc.nat(20),
          podVersion: fc.option(fc.constant("7"), { nil: undefined }),
          isAnomaly: fc.boolean(),
        }),
        { nil: undefined },
      ),
    })
    .map(({ n, ...fields }) => knownMountedVolume(n, fields));
}

/** What a journal has to give back: all but what only this run's scans know, and `seenAt`, which may be older. */
export function essence({ mountedVolumes, unmountRecords, ...state }: NodeState): object {
  const { coverage: _, podsResourceVersion: __, ...head } = state;
  const seen = [...mountedVolumes].map(([key, { seenAt: ___, root: ____, ...known }]) => [key, known] as const);
  return {
    ...head,
    mountedVolumes: new Map(seen.toSorted(byFirst)),
    unmountRecords: new Map(unmountRecords.map((one) => [one.id, one])),
  };
}

function byFirst([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
