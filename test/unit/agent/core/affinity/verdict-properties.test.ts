import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AffinityFacts, LivePod, VolumeFacts } from "../../../../../agent/core/affinity/facts.ts";
import { affinityVerdict, misplacedVolumes } from "../../../../../agent/core/affinity/verdict.ts";
import { containerWith, FAILED, MISSING, mountedBy, read } from "./facts.ts";
import { mayBeRejected } from "./plain-verdict.ts";
import { anyFacts } from "./random-facts.ts";

const RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 600);

type Change = (facts: AffinityFacts) => AffinityFacts;

const ofPod =
  (changes: Partial<LivePod>): Change =>
  (facts) =>
    facts.pod.kind === "value" ? { ...facts, pod: read({ ...facts.pod.value, ...changes }) } : facts;
const withContainer =
  (container: ReturnType<typeof containerWith>): Change =>
  (facts) =>
    facts.pod.kind === "value" ? ofPod({ containers: [...facts.pod.value.containers, container] })(facts) : facts;

/** Changes what was read for each volume that counts: those for which the node is excluded, or nothing is known. */
const ofVolumes =
  (changes: Partial<VolumeFacts>): Change =>
  (facts) => {
    const { volumes } = affinityVerdict(facts);
    const counting = volumes
      .filter(({ finding }) => finding !== "unused" && finding !== "right")
      .map(({ volume }) => volume.name);
    return {
      ...facts,
      volumes: facts.volumes.map((one) => (counting.includes(one.volume.name) ? { ...one, ...changes } : one)),
    };
  };

const holdEach: Change = (facts) => {
  const mounted = misplacedVolumes(affinityVerdict(facts)).map(({ pv = "" }) => mountedBy("pod-1", pv));
  return facts.mounts
    ? { ...facts, mounts: { ...facts.mounts, mountedVolumes: [...facts.mounts.mountedVolumes, ...mounted] } }
    : facts;
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
  "a pod that could not be read": (facts) => ({ ...facts, pod: FAILED }),
  "a Node that could not be read": (facts) => ({ ...facts, node: FAILED }),
  "a Node that is missing": (facts) => ({ ...facts, node: MISSING }),
  "a Node that is not known to be its own": (facts) => ({ ...facts, self: { ...facts.self, nodeUid: undefined } }),
  "no read of the mount table": (facts) => ({ ...facts, mounts: undefined }),
  "a damaged mount table": (facts) =>
    facts.mounts ? { ...facts, mounts: { ...facts.mounts, incomplete: "1 damaged lines" } } : facts,
  "a mount table that was read too early": (facts) => ({ ...facts, readsEndedAt: Number.POSITIVE_INFINITY }),
  "no read of any volume": (facts) => ({ ...facts, volumes: [] }),
  "claims that could not be read": ofVolumes({ claim: FAILED }),
  "claims that are missing": ofVolumes({ claim: MISSING }),
  "PVs that could not be read": ofVolumes({ pv: FAILED }),
  "PVs that were not read": ofVolumes({ pv: undefined }),
};

describe("a verdict", () => {
  it("is reject exactly when every condition of the rule holds", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        expect(affinityVerdict(facts).kind === "reject").toBe(mayBeRejected(facts));
      }),
      { numRuns: RUNS },
    );
  });

  it("is of each kind often enough for these properties to say something", () => {
    const kinds = fc.sample(anyFacts, { numRuns: 1_000, seed: 8 }).map((facts) => affinityVerdict(facts).kind);
    const share = (kind: string) => kinds.filter((one) => one === kind).length;

    expect(share("reject")).toBeGreaterThan(250);
    expect(share("unknown")).toBeGreaterThan(250);
    expect(share("allow")).toBeGreaterThan(100);
    expect(share("attached")).toBeGreaterThan(5);
  });

  it.each(Object.entries(changes))("is never reject with %s", (_, change) => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        expect(affinityVerdict(change(facts)).kind).not.toBe("reject");
      }),
      { numRuns: Math.ceil(RUNS / 10) },
    );
  });

  it("does not become reject when more is unknown or mounted", () => {
    fc.assert(
      fc.property(anyFacts, fc.subarray(Object.values(changes)), (facts, some) => {
        const before = affinityVerdict(facts).kind;
        const after = affinityVerdict(some.reduce((changed, change) => change(changed), facts)).kind;
        if (after === "reject") expect(before).toBe("reject");
      }),
      { numRuns: RUNS },
    );
  });

  it("names every volume of the pod, in plain words", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const { why, volumes } = affinityVerdict(facts);
        const names = facts.pod.kind === "value" ? facts.pod.value.volumes.map(({ name }) => name) : [];
        expect(volumes.map(({ volume }) => volume.name)).toEqual(names);
        for (const text of [why, ...volumes.map((one) => one.why)])
          expect(text).not.toMatch(/^$|undefined|null|\[object/);
      }),
      { numRuns: RUNS },
    );
  });
});
