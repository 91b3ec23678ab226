import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AffinityLook, LivePod, VolumeLook } from "../../../../../agent/core/affinity/facts.ts";
import { affinityVerdict, misplacedVolumes } from "../../../../../agent/core/affinity/verdict.ts";
import { containerWith, FAILED, heldBy, MISSING, read } from "./looks.ts";
import { mayBeRejected } from "./plain-verdict.ts";
import { anyLook } from "./random-looks.ts";

const RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 600);

type Change = (look: AffinityLook) => AffinityLook;

const ofPod =
  (changes: Partial<LivePod>): Change =>
  (look) =>
    look.pod.kind === "value" ? { ...look, pod: read({ ...look.pod.value, ...changes }) } : look;
const withContainer =
  (container: ReturnType<typeof containerWith>): Change =>
  (look) =>
    look.pod.kind === "value" ? ofPod({ containers: [...look.pod.value.containers, container] })(look) : look;

/** Changes what was read for each volume that counts: those for which the node is excluded, or nothing is known. */
const ofVolumes =
  (changes: Partial<VolumeLook>): Change =>
  (look) => {
    const { volumes } = affinityVerdict(look);
    const counting = volumes
      .filter(({ finding }) => finding !== "unused" && finding !== "right")
      .map(({ volume }) => volume.name);
    return {
      ...look,
      volumes: look.volumes.map((one) => (counting.includes(one.volume.name) ? { ...one, ...changes } : one)),
    };
  };

const holdEach: Change = (look) => {
  const held = misplacedVolumes(affinityVerdict(look)).map(({ pv = "" }) => heldBy("pod-1", pv));
  return look.mounts
    ? { ...look, mounts: { ...look.mounts, mountedVolumes: [...look.mounts.mountedVolumes, ...held] } }
    : look;
};

const changes: Readonly<Record<string, Change>> = {
  "a hold of each volume that excludes the node": holdEach,
  "an IP": ofPod({ podIps: ["10.0.0.7"] }),
  "a ready sandbox": ofPod({ readyToStartContainers: "True" }),
  "a sandbox that may be ready": ofPod({ readyToStartContainers: "Unknown" }),
  "a container that runs": withContainer(containerWith({ state: "running" })),
  "an init container that is over": withContainer(containerWith({ kind: "init", state: "terminated" })),
  "an ephemeral container without its image": withContainer(
    containerWith({ kind: "ephemeral", waitingReason: "ErrImagePull" }),
  ),
  "a container of which nothing is known": withContainer(containerWith({ state: "none", waitingReason: undefined })),
  "a phase that nobody knows": ofPod({ phase: "Unknown" }),
  "an unknown binding": ofPod({ boundAtMs: undefined }),
  "a static pod": ofPod({ isStatic: true }),
  "a pod that could not be read": (look) => ({ ...look, pod: FAILED }),
  "a Node that could not be read": (look) => ({ ...look, node: FAILED }),
  "a Node that is missing": (look) => ({ ...look, node: MISSING }),
  "a Node that is not known to be its own": (look) => ({ ...look, self: { ...look.self, nodeUid: undefined } }),
  "no read of the mount table": (look) => ({ ...look, mounts: undefined }),
  "a damaged mount table": (look) =>
    look.mounts ? { ...look, mounts: { ...look.mounts, incomplete: "1 damaged lines" } } : look,
  "a mount table that was read too early": (look) => ({ ...look, readsEndedAt: Number.POSITIVE_INFINITY }),
  "no read of any volume": (look) => ({ ...look, volumes: [] }),
  "claims that could not be read": ofVolumes({ claim: FAILED }),
  "claims that are missing": ofVolumes({ claim: MISSING }),
  "PVs that could not be read": ofVolumes({ pv: FAILED }),
  "PVs that were not read": ofVolumes({ pv: undefined }),
};

describe("a verdict", () => {
  it("is reject exactly when every condition of the rule holds", () => {
    fc.assert(
      fc.property(anyLook, (look) => {
        expect(affinityVerdict(look).kind === "reject").toBe(mayBeRejected(look));
      }),
      { numRuns: RUNS },
    );
  });

  it("is of each kind often enough for these properties to say something", () => {
    const kinds = fc.sample(anyLook, { numRuns: 1_000, seed: 8 }).map((look) => affinityVerdict(look).kind);
    const share = (kind: string) => kinds.filter((one) => one === kind).length;

    expect(share("reject")).toBeGreaterThan(250);
    expect(share("unknown")).toBeGreaterThan(250);
    expect(share("allow")).toBeGreaterThan(100);
    expect(share("attached")).toBeGreaterThan(5);
  });

  it.each(Object.entries(changes))("is never reject with %s", (_, change) => {
    fc.assert(
      fc.property(anyLook, (look) => {
        expect(affinityVerdict(change(look)).kind).not.toBe("reject");
      }),
      { numRuns: Math.ceil(RUNS / 10) },
    );
  });

  it("does not become reject by anything more that is not known, or mounted", () => {
    fc.assert(
      fc.property(anyLook, fc.subarray(Object.values(changes)), (look, some) => {
        const before = affinityVerdict(look).kind;
        const after = affinityVerdict(some.reduce((changed, change) => change(changed), look)).kind;
        if (after === "reject") expect(before).toBe("reject");
      }),
      { numRuns: RUNS },
    );
  });

  it("tells every volume of the pod, in plain words", () => {
    fc.assert(
      fc.property(anyLook, (look) => {
        const { why, volumes } = affinityVerdict(look);
        const names = look.pod.kind === "value" ? look.pod.value.volumes.map(({ name }) => name) : [];
        expect(volumes.map(({ volume }) => volume.name)).toEqual(names);
        for (const text of [why, ...volumes.map((one) => one.why)])
          expect(text).not.toMatch(/^$|undefined|null|\[object/);
      }),
      { numRuns: RUNS },
    );
  });
});
