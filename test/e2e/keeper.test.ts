import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KeeperRequest } from "../../provisioner/protocol.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { type KeeperNode, loopsOf, newVolume, poolState, settingOf, startKeeperNode } from "./keeper/keeper-node.ts";

const MIB = 2 ** 20;

let owner: Owner;
beforeAll(async () => {
  owner = await openOwner();
});
afterAll(() => owner.close());

/** What every request about a volume names. */
function about({ pool }: KeeperNode, volume: string) {
  return { volume, pool: pool.name, poolId: pool.id };
}

/** Makes a volume that may be used; fails when the keeper refuses. */
async function made(node: KeeperNode, mib: number): Promise<{ volume: string; device: string }> {
  const volume = newVolume();
  const image = await node.ask({ verb: "make", ...about(node, volume), bytes: mib * MIB });
  if (!image.ok) throw new Error(image.message);
  const answer = await node.ask({ verb: "publish", ...about(node, volume) });
  if (!answer.ok) throw new Error(answer.message);
  return { volume, device: answer.image.device ?? "" };
}

async function remove(node: KeeperNode, volume: string): Promise<unknown> {
  return await node.ask({ verb: "remove", ...about(node, volume) });
}

const REMOVED = { ok: true, removed: true };

describe.each(["ext4", "xfs"] as const)("a pool on %s", (filesystem) => {
  let node: KeeperNode;
  beforeAll(async () => {
    node = await startKeeperNode(owner, { filesystem });
  });

  it("makes a volume, publishes it, grows it and removes it, each also when it is asked again", async () => {
    const volume = newVolume();
    const image = {
      volume,
      pool: "fast",
      bytes: 16 * MIB,
      state: "made",
    };
    const twice = async (request: KeeperRequest): Promise<readonly unknown[]> => [
      await node.ask(request),
      await node.ask(request),
    ];

    const makes = await twice({ verb: "make", ...about(node, volume), bytes: 16 * MIB });
    expect(makes).toEqual([
      { ok: true, image },
      { ok: true, image },
    ]);
    const [device = "", ...more] = loopsOf(volume);
    expect(more).toEqual([]);
    expect(device).toMatch(/^\/dev\/loop\d+$/);
    // A pod cannot write to it before a PersistentVolume is known to name it.
    expect(node.linkOf(volume)).toBeUndefined();
    expect(node.files().toSorted()).toEqual(["pool.json", `${volume}.made`]);

    const published = { ok: true, image: { ...image, state: "published", device } };
    expect(await twice({ verb: "publish", ...about(node, volume) })).toEqual([published, published]);
    expect(node.files()).toContain(`${volume}.img`);
    expect(node.linkOf(volume)).toBe(device);

    const grown = { ok: true, image: { ...published.image, bytes: 32 * MIB } };
    expect(await twice({ verb: "grow", ...about(node, volume), bytes: 32 * MIB })).toEqual([grown, grown]);
    expect(Number(settingOf(device, "size")) * 512).toBe(32 * MIB);
    expect(await node.ask({ verb: "grow", ...about(node, volume), bytes: 8 * MIB })).toEqual(grown);
    expect(await node.ask({ verb: "volumes" })).toEqual({ ok: true, images: [grown.image] });

    expect(await twice({ verb: "remove", ...about(node, volume) })).toEqual([REMOVED, { ok: true, removed: false }]);
    expect([loopsOf(volume), node.linkOf(volume), node.files()]).toEqual([[], undefined, ["pool.json"]]);
  });

  it("attaches with direct I/O, without discards, and so that the device stays", async () => {
    const { volume, device } = await made(node, 16);

    const settings = ["loop/dio", "loop/autoclear", "queue/discard_max_bytes"].map((name) => settingOf(device, name));
    expect(settings).toEqual(["1", "0", "0"]);
    expect(await remove(node, volume)).toEqual(REMOVED);
  });

  it("allocates all of a volume's space at once, which a new filesystem on it does not free", async () => {
    const before = await poolState(node);
    const { volume } = await made(node, 64);
    const taken = await poolState(node);

    await node.shell(`mkfs.ext4 -q /run/mooring/volumes/${volume}`);
    const formatted = await poolState(node);

    expect(before.freeBytes - taken.freeBytes).toBeGreaterThanOrEqual(64 * MIB);
    expect(Math.abs(formatted.freeBytes - taken.freeBytes)).toBeLessThan(MIB);
    expect(await remove(node, volume)).toEqual(REMOVED);
  });

  it("counts the space of a hole that a volume's user made as the volume's own", async () => {
    const { volume } = await made(node, 64);
    const before = await poolState(node);

    await node.shell(`fallocate --punch-hole --offset 0 --length 32M '${node.pool.path}/${volume}.img'`);
    await node.shell("sync");
    const after = await poolState(node);

    expect(Math.abs(after.freeBytes - before.freeBytes)).toBeLessThan(MIB);
    expect(await remove(node, volume)).toEqual(REMOVED);
  });

  it("gives the next owner zeros, whatever the earlier one wrote", async () => {
    const mib = Math.floor(((await poolState(node)).freeBytes / MIB) * 0.6);
    const first = await made(node, mib);
    // More than half of the room: the second volume cannot but get blocks of the first.
    await node.shell(`yes secret | dd of=${first.device} bs=1M count=${mib} iflag=fullblock conv=fsync status=none`);
    expect(await node.print(`head -c 6 ${first.device}`)).toBe("secret");
    expect(await remove(node, first.volume)).toEqual(REMOVED);

    const second = await made(node, mib);
    await node.shell(`cmp --bytes=${mib * MIB} ${second.device} /dev/zero`);

    expect(await remove(node, second.volume)).toEqual(REMOVED);
  });

  it("refuses a volume without space for it, reports how much there is, and leaves nothing behind", async () => {
    const { freeBytes } = await poolState(node);
    const volume = newVolume();

    const answer = await node.ask({ verb: "make", ...about(node, volume), bytes: freeBytes + MIB });

    expect(answer).toEqual({
      ok: false,
      code: "no-space",
      message: expect.stringContaining(`${freeBytes} bytes left`),
    });
    expect([node.files(), loopsOf(volume), node.linkOf(volume)]).toEqual([["pool.json"], [], undefined]);
  });

  it("refuses to grow beyond the free space, and leaves the volume unchanged", async () => {
    const { volume, device } = await made(node, 16);
    const { freeBytes } = await poolState(node);

    const answer = await node.ask({ verb: "grow", ...about(node, volume), bytes: freeBytes + 32 * MIB });

    expect(answer).toMatchObject({ ok: false, code: "no-space" });
    expect(Number(settingOf(device, "size")) * 512).toBe(16 * MIB);
    expect((await poolState(node)).freeBytes).toBe(freeBytes);
    expect(await remove(node, volume)).toEqual(REMOVED);
  });

  it("creates ten of twenty concurrent volumes where there is space for ten", async () => {
    const { freeBytes } = await poolState(node);
    const bytes = Math.floor(freeBytes / 10.5 / MIB) * MIB;
    const volumes = Array.from({ length: 20 }, newVolume);

    const answers = await Promise.all(
      volumes.map((volume) => node.ask({ verb: "make", ...about(node, volume), bytes })),
    );

    const refused = answers.flatMap((answer) => (answer.ok ? [] : [answer.code]));
    expect(refused).toEqual(Array.from({ length: 10 }, () => "no-space"));
    expect(new Set(volumes.flatMap(loopsOf)).size).toBe(10);
    const blocks = await node.print(`stat --format=%b '${node.pool.path}'/*.made`);
    for (const count of blocks.trim().split("\n")) expect(Number(count) * 512).toBeGreaterThanOrEqual(bytes);
    expect(node.files()).toHaveLength(11);
    const removals = await Promise.all(volumes.map((volume) => remove(node, volume)));
    expect(removals.filter((one) => JSON.stringify(one) === JSON.stringify(REMOVED))).toHaveLength(10);
    expect((await poolState(node)).freeBytes).toBeGreaterThan(freeBytes - MIB);
  });
});

