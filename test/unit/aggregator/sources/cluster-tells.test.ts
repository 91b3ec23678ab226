import { describe, expect, it } from "vitest";
import type { Cluster } from "../../../../aggregator/sources/cluster.ts";
import type { Change, Item } from "./cluster-scene.ts";
import { added, claim, deleted, modified, nothing, pod, second, seen, stored } from "./cluster-scene.ts";

const failed = { phase: "Failed" };
const succeeded = pod({ phase: "Succeeded" });
const waiting = pod({ phase: "Pending", isPlaced: false });
const mark = { ...failed, reason: "VolumeNodeAffinity", annotations: { "mooring.dev/rejected": "{}" } };
const third = { name: "web-2", uid: "pod-3" };

const NOON = "2026-09-09T12:00:00Z";
const FUTURE = "2100-01-01T00:00:00Z";
const usedUntil = (time: string, reason = "Unmounted"): Item => claim({ status: stored("True", reason, time) });
const bound = { status: { phase: "Bound" } };

describe("of its own accord the cluster tells", () => {
  const ended = (version: number): readonly string[] => [`pod-1 ended by ${version}, had started`];

  it.each<
    readonly [name: string, listed: readonly Item[], changes: readonly Change[], word: string, told: readonly string[]]
  >([
    ["no end of a pod that runs", [], [added(pod())], "ended", []],
    [
      "one end of a pod that finishes, though it is deleted later",
      [],
      [added(pod()), modified(succeeded), modified(succeeded), deleted(succeeded)],
      "ended",
      ended(102),
    ],
    ["the end of a pod that vanishes", [pod()], [deleted(pod())], "ended", ended(101)],
    ["the end of a pod whose deletion is the first to show it", [pod()], [deleted(pod(failed))], "ended", ended(101)],
    ["the end of a pod that is made anew under its name", [pod()], [added(pod({ uid: "pod-2" }))], "ended", ended(101)],
    ["no end that went unobserved, before pods were listed", [pod(failed)], [deleted(pod(failed))], "ended", []],
    ["the end of a pod that came and went unseen", [], [added(succeeded)], "ended", ended(101)],
    [
      "once of each pod that it is on a node: there it may have been taken for another one's user",
      [],
      [added(waiting), modified(pod()), modified(pod()), added(pod(second)), deleted(pod(second))],
      "placed",
      ["pod-1 is placed on n1", "pod-2 is placed on n1"],
    ],
    [
      "once of each pod that an agent rejected, also of one that is deleted with it",
      [pod(mark), pod(second), pod(third)],
      [
        modified(pod(mark)),
        modified(pod({ ...second, ...mark })),
        deleted(pod({ ...second, ...mark })),
        deleted(pod({ ...third, ...mark })),
      ],
      "rejected",
      ["pod-1 rejected on n1", "pod-2 rejected on n1", "pod-3 rejected on n1"],
    ],
    [
      "a claim that is gone before the next one of its name",
      [claim(bound)],
      [added(claim({ ...bound, uid: "claim-2" }))],
      "shop/data",
      ["look at shop/data", "shop/data is gone", "look at shop/data"],
    ],
  ])("%s", async (...[, listed, changes, word, told]) => {
    const all = (await seen(listed, changes, nothing)).told;

    expect(all.filter((line) => line.includes(word))).toEqual(told);
  });

  const before = "2026-09-09T11:59:59Z";
  const after = "2026-09-09T12:00:01Z";
  const told = ["shop/data was set back from 1788955200000"];
  it.each([
    ["the time before where it goes back", usedUntil(NOON), usedUntil(before), told],
    ["the time before where it goes away", usedUntil(NOON), usedUntil(NOON, "Tidied"), told],
    ["the time before where one in the future, which is none, replaces it", usedUntil(NOON), usedUntil(FUTURE), told],
    ["nothing where it moves on", usedUntil(NOON), usedUntil(after), []],
    ["nothing where it was in the future", usedUntil(FUTURE), usedUntil(NOON), []],
  ])("of a claim's stored time %s", async (...[, first, next, lines]) => {
    const all = (await seen([first], [modified(next)], nothing)).told;

    expect(all.filter((line) => line.includes("set back"))).toEqual(lines);
  });
});

describe("a pod that vanished", () => {
  it("is still known by its UID, so that its mounts are not taken for another's", async () => {
    const mine = pod({ volumes: [] });
    const { cluster } = await seen([mine], [deleted(mine)], nothing);

    expect(cluster.podByUid("pod-1")?.claims).toEqual([]);
    expect([cluster.podName("pod-1"), cluster.podName("pod-9")]).toEqual(["shop/web-0", "pod-9"]);
    expect(cluster.podsOf("shop/data")).toEqual([]);
  });

  it("is remembered with the claims that there are, and not with thousands that there are not", async () => {
    const mine = pod({ volumes: [...Array.from({ length: 3_000 }, (_, index) => `absent-${index}`), "data"] });
    const claimsOf = ({ podByUid }: Cluster) => podByUid("pod-1")?.claims ?? [];
    const { states } = await seen([claim(), mine], [deleted(mine)], claimsOf);

    expect(states.map((claims) => [claims.length, claims.at(-1)])).toEqual([
      [3_001, "data"],
      [33, "data"],
    ]);
  });
});

describe("a claim that is made again under its name", () => {
  const again = [deleted(claim()), added(claim({ uid: "claim-2" }))];
  /** Of the earlier and the later claim those that the pod had. */
  const known = ({ knewClaim }: Cluster, podUid = "pod-1"): string =>
    ["claim-1", "claim-2"].filter((uid) => knewClaim(podUid, { key: "shop/data", uid })).join();
  const [one, two] = ["claim-1", "claim-2"];

  it.each<readonly [name: string, listed: Item, changes: readonly Change[], knew: readonly string[]]>([
    ["was not that of a pod that vanished before", pod(), [deleted(pod()), ...again], [one, one, one, one]],
    [
      "was not that of a pod that had finished, which does not keep its claim",
      pod(),
      [modified(succeeded), ...again, deleted(succeeded)],
      [one, one, one, one, one],
    ],
    [
      "was not that of a pod that runs on, where somebody took its finalizer",
      pod(),
      [...again, deleted(pod())],
      [one, "", "", ""],
    ],
    [
      "is that of a pod that waits for a node, and used nothing",
      waiting,
      [...again, modified(pod())],
      [one, "", two, two],
    ],
  ])("%s", async (...[, listed, changes, knew]) => {
    const { states, cluster } = await seen([claim(), listed], changes, known);

    expect([...states, known(cluster, "pod-9")]).toEqual([...knew, ""]);
  });
});
