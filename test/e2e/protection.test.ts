import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rollOut } from "../image/rollout.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import {
  whileAgentIsAway,
  whileAggregatorsAreAway,
  whileKubeletHangs,
  whileNodeIsDeleted,
} from "./protection/absences.ts";
import {
  endingOf,
  endOfNamespace,
  makeClaim,
  requireHeld,
  untilDeletionAsked,
  untilGone,
  untilKept,
  untilStaged,
  untilWrittenAfter,
} from "./protection/claims.ts";
import { openProtectionStage, type ProtectionStage } from "./protection/stage.ts";
import {
  deleteTogether,
  forceDelete,
  hangUnmount,
  hasFailedToWrite,
  kubectlDelete,
  makeSet,
  runHolder,
  runKeptWriter,
  runWriter,
  scaleSet,
  touchSet,
  type Use,
  untilDeleting,
  useOfSet,
} from "./protection/stories.ts";
import { delaysIn, type Ending, GONE_LIMIT_MS, lossesIn } from "./protection/verdict.ts";

/** For the next leader, and for the word of each node. */
const NEXT_LEADER_MS = 20_000;
/** The namespace controller asks again some seconds after it found something left. */
const NAMESPACE_LIMIT_MS = 15_000;
/** For a new agent, its first look and its first report. */
const AGENT_LIMIT_MS = 20_000;
const IN_TURN = { concurrent: false };
const ORDINARY = ["a", "b", "c", "d", "e", "f"];

let owner: Owner;
let signals: Disposable;
let stage: ProtectionStage;
/** How long ordinary claims outlasted their pods with Kubernetes alone, milliseconds. */
let alone: readonly number[] = [];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openProtectionStage(owner);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Nothing was lost, and the claim went as soon as nothing was mounted any more. */
function expectKept(ending: Ending): void {
  expect(lossesIn(ending)).toEqual([]);
  expect(delaysIn(ending, stage)).toEqual([]);
}

/** The reasons of the events on a claim. */
function toldOf({ claim }: Use): readonly string[] {
  return stage.events.on(claim.uid).map(({ reason }) => reason);
}

describe("without Mooring", () => {
  it("a claim that is deleted after its pod was deleted by force goes, and its data is destroyed while the container writes", async () => {
    const use = await runWriter(stage, { name: "lost", node: "node-1" });
    await forceDelete(stage, use);

    const { warnings } = await kubectlDelete(stage, "pvc", "lost");
    await stage.until("a write that fails", () => expect(hasFailedToWrite(stage, use)).toBe(true));

    expect(warnings).toBe("");
    expect(lossesIn(await endingOf(stage, use.claim))).toEqual([
      expect.stringContaining("the claim was gone"),
      expect.stringContaining("the volume was Released"),
      expect.stringContaining("the data was destroyed"),
    ]);
  });

  it("claims that are deleted with their pods go with them", async () => {
    const uses = ORDINARY.map((name) => runHolder(stage, { name: `alone-${name}`, node: "node-2" }));

    alone = await deleteTogether(stage, await Promise.all(uses));

    expect(Math.max(...alone)).toBeLessThan(GONE_LIMIT_MS);
  });
});

