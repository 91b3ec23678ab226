import { describe, expect, it } from "vitest";
import type { Pod } from "../../../../aggregator/core/cluster-objects.ts";
import { claimsToRemember, VanishedPods } from "../../../../aggregator/core/vanished-pods.ts";
import { podWith } from "../world.ts";

const ENDED = { hasEnded: true, isGone: true };
const MIB = 1024 * 1024;
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `claim-${index}`);

describe("claimsToRemember", () => {
  const isLast = (key: string) => key === "shop/claim-2999";
  it.each([
    { name: "all that there are, however many", claims: 3_000, isThere: () => true, kept: 3_000 },
    { name: "as many that there are not as a pod that ran may have", claims: 32, isThere: () => false, kept: 32 },
    { name: "no more than that of thousands that there are not", claims: 3_000, isThere: () => false, kept: 32 },
    { name: "each one that there is beside those", claims: 3_000, isThere: isLast, kept: 33 },
  ])("keeps $name", ({ claims, isThere, kept }) => {
    expect(claimsToRemember({ key: "shop/web", claims: names(claims) }, isThere)).toHaveLength(kept);
  });
});

describe("pods that vanished", () => {
  const long = names(3_000).map((name) => name.padEnd(250, "x"));
  it.each([
    { name: "in number", pods: 20_001, claims: [], forgotten: "pod-0", kept: ["pod-1", "pod-20000"] },
    { name: "in bytes, with their claims", pods: 150, claims: long, forgotten: "pod-0", kept: ["pod-149"] },
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

    end(how: Partial<typeof ENDED>): void {
      this.vanished.note(podWith(), { hasEnded: false, isGone: false, ...how });
    }
  }

  type Step = (world: World) => void;
  const finish: Step = (world) => world.end({ hasEnded: true });
  const vanish: Step = (world) => world.end({ hasEnded: true, isGone: true });
  const go: Step = (world) => world.end({ isGone: true });
  const remove: Step = (world) => world.remove();
  const removeBefore: Step = (world) => world.remove(podWith({ node: undefined }));
  const there = podWith();
  const over = podWith({ isTerminal: true });

  it.each<readonly [name: string, steps: readonly Step[], pod: Pod | undefined, had: readonly string[]]>([
    ["the one that there is", [], there, ["claim-1"]],
    ["none where the first went before it", [remove], there, []],
    ["the next where it waited for a node: it used nothing of the first", [removeBefore], there, ["claim-2"]],
    ["the first where it vanished before that went", [vanish, remove], undefined, ["claim-1"]],
    ["the first where it had finished before that went", [finish, remove], over, ["claim-1"]],
    ["the same when it vanishes, too", [finish, remove, go], undefined, ["claim-1"]],
    ["none where the first went before it vanished", [remove, vanish], undefined, []],
    ["none that is known where it was over when it was first seen", [go], undefined, []],
  ])("%s", (...[, steps, pod, had]) => {
    const world = new World();

    for (const step of steps) step(world);

    const knew = ["claim-1", "claim-2"].filter((uid) => world.vanished.knew("pod-1", pod, { key: "shop/data", uid }));
    expect(knew).toEqual(had);
  });
});