describe("a volume in use", () => {
  let node: KeeperNode;
  beforeAll(async () => {
    node = await startKeeperNode(owner, { filesystem: "ext4" });
  });

  /** Asks for a removal while the volume is used in a way, and again after that. */
  async function removeAround(volume: string, { begin, end }: { begin: string; end: string }) {
    await node.shell(begin);
    const during = await remove(node, volume);
    const image = await node.ask({ verb: "volumes" });
    await node.shell(end);
    const after = await remove(node, volume);
    return { during, image, after };
  }

  it.each([
    {
      name: "mounted on the node",
      begin: (link: string, at: string) => `mount ${link} ${at}`,
      end: (at: string) => `umount ${at}`,
      by: (at: string) => `held by the mount ${at}`,
    },
    {
      name: "mounted in a pod",
      begin: (link: string, at: string) => `mkdir -p ${at}/pods/u-1/volumes && mount ${link} ${at}/pods/u-1/volumes`,
      end: (at: string) => `umount ${at}/pods/u-1/volumes`,
      by: (at: string) => `held by pod u-1 by the mount ${at}/pods/u-1/volumes`,
    },
    {
      name: "bound as a device, without a program that has it open",
      begin: (link: string, at: string) => `touch ${at}/dev && mount --bind $(readlink ${link}) ${at}/dev`,
      end: (at: string) => `umount ${at}/dev`,
      by: (at: string) => `held by the mount ${at}/dev`,
    },
    {
      name: "mounted in a private mount namespace that the node's table does not show",
      begin: (link: string, at: string) =>
        `mount ${link} ${at} && { unshare --mount --propagation private sleep 1000 > /dev/null 2>&1 & echo $! > ${at}.pid; } && ` +
        `while ! grep -q ' ${at} ' /proc/$(cat ${at}.pid)/mountinfo || [ /proc/self/ns/mnt -ef /proc/$(cat ${at}.pid)/ns/mnt ]; do :; done && umount ${at}`,
      end: (at: string) => `kill $(cat ${at}.pid) && wait || true`,
      by: () => "held by a mount in another mount namespace",
    },
    {
      name: "below another loop device",
      begin: (link: string, at: string) => `losetup --find --show $(readlink ${link}) > ${at}.loop`,
      end: (at: string) => `losetup --detach $(cat ${at}.loop)`,
      by: () => "held by the loop device /dev/loop",
    },
  ])("is not removed while it is $name, and is after that", async ({ begin, end, by }) => {
    const { volume } = await made(node, 16);
    const [link, at] = [`/run/mooring/volumes/${volume}`, `/run/use-${volume}`];
    await node.shell(`mkfs.ext4 -q ${link} && mkdir ${at}`);

    const { during, image, after } = await removeAround(volume, { begin: begin(link, at), end: end(at) });

    expect(during).toEqual({ ok: false, code: "in-use", message: expect.stringContaining(by(at)) });
    expect(image).toMatchObject({ images: [{ volume, state: "published", device: expect.any(String) }] });
    expect(after).toEqual(REMOVED);
  });

  it("is not removed while a program has its device open, and is after that", async () => {
    const { volume } = await made(node, 16);
    const { during, after } = await removeAround(volume, {
      begin: `exec 9< $(readlink /run/mooring/volumes/${volume})`,
      end: "exec 9<&-",
    });

    expect(during).toMatchObject({ ok: false, code: "in-use", message: expect.stringContaining("has /dev/loop") });
    expect(after).toEqual(REMOVED);
    expect([loopsOf(volume), node.files()]).toEqual([[], ["pool.json"]]);
  });

  it("stays attached after a refused removal when it is attached again, whichever process closes its device", async () => {
    const { volume, device } = await made(node, 16);
    await node.shell(`exec 9< ${device}`);
    await remove(node, volume);
    expect(node.linkOf(volume)).toBeUndefined();

    const attached = await node.ask({ verb: "attach", ...about(node, volume) });
    await node.shell("exec 9<&-");

    expect(attached).toMatchObject({ image: { device } });
    expect([loopsOf(volume), settingOf(device, "loop/autoclear"), node.linkOf(volume)]).toEqual([
      [device],
      "0",
      device,
    ]);
    expect(await remove(node, volume)).toEqual(REMOVED);
  });

  it("is not removed while two loop devices show it", async () => {
    const { volume } = await made(node, 16);
    const second = (await node.print(`losetup --find --show '${node.pool.path}/${volume}.img'`)).trim();

    const during = await remove(node, volume);
    await node.shell(`losetup --detach ${second}`);

    expect(during).toMatchObject({ code: "in-use", message: expect.stringContaining(second) });
    expect(await remove(node, volume)).toEqual(REMOVED);
  });

  it("is removed with all of its files, where one was copied by hand", async () => {
    const { volume } = await made(node, 16);
    await node.shell(
      `cd '${node.pool.path}' && cp ${volume}.img ${volume}.made && cp ${volume}.img ${volume}.partial && cd /`,
    );

    expect(await remove(node, volume)).toEqual(REMOVED);

    expect([node.files(), loopsOf(volume), node.linkOf(volume)]).toEqual([["pool.json"], [], undefined]);
  });

  it("frees the space also when its file was deleted by hand", async () => {
    const { freeBytes } = await poolState(node);
    const { volume } = await made(node, 64);
    await node.shell(`rm '${node.pool.path}/${volume}.img'`);

    expect(await remove(node, volume)).toEqual({ ok: true, removed: false });

    expect(loopsOf(volume)).toEqual([]);
    expect((await poolState(node)).freeBytes).toBeGreaterThan(freeBytes - MIB);
  });

  it("is not removed while the mount table cannot be read whole", async () => {
    const blind = await startKeeperNode(owner, { filesystem: "ext4", flags: ["--mountinfo", "/run/table"] });
    await blind.shell("cat /proc/self/mountinfo > /run/table");
    const { volume } = await made(blind, 16);

    await blind.shell("echo '40 1 7:' >> /run/table");
    const damaged = await remove(blind, volume);
    await blind.shell("rm /run/table");
    const absent = await remove(blind, volume);
    await blind.shell("cat /proc/self/mountinfo > /run/table");

    expect([damaged, absent]).toMatchObject([{ code: "failed" }, { code: "failed" }]);
    expect(await remove(blind, volume)).toEqual(REMOVED);
  });
});

