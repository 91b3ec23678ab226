import { describe, expect, it } from "vitest";
import type { Pod } from "../../../../aggregator/core/cluster-objects.ts";
import { claimsToRemember, VanishedPods } from "../../../../aggregator/core/vanished-pods.ts";
import { podWith } from "../world.ts";

const ENDED = { hasEnded: true, isGone: true };
const MIB = 1024 * 1024;
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `claim-${index}`);

describe("claimsToRemember", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "all that there are, however many", claims: 3_000, isThere: () => true, kept: 3_000 },
      { name: "as many that there are not as a pod that ran may have", claims: 32, isThere: () => false, kept: 32 },
      { name: "no more than that of thousands that there are not", claims: 3_000, isThere: () => false, kept: 32 },
      { name: "each one that there is beside those", claims: 3_000, isThere: (key: string) => key === "shop/claim-2999", kept: 33 },
    ],
  )("keeps $name", ({ claims, isThere, kept }) => {
    expect(claimsToRemember({ key: "shop/web", claims: names(claims) }, isThere)).toHaveLength(kept);
  });
});

describe("pods that vanished", () => {
  it.each([
    { name: "in number", pods: 20_001, claims: [], forgotten: "pod-0", kept: ["pod-1", "pod-20000"] },
    {
      name: "in bytes, those of the claims that they named included",
      pods: 150,
      claims: names(3_000).map((name) => name.padEnd(250, "x")),
      forgotten: "pod-0",
      kept: ["pod-149"],
    },
  ])("are bounded $name, and the latest are remembered", ({ pods, claims, forgotten, kept }) => {
    const vanished = new VanishedPods(() => undefined);

    for (let at = 0; at < pods; at += 1) vanished.note(podWith({ uid: `pod-${at}`, claims }), ENDED);

    expect(vanished.get(forgotten)).toBeUndefined();
    expect(kept.map((uid) => vanished.get(uid)?.uid)).toEqual(kept);
    expect(vanished.bytes).toBeLessThan(16 * MIB);
    expect(vanished.bytes).toBeGreaterThan(claims.length === 0 ? 0 : 15 * MIB);
  });

  it("that vanish twice are one", () => {
    const vanished = new VanishedPods(() => "claim-1");
    vanished.note(podWith(), ENDED);
    const once = vanished.bytes;

    vanished.note(podWith(), ENDED);

    expect(vanished.bytes).toBe(once);
  });

  it("take the bytes of the UIDs of their claims, too", () => {
    const [vanished, other] = ["claim-1", undefined].map((uid) => new VanishedPods(() => uid));

    vanished?.note(podWith(), ENDED);
    other?.note(podWith(), ENDED);

    expect((vanished?.bytes ?? 0) - (other?.bytes ?? 0)).toBe("claim-1".length);
  });
});

describe("of the claims that are made one after the other under its name a pod has, or had", () => {
  class World {
    claim: string | undefined = "claim-1";
    readonly vanished = new VanishedPods(() => this.claim);

    remove(pod = podWith()): void {
      this.vanished.onClaimGone([pod]);
      this.claim = "claim-2";
    }

    end(how: Partial<typeof ENDED>, pod = podWith()): void {
      this.vanished.note(pod, { hasEnded: false, isGone: false, ...how });
    }
  }

  it.each<{
    readonly name: string;
    readonly happens?: (world: World) => void;
    readonly pod?: Pod;
    readonly had: readonly string[];
  }>(
    // biome-ignore format: a row is a line
    [
      { name: "the one that there is", pod: podWith(), had: ["claim-1"] },
      { name: "none while there is none", happens: (world) => { world.claim = undefined; }, pod: podWith(), had: [] },
      { name: "none where the first went before it", happens: (world) => world.remove(), pod: podWith(), had: [] },
      {
        name: "the next where it waited for a node: it used nothing of the first",
        happens: (world) => world.remove(podWith({ node: undefined })),
        pod: podWith(),
        had: ["claim-2"],
      },
      {
        name: "the first where it vanished before that went",
        happens: (world) => {
          world.end({ hasEnded: true, isGone: true });
          world.remove();
        },
        had: ["claim-1"],
      },
      {
        name: "the first where it had finished before that went",
        happens: (world) => {
          world.end({ hasEnded: true });
          world.remove();
        },
        pod: podWith({ isTerminal: true }),
        had: ["claim-1"],
      },
      {
        name: "the same when it vanishes, too",
        happens: (world) => {
          world.end({ hasEnded: true });
          world.remove();
          world.end({ isGone: true });
        },
        had: ["claim-1"],
      },
      {
        name: "none where the first went before it vanished",
        happens: (world) => {
          world.remove();
          world.end({ hasEnded: true, isGone: true });
        },
        had: [],
      },
      { name: "none that is known where it was over when it was first seen", happens: (world) => world.end({ isGone: true }), had: [] },
    ],
  )("$name", ({ happens, pod, had }) => {
    const world = new World();

    happens?.(world);

    const knew = ["claim-1", "claim-2"].filter((uid) => world.vanished.knew("pod-1", pod, { key: "shop/data", uid }));
    expect(knew).toEqual(had);
  });
});
