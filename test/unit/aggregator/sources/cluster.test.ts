import { describe, expect, it } from "vitest";
import type { Change, Item } from "./cluster-scene.ts";
import { added, claim, deleted, modified, pod, second, seen, stored } from "./cluster-scene.ts";

const failed = { phase: "Failed" };
const bound = { status: { phase: "Bound" } };
const succeeded = pod({ phase: "Succeeded" });
const waiting = pod({ phase: "Pending", isPlaced: false });

describe("the cluster emits", () => {
  const ended = (version: number): readonly string[] => [`pod-1 ended by ${version}, had started`];
  const mark = { ...failed, reason: "VolumeNodeAffinity", annotations: { "mooring.dev/rejected": "{}" } };
  const third = { name: "web-2", uid: "pod-3" };
  const rejected = [
    modified(pod(mark)),
    modified(pod({ ...second, ...mark })),
    deleted(pod({ ...second, ...mark })),
    deleted(pod({ ...third, ...mark })),
  ];
  const placed = [added(waiting), modified(pod()), modified(pod()), added(pod(second)), deleted(pod(second))];
  const agent = pod({ agent: true });
  const other = pod({ agent: true, ...second });
  const agentsCome = [modified(agent), modified(pod({ agent: true, ...failed })), added(other), deleted(other)];
  const gone = "shop/data is gone";
  const [before, noon, after, future] = [
    "2026-09-09T11:59:59Z",
    "2026-09-09T12:00:00Z",
    "2026-09-09T12:00:01Z",
    "2100-01-01T00:00:00Z",
  ];
  const usedUntil = (time: string, reason = "Unmounted"): Item => claim({ status: stored("True", reason, time) });
  const rolledBack = ["shop/data was rolled back from 1788955200000"];

  it.each<
    readonly [
      name: string,
      listed: readonly Item[],
      changes: readonly Change[],
      part: string,
      expected: readonly string[],
    ]
  >(
    // biome-ignore format: a row is a line
    [
      ["no end of a pod that runs", [], [added(pod())], "ended", []],
      ["one end of a pod that finishes, though it is deleted later", [], [added(pod()), modified(succeeded), modified(succeeded), deleted(succeeded)], "ended", ended(102)],
      ["the end of a pod that vanishes", [pod()], [deleted(pod())], "ended", ended(101)],
      ["the end of a pod whose deletion is the first to show it", [pod()], [deleted(pod(failed))], "ended", ended(101)],
      ["the end of a pod that is made anew under its name", [pod()], [added(pod({ uid: "pod-2" }))], "ended", ended(101)],
      ["no end that went unobserved, before pods were listed", [pod(failed)], [deleted(pod(failed))], "ended", []],
      ["the end of a pod that came and went unseen", [], [added(succeeded)], "ended", ended(101)],
      ["once for each pod that it is on a node, where it may have been taken for another's user", [], placed, "placed", ["pod-1 is placed on n1", "pod-2 is placed on n1"]],
      ["once for each pod that an agent rejected it, also for one that is deleted with it", [pod(mark), pod(second), pod(third)], rejected, "rejected", [1, 2, 3].map((of) => `pod-${of} rejected on n1`)],
      ["that a node has an agent's pod, and has none", [agent], agentsCome, "agent", ["with", "without", "with", "without"].map((how) => `node n1, ${how} an agent`)],
      ["a claim that is gone before the next one of its name", [claim(bound)], [added(claim({ ...bound, uid: "claim-2" }))], "shop/data", ["check shop/data", gone, "check shop/data"]],
      ["the earlier time of a claim whose time goes back", [usedUntil(noon)], [modified(usedUntil(before))], "rolled back", rolledBack],
      ["the earlier time where the time goes away", [usedUntil(noon)], [modified(usedUntil(noon, "Tidied"))], "rolled back", rolledBack],
      ["the earlier time where an invalid time in the future replaces it", [usedUntil(noon)], [modified(usedUntil(future))], "rolled back", rolledBack],
      ["nothing for a time that moves on", [usedUntil(noon)], [modified(usedUntil(after))], "rolled back", []],
      ["nothing for a time that was in the future", [usedUntil(future)], [modified(usedUntil(noon))], "rolled back", []],
    ],
  )("%s", async (...[, listed, changes, part, expected]) => {
    const all = (await seen(listed, changes)).events;

    expect(all.filter((line) => line.includes(part))).toEqual(expected);
  });
});

describe("a pod that vanished", () => {
  it("is still known by its UID, so that its mounts are not taken for another's", async () => {
    const mine = pod({ volumes: [] });
    const { cluster } = await seen([mine], [deleted(mine)]);

    expect(cluster.podByUid("pod-1")?.claims).toEqual([]);
    expect([cluster.podName("pod-1"), cluster.podName("pod-9")]).toEqual(["shop/web-0", "pod-9"]);
    expect(cluster.podsOf("shop/data")).toEqual([]);
  });

  it("is remembered with the claims that there are, and not with thousands that there are not", async () => {
    const mine = pod({ volumes: [...Array.from({ length: 3_000 }, (_, index) => `absent-${index}`), "data"] });
    const { states } = await seen([claim(), mine], [deleted(mine)], ({ podByUid }) => podByUid("pod-1")?.claims ?? []);

    expect(states.map((claims) => [claims.length, claims.at(-1)])).toEqual([
      [3_001, "shop/data"],
      [33, "shop/data"],
    ]);
  });
});
