import { readFileSync } from "node:fs";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { STORAGE_PATHS } from "../csi/objects.ts";
import { filesIn, freeBytes, linksOn, makeDisk, mountDisk, sizesIn, unmountDisk } from "../node/pool-disks.ts";
import { PROVISIONER_RUNBOOKS } from "../pages/provisioner-runbooks.ts";
import { HarnessError } from "../process/errors.ts";
import { type Owner, openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import { settleAccount } from "./provisioner/account.ts";
import {
  endMisplaced,
  faultsOfEnd,
  misplace,
  untilLaterClaimGone,
  untilMounted,
} from "./provisioner/beside-mooring.ts";
import { changeClaim, deleteClaim, makeClaim, toldOfVolume, untilTold, untilVolume } from "./provisioner/claims.ts";
import { askInVain, comeBackEmpty, forget, isUsed } from "./provisioner/empty-nodes.ts";
import { deleteAt, setPolicy, untilLetGo } from "./provisioner/meanwhile.ts";
import {
  deletePod,
  fileOf,
  inPod,
  lastOf,
  makePod,
  type RunningPod,
  runUse,
  type Use,
  untilRunning,
} from "./provisioner/pods.ts";
import {
  faultsIn,
  killContainer,
  metricOf,
  provisionerLogs,
  roomFor,
  untilReadiness,
} from "./provisioner/provisioner-pods.ts";
import { race, untilUse } from "./provisioner/race.ts";
import { cutPower, restartKubelet, startWith } from "./provisioner/reboots.ts";
import {
  attachByHand,
  leaveImage,
  readByHand,
  rescue,
  restoreByHand,
  setProvisionerOn,
} from "./provisioner/recovery.ts";
import { rollOutProvisioner } from "./provisioner/rollout.ts";
import { openPageReader, type PageReader } from "./provisioner/runbooks.ts";
import { openProvisionerStage, POOLS, type ProvisionerStage } from "./provisioner/stage.ts";
import {
  copyMounts,
  deleteByForce,
  deviceOf,
  endPod,
  endUses,
  outlasted,
  STUBBORN_BLOCK,
  untilWrittenAfter,
} from "./provisioner/stories.ts";
import { changeWhileAway, countOf, groundOf, runCounters } from "./provisioner/updates.ts";
import { freezeKubelet } from "./scenarios/failures/kubelet.ts";
import { STUBBORN } from "./scenarios/failures/stubborn.ts";
import { NODES } from "./scenarios/stage.ts";

const startedPod = v.object({
  status: v.object({
    containerStatuses: v.optional(v.array(v.object({ ready: v.boolean(), restartCount: v.number() })), []),
  }),
});
const MiB = 2 ** 20;
const PODS = "/api/v1/namespaces/default/pods";
/** The provisioner asks each second whether a volume is still in use. */
const GONE_LIMIT_MS = 2_000;
/** The claim is let go within as long after the unmount, and the volume goes after it. */
const HELD_LIMIT_MS = 2 * GONE_LIMIT_MS;
/** ext4 lets nobody grow it without CAP_SYS_RESOURCE, which this machine's root may lack: then the device alone is looked at. */
const MAY_RESIZE_EXT4 =
  (BigInt(`0x${/^CapEff:\s*(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0"}`) & (1n << 24n)) !==
  0n;
const IN_TURN = { concurrent: false };

let owner: Owner;
let signals: Disposable;
let stage: ProvisionerStage;
let pages: PageReader;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openProvisionerStage(owner);
  pages = await openPageReader(stage);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function sized(storage: string): object {
  return { spec: { resources: { requests: { storage } } } };
}

/** Where the kernel has the sectors of a volume's device. */
function sizeFile(use: Use): string {
  return `/sys/block/${deviceOf(use).slice("/dev/".length)}/size`;
}

/** The size of the filesystem at `/data`, KiB. */
async function kilobytesIn(on: ProvisionerStage, pod: RunningPod): Promise<number> {
  return Number((await inPod(on, pod, "df -k /data | tail -1")).split(/\s+/)[1]);
}

describe.concurrent("on nodes that work", () => {
  it("root that writes past the size gets ENOSPC, and neither its neighbour nor the disk of the node is harmed", async () => {
    const place = { node: stage.node("node-1"), pool: "default" };
    const neighbour = await runUse(stage, { name: "neighbour", node: "node-1" });
    await inPod(stage, neighbour.pod, "echo whole > /data/file; sync");
    const use = await runUse(stage, { name: "over", node: "node-1" });

    const writing = inPod(stage, use.pod, "dd if=/dev/zero of=/data/fill bs=1M count=100");

    await expect(writing).rejects.toThrow("No space left on device");
    expect(await freeBytes(place)).toBeGreaterThan(100 * MiB);
    expect(readFileSync(fileOf(stage, neighbour, "file"), "utf8")).toBe("whole\n");
    await inPod(stage, neighbour.pod, "echo more >> /data/file; sync");
    await endUses(stage, use, neighbour);
  });

  it("volumes of ext4 and of XFS grow while they are written to", async () => {
    const ext4 = await runUse(stage, { name: "grow-ext4", size: "32Mi", node: "node-1" });
    const xfs = await runUse(stage, { name: "grow-xfs", storageClass: "xfs", size: "320Mi", node: "node-2" });
    await Promise.all([ext4, xfs].map(({ pod }) => inPod(stage, pod, "echo own > /data/own")));
    const before = await Promise.all([ext4, xfs].map(({ pod }) => kilobytesIn(stage, pod)));

    await changeClaim(stage, ext4.claim, sized("64Mi"));
    await changeClaim(stage, xfs.claim, sized("384Mi"));

    await stage.until("larger filesystems", async () => {
      if (MAY_RESIZE_EXT4) expect(await kilobytesIn(stage, ext4.pod)).toBeGreaterThan((before[0] ?? 0) + 24 * 1024);
      else expect(readFileSync(sizeFile(ext4), "utf8").trim()).toBe(String((64 * MiB) / 512));
      expect(await kilobytesIn(stage, xfs.pod)).toBeGreaterThan((before[1] ?? 0) + 56 * 1024);
    });
    expect(await inPod(stage, xfs.pod, "cat /data/own")).toBe("own");
    await endUses(stage, ext4, xfs);
  });

  it("a block volume is a device of the size that was asked for, keeps what is written to it, and grows", async () => {
    const use = await runUse(stage, { name: "block", isBlock: true, node: "node-1" });
    await inPod(stage, use.pod, "echo own | dd of=/dev/data bs=512 conv=notrunc,fsync");
    expect(await inPod(stage, use.pod, "blockdev --getsize64 /dev/data")).toBe(String(32 * MiB));

    await changeClaim(stage, use.claim, sized("48Mi"));
    await stage.until("a larger device", async () => {
      expect(await inPod(stage, use.pod, "blockdev --getsize64 /dev/data")).toBe(String(48 * MiB));
    });

    expect(await inPod(stage, use.pod, "head -c 3 /dev/data")).toBe("own");
    await endUses(stage, use);
  });

  it("a claim of mode ReadWriteOncePod is one pod's alone", async () => {
    const use = await runUse(stage, { name: "alone", accessMode: "ReadWriteOncePod", node: "node-1" });
    await makePod(stage, { name: "alone-too", claim: "alone" });
    await stage.until("a second pod that waits", async () => {
      expect(JSON.stringify(await stage.api.get(`${PODS}/alone-too`))).toContain("ReadWriteOncePod");
    });

    await endPod(stage, use);

    const pod = await untilRunning(stage, "alone-too");
    await endUses(stage, { claim: use.claim, pod });
  });

  describe("a pool that fills up", () => {
    it("a volume is made where there is room, and a claim that fits nowhere waits and is told", IN_TURN, async () => {
      const free = (await roomFor(stage, "narrow", "node-1")) ?? 0;
      const size = String(free - 16 * MiB);
      const filler = await runUse(stage, { name: "filler", storageClass: "narrow", size, node: "node-1" });

      const placed = await runUse(stage, { name: "placed", storageClass: "narrow", size: "64Mi" });
      const large = await makeClaim(stage, { name: "large", storageClass: "narrow", size: "1Gi" });
      await makePod(stage, { name: "large", claim: "large" });

      expect(placed.pod.node).toBe("node-2");
      const about = { reason: "ProvisioningFailed", words: "no node has room for 1Gi" };
      await untilTold(stage, () => stage.events.on(large.uid), about);
      expect(stage.claims("default/large").at(-1)?.value).toMatchObject({ phase: "Pending" });
      await deletePod(stage, { name: "large" }, true);
      await deleteClaim(stage, large);
      await endUses(stage, filler, placed);
    });

    it("of 20 pods that race for 10 places 10 get one, and the others as soon as these are done", IN_TURN, async () => {
      const { uses, names, size } = await race(stage, "racer");

      expect(uses).toHaveLength(10);
      for (const name of NODES) {
        const place = { node: stage.node(name), pool: "narrow" };
        const { length, allocated } = await sizesIn(place);
        expect(length).toBe(uses.filter(({ pod }) => pod.node === name).length * size);
        expect(allocated).toBeGreaterThanOrEqual(length);
        expect(await freeBytes(place)).toBeLessThan(size);
      }
      expect(await pages.look("MooringPoolNearlyFull", { node: "node-1", pool: "narrow" })).toMatch(/^node-1 +narrow/m);
      await endUses(stage, ...uses);
      const others = await Promise.all(
        names.filter((name) => !uses.some(({ pod }) => pod.name === name)).map((name) => untilUse(stage, name)),
      );
      expect(others).toHaveLength(10);
      await endUses(stage, ...others);
    });
  });
});

describe("a kubelet that hangs while its pods are deleted by force, and their claims", () => {
  it("images stay until the last unmount, also that of a copy of the mounts, and an event names who holds them", async () => {
    const node = "node-2";
    const forced = await runUse(stage, { name: "forced", node, line: STUBBORN });
    const block = await runUse(stage, { name: "forced-block", node, isBlock: true, line: STUBBORN_BLOCK });
    const copied = await runUse(stage, { name: "copied", node });
    const copy = await copyMounts(stage, copied);
    const uses = [forced, block, copied];
    const images = uses.map(({ claim }) => `${claim.volume}.img`);
    const notes: string[] = [];
    {
      using _frozen = freezeKubelet(stage, node);
      notes.push(...(await Promise.all(uses.map((use) => deleteByForce(stage, use)))));
      await untilWrittenAfter(stage, forced, owner.clock.wallMs());
      expect(await filesIn({ node: stage.node(node), pool: "default" })).toEqual(expect.arrayContaining(images));
    }
    const delays = [await outlasted(stage, forced), await outlasted(stage, block)];
    const held = copied.claim.volume;
    await untilCopyAlone(held);
    const shown = await pages.look("MooringLocalVolumeDeleteStuck", { node, volume: held });
    for (const cause of [`VolumeFailedDelete .*${held}`, "^/dev/loop\\d+ ", `/proc/\\d+/mountinfo:.* /mnt `])
      expect(shown).toMatch(new RegExp(cause, "m"));
    expect(await filesIn({ node: stage.node(node), pool: "default" })).toContain(`${copied.claim.volume}.img`);
    const endedMs = owner.clock.wallMs();
    await copy.kill();
    const goneMs = await untilVolume(stage, copied.claim.volume, "gone");
    delays.push(goneMs - endedMs - stage.starvation(endedMs, goneMs));

    owner.say(`volumes outlasted their last mounts by ${delays.map(Math.round).join(", ")} ms`);
    expect(notes[0]).toContain(`held by pod ${forced.pod.uid}`);
    expect(notes[1]).toMatch(/held by (the loop device|pod)/);
    expect(Math.max(...delays)).toBeLessThan(GONE_LIMIT_MS);
  });
});

/** Waits until the node itself has the volume nowhere mounted any more. */
async function untilCopyAlone(volume: string): Promise<void> {
  await stage.until("a copy that is the last one", () => {
    expect(readFileSync(`/proc/${stage.node("node-2").pid()}/mountinfo`, "utf8")).not.toContain(volume);
  });
}

describe("a container of the provisioner that is killed again and again", () => {
  it.concurrent.each([
    { container: "keeper", node: "node-1" },
    { container: "provisioner", node: "node-2" },
  ] as const)("the $container, leaves nothing and makes nothing twice", async ({ container, node }) => {
    const names = Array.from({ length: 6 }, (_, index) => `${container}-${index}`);
    const uses = Promise.all(names.map((name) => runUse(stage, { name, node, size: "16Mi" })));
    // While it is started again there is nothing to kill.
    const kill = () => stage.until(`a ${container} to kill`, () => killContainer(stage, node, container));
    for (let round = 0; round < 2; round += 1) await kill();

    const made = await uses;
    const devices = made.map(deviceOf);
    const ended = endUses(stage, ...made);
    await kill();
    await ended;

    expect(new Set(devices).size).toBe(names.length);
  });
});

describe("a node that is rebooted, whose loop numbers others have taken", () => {
  it("gives each volume its own data, and none while the disk of its pool is missing or another one", async () => {
    const terms = { node: "node-1", isKept: true } as const;
    const stays = await runUse(stage, { ...terms, name: "stays" });
    const byHand = await runUse(stage, { ...terms, name: "by-hand" });
    const away = await runUse(stage, { ...terms, name: "away", storageClass: "loose" });
    for (const { pod } of [stays, byHand, away]) await inPod(stage, pod, `echo ${pod.name} > /data/own; sync`);
    const place = { node: stage.node("node-1"), pool: "loose" };
    await setProvisionerOn(stage, "node-1", false);

    const taken = await cutPower(stage, [stays, byHand, away]);
    await startWith(stage, "node-1", ["default", "narrow"]);

    await attachByHand(pages, "node-1", byHand);
    await untilOwn(byHand);
    await setProvisionerOn(stage, "node-1", true);
    await untilAttached(stays);
    await restartKubelet(stage, "node-1");
    await untilOwn(stays);
    expect(deviceOf(stays)).not.toBe(taken);
    const unavailable = { reason: "VolumeUnavailable", words: 'pool "loose"' };
    await untilTold(stage, () => toldOfVolume(stage, away.claim.volume), unavailable);
    await stage.until("no room in a pool that is missing", async () => {
      expect(await roomFor(stage, "loose", "node-1")).toBe(0);
    });
    expect([await filesIn(place), await runsAgain(away)]).toEqual([[], false]);
    await lookAtLost(away);
    const rescued = await rescue(stage, pages, { lost: away, pool: "loose", node: "node-2" });
    expect(await inPod(stage, rescued.pod, "cat /data/own")).toBe("away");

    const swapped = await makeDisk(owner, { node: place.node, name: "swapped" }, { filesystem: "xfs", size: "400M" });
    await mountDisk(place, swapped);
    await untilReadiness(stage, "node-1", "loose is");
    expect([await filesIn(place), await runsAgain(away)]).toEqual([[], false]);

    await unmountDisk(place);
    await mountDisk(place, stage.disk("node-1", "loose"));
    await untilAttached(away);
    await restartKubelet(stage, "node-1");
    await untilOwn(away);
    await endUses(stage, stays, byHand, away, rescued);
  });
});

/** What runbooks show of a pool that is missing, as soon as the provisioner that has just started has told of it. */
async function lookAtLost({ claim }: Use): Promise<void> {
  const meant = { node: "node-1", pool: "loose" } as const;
  const shown = {
    MooringPoolLost: /^node-1 +loose +missing +0 .*loose is lost: its folder/ms,
    MooringLocalVolumesUnavailable: new RegExp(`^volume without data .*${claim.volume}`, "m"),
    MooringProvisionerNotReady: /loose is lost: its folder/,
  };
  for (const [runbook, cause] of Object.entries(shown))
    await stage.until(runbook, async () => expect(await pages.look(runbook, meant)).toMatch(cause));
}

/** Waits until the kubelet of the node could mount the volume. */
async function untilAttached({ claim: { volume }, pod }: Use): Promise<void> {
  await stage.until(`the link of ${volume}`, async () => {
    expect([...(await linksOn(stage.node(pod.node))).keys()]).toContain(volume);
  });
}

/** Whether the container of a pod runs after the boot. */
async function runsAgain({ pod }: Use): Promise<boolean> {
  const { status } = v.parse(startedPod, await stage.api.get(`${PODS}/${pod.name}`));
  return status.containerStatuses.some(({ ready, restartCount }) => ready && restartCount > 0);
}

/** Waits until a pod runs again, and reads in it what it wrote before. */
async function untilOwn(use: Use): Promise<void> {
  await stage.until(`${use.pod.name} runs again`, async () => {
    if (!(await runsAgain(use))) throw new HarnessError(`it does not: ${lastOf(stage, use.pod.uid)}`);
  });
  expect(await inPod(stage, use.pod, "cat /data/own")).toBe(use.pod.name);
}

describe.concurrent("a node whose Node object is deleted, and that comes back with an empty disk", () => {
  it("has the volumes of its other disk, makes nothing anew for those that exist, and begins anew when it is forgotten", async () => {
    const node = "node-2";
    const whole = await runUse(stage, { node, isKept: true, name: "whole" });
    const lost = await runUse(stage, { node, isKept: true, name: "lost", storageClass: "loose" });
    for (const { pod } of [whole, lost]) await inPod(stage, pod, `echo ${pod.name} > /data/own; sync`);
    const place = { node: stage.node(node), pool: "loose" };

    await comeBackEmpty(stage, node, [whole, lost]);

    await untilOwn(whole);
    const unavailable = { reason: "VolumeUnavailable", words: 'pool "loose"' };
    await untilTold(stage, () => toldOfVolume(stage, lost.claim.volume), unavailable);
    await stage.until("a volume without data in the runbook", async () => {
      const shown = await pages.look("MooringLocalVolumesUnavailable", { node, pool: "loose" });
      expect(shown).toMatch(new RegExp(`^volume without data .*${lost.claim.volume}`, "m"));
    });
    expect(await metricOf(stage, node, "mooring_unavailable_volumes")).toBe(1);
    await askInVain(stage, { name: "fresh", storageClass: "loose", node });
    expect([await runsAgain(lost), isUsed(place)]).toEqual([false, false]);

    await expect(pages.follow("npm run -s local -- forget NODE --yes", { node })).rejects.toThrow("exists");
    await endUses(stage, whole);
    await forget(stage, pages, node);
    expect(stage.volumes(lost.claim.volume).at(-1)?.value).toBe("gone");
    expect(isUsed(place)).toBe(false);
    // A kubelet makes its Node object at its start only.
    await place.node.kubelet.restart();

    const fresh = await untilUse(stage, "fresh");
    expect([fresh.pod.node, await filesIn(place)]).toEqual([node, [`${fresh.claim.volume}.img`]]);
    await endUses(stage, fresh);
  });
});

describe.concurrent("an image whose PersistentVolume is gone", () => {
  it("is reported and kept, can be read by hand, and gets a PersistentVolume again", async () => {
    const node = "node-1";
    const kept = await runUse(stage, { name: "kept", node });
    const { volume } = kept.claim;
    await inPod(stage, kept.pod, "echo kept > /data/own; sync");
    await leaveImage(stage, kept);

    await stage.until("the orphan in the runbook", async () => {
      const shown = await pages.look("MooringImagesOrphaned", { node, volume });
      expect(shown).toMatch(new RegExp(`^image without volume .*${volume}`, "m"));
    });
    expect(await readByHand(stage, pages, { node, volume, file: "own" })).toBe("kept");
    const claim = await restoreByHand(stage, pages, { node, volume, storageClass: "ext4" });
    await makePod(stage, { name: "restored", claim: claim.name });
    const pod = await untilRunning(stage, "restored");

    expect(await inPod(stage, pod, "cat /data/own")).toBe("kept");
    await changeClaim(stage, claim, sized("48Mi"));
    await stage.until("a claim that is told of its growth", async () => {
      expect(JSON.stringify(await stage.api.get("/api/v1/namespaces/default/persistentvolumeclaims/restored"))).toMatch(
        MAY_RESIZE_EXT4 ? /"capacity":\{"storage":"48Mi"/ : /FileSystemResizePending/,
      );
    });
    await stage.api.patch(`/api/v1/persistentvolumes/${volume}`, { spec: { persistentVolumeReclaimPolicy: "Delete" } });
    await endUses(stage, { claim, pod });
    expect(await filesIn({ node: stage.node(node), pool: "default" })).not.toContain(`${volume}.img`);
  });
});

describe.concurrent("what somebody does to claims and volumes meanwhile", () => {
  const terms = { node: "node-1", storageClass: "narrow" } as const;

  it("a PersistentVolume that is deleted before its claim serves on, and goes with its image after the claim", async () => {
    const use = await runUse(stage, { ...terms, name: "volume-first" });
    const path = `${STORAGE_PATHS.volumes}/${use.claim.volume}`;

    await stage.api.remove(path);

    await inPod(stage, use.pod, "echo on > /data/own; sync");
    await endUses(stage, use);
    expect(await filesIn({ node: stage.node("node-1"), pool: "narrow" })).not.toContain(`${use.claim.volume}.img`);
  });

  it("a volume whose policy becomes Retain while its deletion waits stays, and goes when it becomes Delete again", async () => {
    const use = await runUse(stage, { ...terms, name: "retained" });
    const { volume } = use.claim;
    const copy = await copyMounts(stage, use);
    await endPod(stage, use);
    await deleteClaim(stage, use.claim);
    await untilTold(stage, () => toldOfVolume(stage, volume), { reason: "VolumeFailedDelete" });

    await setPolicy(stage, volume, "Retain");
    await untilLetGo(stage, volume);
    await copy.kill();

    // What the provisioner would do now, it has done by then.
    await endUses(stage, await runUse(stage, { ...terms, name: "after-retained" }));
    expect(stage.volumes(volume).at(-1)?.value).toBe("Released");
    expect(await filesIn({ node: stage.node("node-1"), pool: "narrow" })).toContain(`${volume}.img`);
    await setPolicy(stage, volume, "Delete");
    await untilVolume(stage, volume, "gone");
  });

  it("claims that are deleted while their volumes are made leave nothing", async () => {
    const moments = ["asked for", "an image", "a PersistentVolume"] as const;

    const ends = [...moments, ...moments].map((moment, index) => deleteAt(stage, `never-${index}`, moment));

    expect(await Promise.all(ends)).toHaveLength(6);
  });
});

describe("an update that brings agents and an aggregator, too", () => {
  it("running pods write on, what is claimed meanwhile is served, and what is deleted meanwhile goes", async () => {
    const counters = await runCounters(stage);
    const ending = await Promise.all(NODES.map((node) => runUse(stage, { name: `ends-${node}`, node })));
    const ground = await Promise.all(counters.map((use) => groundOf(stage, use)));

    const update = rollOutProvisioner(owner, stage.cluster, { pools: POOLS, hasMooring: true });
    const changes = ending.map((use) => changeWhileAway(stage, use, `begins-${use.pod.node}`));
    await Promise.all([update, ...changes]);
    const counts = await Promise.all(counters.map((use) => countOf(stage, use)));
    const begun = await Promise.all(NODES.map((node) => untilUse(stage, `begins-${node}`)));
    await Promise.all(ending.map(({ claim }) => untilVolume(stage, claim.volume, "gone")));

    expect(await Promise.all(counters.map((use) => groundOf(stage, use)))).toEqual(ground);
    for (const [index, use] of counters.entries())
      expect(await countOf(stage, use)).toBeGreaterThan(counts[index] ?? Number.NaN);
    await endUses(stage, ...counters, ...begun);
  });
});

describe.concurrent("beside agents and an aggregator", () => {
  it.each([
    { name: "seen", what: "folder", node: "node-1", isBlock: false },
    { name: "seen-raw", what: "raw device", node: "node-2", isBlock: true },
  ] as const)(
    "the claim of a volume that a pod has as a $what is Mounted, and then Unmounted since its last unmount",
    async ({ name, node, isBlock }) => {
      const use = await runUse(stage, { name, node, isBlock });

      await untilMounted(stage, use.claim);

      expect(await faultsOfEnd(stage, use)).toEqual([]);
      await deleteClaim(stage, use.claim);
      await untilVolume(stage, use.claim.volume, "gone");
    },
  );

  it("a claim that is deleted while a kubelet hangs stays, bound to its volume, until the unmount", async () => {
    const node = "node-2";
    const use = await runUse(stage, { name: "held", node, line: STUBBORN });
    const { volume } = use.claim;
    await untilMounted(stage, use.claim);
    {
      using _frozen = freezeKubelet(stage, node);
      await deletePod(stage, use.pod, true);
      await deleteClaim(stage, use.claim);
      await untilLaterClaimGone(stage, "after-held");
      await untilWrittenAfter(stage, use, owner.clock.wallMs());
      expect(stage.claims("default/held").at(-1)?.value).toMatchObject({ phase: "Bound", isDeleting: true });
      expect(stage.volumes(volume).at(-1)?.value).toBe("Bound");
    }
    expect(await outlasted(stage, use)).toBeLessThan(HELD_LIMIT_MS);
  });

  it("a pod that somebody put on a node without its volume is failed there, and the next one has the volume", async () => {
    const use = await runUse(stage, { name: "astray", node: "node-1" });
    await endPod(stage, use);

    const { failed, next } = await misplace(stage, use, "node-2");

    expect([failed.spec.nodeName, next.spec.nodeName]).toEqual(["node-2", "node-1"]);
    expect((await linksOn(stage.node("node-2"))).has(use.claim.volume)).toBe(false);
    await endMisplaced(stage, use);
    await deleteClaim(stage, use.claim);
    await untilVolume(stage, use.claim.volume, "gone");
  });
});

describe("at the end", () => {
  it.each(["MooringProvisionerDown", "MooringProvisionersAbsent"])("%s shows the provisioner", async (runbook) => {
    expect(await pages.look(runbook, { node: "node-1" })).toMatch(/mooring-provisioner|readyz check passed/);
  });

  it("every runbook of the provisioner was followed", () => {
    expect([...pages.looked].toSorted()).toEqual([...PROVISIONER_RUNBOOKS].toSorted());
  });

  it("the nodes have what PersistentVolumes name, and no more", async () => {
    await settleAccount(stage);
  });

  it("the API server refused nothing that the provisioners wanted", () => {
    const lines = provisionerLogs(stage);

    expect(lines.length).toBeGreaterThan(10);
    expect(faultsIn(lines)).toEqual([]);
  });
});
