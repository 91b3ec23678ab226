import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { mountedVolumeKey, type RootRule } from "../../agent/core/mounted-volumes.ts";
import { initialState, type NodeState } from "../../agent/core/node-state.ts";
import { observe } from "../../agent/core/observe.ts";
import { createMountNotifier } from "../../agent/sources/mount-notifier.ts";
import { scanConfirmed } from "../../agent/sources/mount-table.ts";
import { createMountInfoFile } from "../../common/mounts/mount-info-file.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { startStopwatch } from "../rig/process/starvation.ts";
import { type MountNamespace, openMountNamespace } from "./mount-namespace.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const TOKEN = "pods/agent-1/volumes/kubernetes.io~projected/kube-api-access-x7k2p";
const clock = createSystemClock();
const never = new AbortController().signal;

/** What a node has seen so far, as its agent would. */
function createWatcher({ mountInfo }: MountNamespace) {
  const source = createMountInfoFile(mountInfo, { clock });
  let state: NodeState = initialState("boot-1");
  return {
    /** Milliseconds that the look took of the time that the machine gave. */
    look: async (): Promise<number> => {
      const spentMs = startStopwatch({ clock });
      const scan = await scanConfirmed(source, state, RULE);
      state = observe(state, { scan, podsResourceVersion: undefined, pods: new Map() }).state;
      return spentMs();
    },
    state: () => state,
    keys: () => [...state.mountedVolumes.keys()].toSorted(),
    released: () => state.unmountRecords.map(({ podUid }) => podUid),
  };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Numbers that look random and are the same in each run. */
function createDice(): (sides: number) => number {
  let seed = 20_260_101;
  return (sides) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % sides;
  };
}

function volumePlace(pod: number, volume: number): string {
  return `pods/u${pod}/volumes/kubernetes.io~csi/pv-${volume}/mount`;
}

function volumeKeyOf(pod: number, volume: number): string {
  return mountedVolumeKey({ kind: "pod", volume: { by: "name", name: `pv-${volume}` }, podUid: `u${pod}` });
}

describe("a node with ten thousand mounts", () => {
  const [PODS, VOLUMES] = [100, 100];

  /** One pod's volumes are mounted, and then all of them at once for each other pod. */
  async function mountAll({ run, kubeletRoot, mount }: MountNamespace): Promise<void> {
    await mount(TOKEN);
    await run(`cd '${kubeletRoot}' && mkdir template && for volume in $(seq ${VOLUMES}); do
      place=template/volumes/kubernetes.io~csi/pv-$volume/mount
      mkdir -p $place && mount -t tmpfs -o size=64k tmpfs $place || exit 1; done`);
    await run(`for pod in $(seq ${PODS}); do
      mkdir -p pods/u$pod && mount --rbind template pods/u$pod || exit 1; done`);
  }

  it("is scanned completely, also when one pod's end unmounts a part", async () => {
    const namespace = await openMountNamespace();
    const watcher = createWatcher(namespace);
    const begunAt = clock.monotonicMs();
    await mountAll(namespace);
    const mountMs = clock.monotonicMs() - begunAt;
    const all = Array.from({ length: PODS * VOLUMES }, (_, index) =>
      volumeKeyOf(Math.floor(index / VOLUMES) + 1, (index % VOLUMES) + 1),
    );

    const readMs = await watcher.look();
    const shown = watcher.keys();
    await namespace.run("umount --lazy pods/u7");
    const confirmMs = await watcher.look();

    const lines = readFileSync(namespace.mountInfo, "latin1").split("\n").length - 1;
    say(
      `10,000 mounts in ${Math.round(mountMs)} ms; a look at them ${Math.round(readMs)} ms, two scans of ${lines} lines ${Math.round(confirmMs)} ms`,
    );
    expect(shown).toEqual(all.toSorted());
    expect(watcher.state().scan).toBeDefined();
    expect(watcher.released()).toEqual(Array.from({ length: VOLUMES }, () => "u7"));
    expect(watcher.keys()).toEqual(all.filter((key) => !key.includes("/u7/")).toSorted());
    expect(readMs).toBeLessThan(2_000);
    expect(confirmMs).toBeLessThan(4_000);
  });
});