describe("a pool", () => {
  it("whose disk was swapped has none of the volumes, and nothing is made in it for the former one", async () => {
    const node = await startKeeperNode(owner, { filesystem: "ext4" });
    const kept = await made(node, 16);
    // As a reboot does it: nothing is attached, and another disk is mounted there.
    await node.shell(`losetup --detach ${kept.device} && umount '${node.pool.path}'`);
    await node.mountDisk("other-disk", node.pool.path);
    const begun = await node.ask({ verb: "begin", pool: "fast" });

    const asked = [
      await node.ask({ verb: "attach", ...about(node, kept.volume) }),
      await node.ask({ verb: "make", ...about(node, newVolume()), bytes: 16 * MIB }),
      await remove(node, kept.volume),
    ];

    const lost = { ok: false, code: "pool-lost", message: expect.stringContaining("it is another pool") };
    expect(asked).toEqual([lost, lost, lost]);
    expect(begun).toMatchObject({ ok: true, pool: { state: "ready", id: expect.not.stringContaining(node.pool.id) } });
    expect(node.files()).toEqual(["pool.json"]);
    await node.shell(`umount '${node.pool.path}' && mount -o loop '${node.folder}/disk' '${node.pool.path}'`);
    expect(await node.ask({ verb: "attach", ...about(node, kept.volume) })).toMatchObject({ ok: true });
    expect(await remove(node, kept.volume)).toEqual(REMOVED);
  });

  it("whose disk is not mounted makes nothing on the disk below", async () => {
    const node = await startKeeperNode(owner, { filesystem: "ext4" });
    const { volume, device } = await made(node, 16);
    await node.shell(`losetup --detach ${device} && umount '${node.pool.path}'`);

    const asked = [
      await node.ask({ verb: "attach", ...about(node, volume) }),
      await node.ask({ verb: "make", ...about(node, newVolume()), bytes: 16 * MIB }),
      await remove(node, volume),
    ];

    expect(asked).toMatchObject(Array.from({ length: 3 }, () => ({ ok: false, code: "pool-lost" })));
    expect(await poolState(node)).toMatchObject({ state: "empty" });
    expect(node.files()).toEqual([]);
    await node.shell(`mount -o loop '${node.folder}/disk' '${node.pool.path}'`);
    expect(await remove(node, volume)).toEqual(REMOVED);
  });

  it.each([
    {
      name: "whose folder is missing",
      spoil: (path: string) => `umount --lazy '${path}' && rmdir '${path}'`,
      why: "missing",
    },
    { name: "whose UUID was deleted", spoil: (path: string) => `rm '${path}/pool.json'`, why: "no pool.json" },
    { name: "whose UUID is damaged", spoil: (path: string) => `echo {} > '${path}/pool.json'`, why: "damaged" },
    { name: "on a tmpfs", spoil: (path: string) => `mount -t tmpfs tmpfs '${path}'`, why: "neither ext4 nor XFS" },
    {
      name: "whose UUID is a link to a file that never ends",
      spoil: (path: string) => `ln -sf /dev/zero '${path}/pool.json'`,
      why: "damaged",
    },
  ])(
    "$name is lost: nothing is made, begun or removed",
    async ({ spoil, why }) => {
      const node = await startKeeperNode(owner, { filesystem: "ext4" });
      const { volume } = await made(node, 16);
      const files = node.files();
      await node.shell(spoil(node.pool.path));

      const asked = [
        await node.ask({ verb: "begin", pool: "fast" }),
        await node.ask({ verb: "make", ...about(node, newVolume()), bytes: 16 * MIB }),
        await remove(node, volume),
      ];

      const refusal = { ok: false, code: "pool-lost", message: expect.stringContaining(why) };
      expect(asked).toEqual([refusal, refusal, refusal]);
      expect(await poolState(node)).toMatchObject({ state: "lost", freeBytes: 0, why: expect.stringContaining(why) });
      expect(files).toContain(`${volume}.img`);
      expect(loopsOf(volume)).toHaveLength(1);
    },
    120_000,
  );

  it("keeps a fifth of a disk that others use, too, and all of it free for one that is its own", async () => {
    const own = await startKeeperNode(owner, { filesystem: "ext4" });
    const shared = await startKeeperNode(owner, { filesystem: "ext4", flags: ["--mountinfo", "/dev/null"] });

    const [ownState, sharedState] = [await poolState(own), await poolState(shared)];

    expect(ownState.totalBytes).toBe(sharedState.totalBytes);
    expect(ownState.freeBytes - sharedState.freeBytes).toBe(Math.ceil(ownState.totalBytes / 5));
  });

  it("on a disk with sectors of 4,096 bytes has volumes with such sectors, each time, and direct I/O", async () => {
    const node = await startKeeperNode(owner, { filesystem: "xfs", isMounted: false });
    const disk = `${node.folder}/large-sectors`;
    // Once it is mounted, the device goes with its mount.
    await node.shell(
      `truncate -s 320M '${disk}' && D=$(losetup --find --show --sector-size 4096 '${disk}') && mkfs.xfs -q $D && ` +
        `mount $D '${node.pool.path}' && losetup --detach $D`,
    );
    const begun = await node.ask({ verb: "begin", pool: "fast" });
    if (!begun.ok || begun.pool.id === undefined) throw new Error("the pool has not begun");
    const [volume, poolId] = [newVolume(), begun.pool.id];
    const place = { volume, pool: "fast", poolId };
    await node.ask({ verb: "make", ...place, bytes: 16 * MIB + 512 });

    const settings = async (): Promise<readonly unknown[]> => {
      const attached = await node.ask({ verb: "attach", ...place });
      const device = (attached.ok ? attached.image.device : undefined) ?? "";
      const shown = ["queue/logical_block_size", "loop/dio", "size"].map((name) => settingOf(device, name));
      await node.shell(`losetup --detach ${device}`);
      return shown;
    };

    const expected = ["4096", "1", String((16 * MIB + 4_096) / 512)];
    expect([await settings(), await settings()]).toEqual([expected, expected]);
    expect(await node.ask({ verb: "remove", ...place })).toEqual(REMOVED);
  });

  it("refuses images whose names are no regular files, and continues with others", async () => {
    const node = await startKeeperNode(owner, { filesystem: "ext4" });
    const [folder, link, pipe] = [newVolume(), newVolume(), newVolume()];
    await node.shell(
      `cd '${node.pool.path}' && mkdir ${folder}.img && ln -s /etc/passwd ${link}.img && mkfifo ${pipe}.img && touch 'pvc-x.img' '../escape' && cd /`,
    );

    for (const volume of [folder, link, pipe]) {
      expect(await node.ask({ verb: "attach", ...about(node, volume) })).toMatchObject({ code: "not-found" });
      expect(await node.ask({ verb: "make", ...about(node, volume), bytes: 16 * MIB })).toMatchObject({ ok: true });
      await node.ask({ verb: "publish", ...about(node, volume) });
    }
    const { volume } = await made(node, 16);

    expect(await node.print("cat /etc/passwd")).toContain("root");
    expect(await remove(node, volume)).toEqual(REMOVED);
  });
});