describe("with protection", () => {
  beforeAll(async () => {
    await rollOut(owner, stage.cluster, { components: ["protection-enforce"] });
  });

  describe.concurrent("on nodes that work, and on one that does not", () => {
    it("a claim that is deleted after its pod was deleted by force stays until the unmount, and kubectl waits for it", async () => {
      const use = await runKeptWriter(stage, { name: "forced", node: "node-1" });
      const release = hangUnmount(stage, use);
      await forceDelete(stage, use);

      const deleted = kubectlDelete(stage, "pvc", "forced");
      await untilDeletionAsked(stage, use.claim);
      await untilWrittenAfter(stage, use.claim, owner.clock.wallMs());
      await requireHeld(stage, use.claim);
      release();
      const [{ warnings, endedMs }, ending] = await Promise.all([deleted, endingOf(stage, use.claim)]);

      expectKept(ending);
      expect(warnings).toContain("It stays Terminating until the volume is unmounted");
      expect(endedMs).toBeGreaterThan(ending.unmounted.afterMs);
    });

    it("a claim that is only staged, since its driver hangs, stays until it is unstaged", async () => {
      const use = await runHolder(stage, { name: "staged", node: "node-1" });
      await untilKept(stage, use.claim);
      const { volume } = use.claim;
      const hang = { call: "NodeUnstageVolume", volume, effect: { kind: "hang" } } as const;
      const { release } = stage.destroying("node-1").misbehave(hang);

      await kubectlDelete(stage, "--wait=false", "pod/staged", "pvc/staged");
      await untilStaged(stage, use.claim);
      await requireHeld(stage, use.claim);
      release();

      expectKept(await endingOf(stage, use.claim));
    });

    it("a namespace that is deleted keeps its one mounted claim, and none of the others", async () => {
      const namespace = "shop";
      await stage.api.create("/api/v1/namespaces", { metadata: { name: namespace } });
      const idle = [
        await makeClaim(stage, { namespace, name: "idle-1" }),
        await makeClaim(stage, { namespace, name: "idle-2" }),
      ];
      const use = await runKeptWriter(stage, { namespace, name: "held", node: "node-1" });
      const release = hangUnmount(stage, use);
      await forceDelete(stage, use);

      await kubectlDelete(stage, "--wait=false", "namespace", namespace);
      const idleGoneMs = await Promise.all(idle.map((claim) => untilGone(stage, claim)));
      await untilDeletionAsked(stage, use.claim);
      await requireHeld(stage, use.claim);
      release();
      const ending = await endingOf(stage, use.claim);
      const goneMs = await endOfNamespace(stage, namespace);

      expectKept(ending);
      expect(Math.max(...idleGoneMs)).toBeLessThan(ending.unmounted.afterMs);
      const limitMs = NAMESPACE_LIMIT_MS;
      expect(delaysIn({ ...ending, goneMs }, { ...stage, limitMs })).toEqual([]);
    });

    it("a claim of a StatefulSet that is scaled down stays until the unmount, and the next pod waits for another one", async () => {
      const set = { name: "set", node: "node-1" } as const;
      const use = await makeSet(stage, set);
      await untilKept(stage, use.claim);
      await scaleSet(stage, "set", 0);
      await untilDeleting(stage, use);

      const release = hangUnmount(stage, use);
      await forceDelete(stage, use);
      await untilDeletionAsked(stage, use.claim);
      await scaleSet(stage, "set", 1);
      await requireHeld(stage, use.claim);
      release();
      const podsWhileHeld = stage.pods("default/set-0").filter(({ value }) => value !== "gone");
      const ending = await endingOf(stage, use.claim);
      await touchSet(stage, "set");
      const next = await useOfSet(stage, { ...set, after: use.claim.uid });

      expectKept(ending);
      expect(new Set(podsWhileHeld.map(({ uid }) => uid))).toEqual(new Set([use.pod.uid]));
      expect(next.claim.volume).not.toBe(use.claim.volume);
      await scaleSet(stage, "set", 0);
    });

    it("claims that are deleted with their pods are removed as without protection, and no event reports them", async () => {
      const uses = await Promise.all(
        ORDINARY.map((name) => runHolder(stage, { name: `kept-${name}`, node: "node-1" })),
      );
      await Promise.all(uses.map(({ claim }) => untilKept(stage, claim)));

      const protectedMs = await deleteTogether(stage, uses);

      owner.say(`claims outlast their pods by up to ${Math.max(...protectedMs)} ms, alone by ${Math.max(...alone)} ms`);
      expect(Math.max(...protectedMs)).toBeLessThan(Math.max(...alone) + GONE_LIMIT_MS);
      for (const use of uses) {
        expect(lossesIn(await endingOf(stage, use.claim))).toEqual([]);
        expect(toldOf(use)).not.toContain("DeletionHeld");
      }
    });

    describe("one after the other", () => {
      it(
        "a claim on a node whose kubelet hangs stays until the kubelet continues, and an event reports that",
        IN_TURN,
        async () => {
          const hung = { name: "hung", node: "node-2" } as const;

          const { use, ending } = await whileKubeletHangs(stage, hung, (held) =>
            expect(toldOf(held)).toContain("DeletionHeld"),
          );

          expectKept(ending);
          const held = stage.events.on(use.claim.uid).filter(({ reason }) => reason === "DeletionHeld");
          expect(held).toMatchObject([{ times: 1, note: expect.stringMatching(/node node-2 by pod .*hung/) }]);
        },
      );

      it(
        "a claim whose pod ends while the node has no agent stays until the next one has looked",
        IN_TURN,
        async () => {
          const { ending, backMs } = await whileAgentIsAway(stage, { name: "unseen", node: "node-2" });

          expect(lossesIn(ending)).toEqual([]);
          expect(ending.goneMs).toBeGreaterThan(backMs);
          expect(delaysIn(ending, { ...stage, freeMs: backMs, limitMs: AGENT_LIMIT_MS })).toEqual([]);
        },
      );

      it("a claim whose node is deleted while the container writes stays until the unmount", IN_TURN, async () => {
        const { ending } = await whileNodeIsDeleted(stage, { name: "deleted-node", node: "node-2" });

        expectKept(ending);
      });
    });
  });

  describe("without an aggregator", () => {
    it("a claim stays although it is unmounted, another one goes by its override, and the next leader lets the first one go", async () => {
      const waiting = { name: "waiting", node: "node-1", other: "node-2" } as const;

      const { ending, backMs, overridden } = await whileAggregatorsAreAway(stage, waiting);

      expect(lossesIn(ending)).toEqual([]);
      expect(delaysIn(ending, { ...stage, freeMs: backMs, limitMs: NEXT_LEADER_MS })).toEqual([]);
      expect(overridden.goneMs).toBeLessThan(overridden.unmounted.afterMs);
    });
  });
});