describe("a storm of mounts", () => {
  const OPERATIONS = 600;
  const [PODS, VOLUMES, DEPTH] = [20, 2, 3];
  /** Pods whose mounts stay untouched. */
  const CALM = 30;

  /** A script that mounts and unmounts at random, stacking mounts, and what is mounted at its end. */
  function storm(): { readonly script: string; readonly left: readonly string[] } {
    const dice = createDice();
    const depths = new Map<string, number>();
    const lines = Array.from({ length: OPERATIONS }, () => {
      const [pod, volume] = [dice(PODS), dice(VOLUMES)];
      const key = volumeKeyOf(pod, volume);
      const depth = depths.get(key) ?? 0;
      const isMount = depth === 0 || (depth < DEPTH && dice(3) === 0);
      depths.set(key, depth + (isMount ? 1 : -1));
      const place = volumePlace(pod, volume);
      return isMount ? `mkdir -p ${place} && mount -t tmpfs -o size=64k tmpfs ${place}` : `umount ${place}`;
    });
    const left = [...depths].filter(([, depth]) => depth > 0).map(([key]) => key);
    return { script: `set -e\n${lines.join("\n")}\n`, left };
  }

  /** Looks whenever the kernel says that something changed, and never else, until the storm is over and nothing changes. */
  async function watchUntil(
    over: Promise<void>,
    { look, wait }: { readonly look: () => Promise<number>; readonly wait: (ms: number) => Promise<string> },
  ): Promise<number> {
    let isOver = false;
    const noted = over.finally(() => {
      isOver = true;
    });
    for (let looks = 1; ; looks += 1) {
      await look();
      let wasOver = isOver;
      while ((await wait(100)) === "timer") {
        if (wasOver) return noted.then(() => looks);
        wasOver = isOver;
      }
    }
  }

  it("ends with exactly the remaining mounted volumes, and never records an unmount of an untouched one", async () => {
    const namespace = await openMountNamespace();
    const { run, kubeletRoot, mount, mountInfo } = namespace;
    const watcher = createWatcher(namespace);
    await mount(TOKEN);
    const calm = Array.from({ length: CALM }, (_, index) => 100 + index);
    for (const pod of calm) await mount(volumePlace(pod, 0));
    await watcher.look();
    const mountNotifier = createMountNotifier(mountInfo, { clock, logger: createFakeLogger() });
    onTestFinished(() => mountNotifier.close());
    const { script, left } = storm();
    writeFileSync(join(kubeletRoot, "storm.sh"), script);
    const begunAt = clock.monotonicMs();

    const looks = await watchUntil(run(`cd '${kubeletRoot}' && sh storm.sh`), {
      look: watcher.look,
      wait: (ms) => mountNotifier.wait(ms, never),
    });

    const { unmountRecords } = watcher.state();
    say(
      `${OPERATIONS} operations in ${Math.round(clock.monotonicMs() - begunAt)} ms: ${looks} looks, ${unmountRecords.length} releases`,
    );
    expect(mountNotifier.mode).toBe("poll");
    expect(watcher.keys()).toEqual([...calm.map((pod) => volumeKeyOf(pod, 0)), ...left].toSorted());
    expect(unmountRecords.filter(({ podUid }) => calm.includes(Number(podUid.slice(1))))).toEqual([]);
    expect(unmountRecords.length).toBeGreaterThan(0);
    expect(new Set(unmountRecords.map(({ id }) => id)).size).toBe(unmountRecords.length);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(PODS * VOLUMES);
    // The kernel takes 10 ms for each operation, and on a busy machine seven times as long.
  });
});
