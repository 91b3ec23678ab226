import { existsSync } from "node:fs";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KeeperRequest, MAX_REQUEST_BYTES } from "../../provisioner/protocol.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import {
  type KeeperNode,
  loopsOf,
  MAIN,
  newVolume,
  poolState,
  settingOf,
  startKeeperNode,
} from "./keeper/keeper-node.ts";

const MIB = 2 ** 20;
/** More changes than any request takes. */
const MOST_STEPS = 40;
const REMOVED = { ok: true, removed: true };

let owner: Owner;
let node: KeeperNode;
beforeAll(async () => {
  owner = await openOwner();
  node = await startKeeperNode(owner, { filesystem: "xfs" });
});
afterAll(() => owner.close());

/** What every request about a volume names. */
function about(volume: string) {
  return { volume, pool: node.pool.name, poolId: node.pool.id };
}

/** The requests that stand between nothing and a published volume of 16 MiB. */
const made = (volume: string) => ({ verb: "make", ...about(volume), bytes: 16 * MIB }) as const;
const published = (volume: string) => ({ verb: "publish", ...about(volume) }) as const;

/** What there is of a volume. */
function traces(volume: string) {
  const files = node.files().filter((name) => name.startsWith(volume));
  return { files, loops: loopsOf(volume), link: node.linkOf(volume) };
}

/** Answers for each step at which the process died what then was there, and what the same request answered after it. */
async function dieAtEachStep(
  before: readonly ((volume: string) => KeeperRequest)[],
  request: (volume: string) => KeeperRequest,
) {
  const deaths: { readonly volume: string; readonly left: ReturnType<typeof traces>; readonly answer: unknown }[] = [];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const volume = newVolume();
    for (const one of before) expect(await node.ask(one(volume))).toMatchObject({ ok: true });
    const isDead = await node.dieAt(step, request(volume));
    const left = traces(volume);
    const answer = await node.ask(request(volume));
    deaths.push({ volume, left, answer });
    if (!isDead) return deaths;
  }
  throw new Error(`the request takes more than ${MOST_STEPS} steps`);
}

describe("a keeper that is killed at any step", () => {
  it("of making a volume leaves nothing that counts, or what the same request completes", async () => {
    const { freeBytes } = await poolState(node);

    const deaths = await dieAtEachStep([], made);

    expect(deaths.length).toBeGreaterThanOrEqual(8);
    for (const { volume, left, answer } of deaths) {
      expect(left.files.length).toBeLessThanOrEqual(1);
      const [device = "", ...more] = loopsOf(volume);
      expect(more).toEqual([]);
      expect(answer).toEqual({ ok: true, image: { volume, pool: "fast", bytes: 16 * MIB, state: "made" } });
      expect(traces(volume)).toEqual({ files: [`${volume}.made`], loops: [device], link: undefined });
      expect([settingOf(device, "queue/discard_max_bytes"), Number(settingOf(device, "size")) * 512]).toEqual([
        "0",
        16 * MIB,
      ]);
      expect(await node.ask({ verb: "remove", ...about(volume) })).toEqual(REMOVED);
    }
    expect((await poolState(node)).freeBytes).toBeGreaterThan(freeBytes - MIB);
  });

  it("of making a volume leaves what a removal takes away as well", async () => {
    const { freeBytes } = await poolState(node);
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const volume = newVolume();
      const isDead = await node.dieAt(step, made(volume));

      expect(await node.ask({ verb: "remove", ...about(volume) })).toMatchObject({ ok: true });
      expect(traces(volume)).toEqual({ files: [], loops: [], link: undefined });
      if (!isDead) break;
    }

    expect((await poolState(node)).freeBytes).toBeGreaterThan(freeBytes - MIB);
  });

  it("of publishing it leaves it made or published", async () => {
    const deaths = await dieAtEachStep([made], published);

    for (const { volume, left, answer } of deaths) {
      expect([[`${volume}.made`], [`${volume}.img`]]).toContainEqual(left.files);
      if (left.link !== undefined) expect(left.files).toEqual([`${volume}.img`]);
      const [device] = left.loops;
      expect(answer).toMatchObject({ ok: true, image: { state: "published", device } });
      expect(traces(volume)).toEqual({ files: [`${volume}.img`], loops: [device], link: device });
      expect(await node.ask({ verb: "remove", ...about(volume) })).toEqual(REMOVED);
    }
  });

  it("of growing it leaves all of the former content, and the same request completes it", async () => {
    const written = (volume: string): Promise<void> =>
      node.shell(`printf kept | dd of=/run/mooring/volumes/${volume} conv=notrunc,fsync status=none`);
    const grown = (volume: string) => ({ verb: "grow", ...about(volume), bytes: 32 * MIB }) as const;
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const volume = newVolume();
      await node.ask(made(volume));
      await node.ask(published(volume));
      await written(volume);
      const isDead = await node.dieAt(step, grown(volume));
      const answer = await node.ask(grown(volume));

      const [device = ""] = loopsOf(volume);
      expect(answer).toMatchObject({ ok: true, image: { bytes: 32 * MIB, device } });
      expect(Number(settingOf(device, "size")) * 512).toBe(32 * MIB);
      expect(await node.print(`head -c 4 ${device}`)).toBe("kept");
      expect(await node.ask({ verb: "remove", ...about(volume) })).toEqual(REMOVED);
      if (!isDead) return;
    }
    throw new Error("it never grew");
  });

  it("of removing it leaves no link to a device that is not its own, and the same request completes it", async () => {
    const { freeBytes } = await poolState(node);

    const deaths = await dieAtEachStep([made, published], (volume) => ({ verb: "remove", ...about(volume) }));

    expect(deaths.length).toBeGreaterThanOrEqual(7);
    for (const { volume, left, answer } of deaths) {
      if (left.link !== undefined) expect(left.loops).toEqual([left.link]);
      // A file that lost its content must not be taken for the volume any more.
      if (left.loops.length === 0 && left.files.length > 0)
        expect([[`${volume}.img`], [`${volume}.partial`]]).toContainEqual(left.files);
      expect(answer).toMatchObject({ ok: true });
      expect(traces(volume)).toEqual({ files: [], loops: [], link: undefined });
    }
    expect((await poolState(node)).freeBytes).toBeGreaterThan(freeBytes - MIB);
  });

  it("of beginning a pool leaves an empty one, or one that has begun", async () => {
    for (let step = 0; step < MOST_STEPS; step += 1) {
      await node.shell(`rm -f '${node.pool.path}'/pool.json*`);
      const isDead = await node.dieAt(step, { verb: "begin", pool: "fast" });
      const { state, id } = await poolState(node);
      expect(["empty", "ready"]).toContain(state);

      const begun = await node.ask({ verb: "begin", pool: "fast" });

      expect(begun).toMatchObject({ ok: true, pool: { state: "ready", id: id ?? expect.any(String) } });
      expect(node.files()).toEqual(["pool.json"]);
      if (!isDead) break;
    }
    await node.shell(`echo '{"id":"${node.pool.id}"}' > '${node.pool.path}/pool.json'`);
  });
});

describe("a keeper that is started again", () => {
  it("finds the device of a volume, and attaches it no second time", async () => {
    const volume = newVolume();
    await node.ask(made(volume));
    await node.ask(published(volume));
    const before = traces(volume);

    await node.restart();
    const attached = await node.ask({ verb: "attach", ...about(volume) });

    expect(attached).toMatchObject({ ok: true, image: { device: before.link } });
    expect(traces(volume)).toEqual(before);
    expect(await node.ask({ verb: "remove", ...about(volume) })).toEqual(REMOVED);
  });

  it("attaches each volume to its own image after a reboot, although its former device has another one", async () => {
    const [first, second] = [newVolume(), newVolume()];
    for (const volume of [first, second]) {
      await node.ask(made(volume));
      await node.ask(published(volume));
      await node.shell(`printf ${volume} | dd of=/run/mooring/volumes/${volume} conv=notrunc,fsync status=none`);
    }
    const [one, two] = [loopsOf(first)[0], loopsOf(second)[0]];
    // The links stay, as a reboot would not leave them: that is the worse case.
    await node.keeper.kill();
    await node.shell(`losetup --detach ${one} && losetup --detach ${two}`);
    await node.shell(`losetup ${one} '${node.pool.path}/${second}.img'`);

    await node.restart();
    for (const volume of [first, second]) await node.ask({ verb: "attach", ...about(volume) });

    for (const volume of [first, second]) {
      const [device, ...more] = loopsOf(volume);
      expect([node.linkOf(volume), more]).toEqual([device, []]);
      expect(await node.print(`head -c ${volume.length} /run/mooring/volumes/${volume}`)).toBe(volume);
    }
    for (const volume of [first, second]) expect(await node.ask({ verb: "remove", ...about(volume) })).toEqual(REMOVED);
  });

  it("removes the link of an image that is gone, and creates none again", async () => {
    const volume = newVolume();
    await node.ask(made(volume));
    await node.ask(published(volume));
    await node.shell(`losetup --detach ${loopsOf(volume)[0]} && rm '${node.pool.path}/${volume}.img'`);

    const attached = await node.ask({ verb: "attach", ...about(volume) });

    expect(attached).toMatchObject({ ok: false, code: "not-found" });
    expect(traces(volume)).toEqual({ files: [], loops: [], link: undefined });
  });
});

/** Sends bytes over a connection of its own; answers all that came back until the keeper ended it, or one line. */
function send(bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(node.socket);
    let text = "";
    const end = (): void => {
      socket.destroy();
      resolve(text);
    };
    socket.on("data", (chunk) => {
      text += chunk.toString("utf8");
      if (text.includes("\n")) end();
    });
    socket.on("error", end);
    socket.on("close", end);
    socket.write(bytes);
  });
}

describe("the keeper as a process", () => {
  it("has health, and ends by SIGTERM with nothing detached and no socket left", async () => {
    const volume = newVolume();
    await node.ask(made(volume));
    await node.ask(published(volume));
    const before = traces(volume);
    const [, health] = /"health":"([^"]+)"(?!.*"health")/s.exec(node.keeper.tail(100)) ?? [];

    const ready = await fetch(`${health}/readyz?verbose`);
    const exit = node.keeper.exited;
    await node.keeper.stop();

    expect([ready.status, await ready.text()]).toEqual([200, expect.stringContaining("[+]pools ok")]);
    expect(await exit).toEqual({ code: 0, signal: null });
    expect([traces(volume), existsSync(node.socket)]).toEqual([before, false]);
    await node.restart();
    expect(await node.ask({ verb: "remove", ...about(volume) })).toEqual(REMOVED);
  });

  it.each([
    {
      name: "CAP_SYS_ADMIN",
      command: "setpriv",
      args: ["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"],
      says: "it has no CAP_SYS_ADMIN",
    },
    {
      name: "loop devices in its /dev",
      command: "unshare",
      args: ["--mount", "sh", "-c", 'mount -t tmpfs tmpfs /dev && exec "$0" "$@"'],
      says: "/dev/loop-control cannot be opened (ENOENT)",
    },
  ])("exits at once without $name, and names who can grant it", async ({ name, command, args, says }) => {
    const flags = [
      "--pool",
      `fast=${node.pool.path}`,
      "--socket",
      `${node.socket}-2`,
      "--metrics-bind-address",
      "127.0.0.1:0",
    ];
    const spec = {
      name: `keeper-without-${name.slice(0, 4)}`,
      command,
      args: [...args, process.execPath, MAIN, ...flags],
    };
    const poor = owner.child(spec);

    await poor.start();
    const exit = await poor.exited;

    expect([exit.code, poor.tail()]).toEqual([1, expect.stringContaining(says)]);
    expect(existsSync(`${node.socket}-2`)).toBe(false);
  });

  it("does not take the socket of another that runs", async () => {
    const args = [
      MAIN,
      "--pool",
      `fast=${node.pool.path}`,
      "--socket",
      node.socket,
      "--metrics-bind-address",
      "127.0.0.1:0",
    ];
    const second = owner.child({ name: "second-keeper", command: process.execPath, args });

    await second.start();
    const exit = await second.exited;

    expect([exit.code, second.tail()]).toEqual([1, expect.stringContaining("another process listens there")]);
    expect((await poolState(node)).state).toBe("ready");
  });
});

describe("the keeper's socket", () => {
  const volume = newVolume();
  const request = (change: object): string =>
    `${JSON.stringify({ verb: "make", volume, pool: "fast", poolId: node.pool.id, bytes: MIB, ...change })}\n`;

  it.each([
    { name: "a line that is too long", bytes: () => "x".repeat(MAX_REQUEST_BYTES * 4) },
    { name: "binary", bytes: () => Buffer.from([0, 1, 2, 0xff, 0xfe, 0x0a]) },
    { name: "a path as a volume", bytes: () => request({ volume: "../../etc/passwd" }) },
    { name: "a volume with a path in it", bytes: () => request({ volume: `${volume}/../x` }) },
    { name: "a volume with a NUL", bytes: () => request({ volume: `${volume}\0` }) },
    { name: "a volume with a line feed", bytes: () => request({ volume: `${volume}\n` }) },
    { name: "a volume in capitals", bytes: () => request({ volume: volume.toUpperCase() }) },
    { name: "a path as a pool", bytes: () => request({ pool: "../fast" }) },
    { name: "a pool's prototype", bytes: () => request({ pool: "__proto__" }) },
    { name: "no bytes at all", bytes: () => request({ bytes: 0 }) },
    { name: "more bytes than there are", bytes: () => request({ bytes: 2 ** 60 }) },
    { name: "a half byte", bytes: () => request({ bytes: MIB + 0.5 }) },
    { name: "a file to make it from", bytes: () => request({ from: "/etc/shadow" }) },
    { name: "deeply nested lists", bytes: () => `${"[".repeat(2_000)}\n` },
  ])("gets invalid for $name, and nothing is made", async ({ bytes }) => {
    expect(JSON.parse(await send(bytes()))).toMatchObject({ ok: false, code: "invalid" });
    expect(node.files()).toEqual(["pool.json"]);
  });

  it("gets pool-lost for a pool that there is not", async () => {
    expect(JSON.parse(await send(request({ pool: "constructor" })))).toMatchObject({ ok: false, code: "pool-lost" });
  });

  it("answers despite partial lines, idle clients and a thousand connections", async () => {
    const sockets = Array.from({ length: 1_000 }, (_, at) => {
      const socket = connect(node.socket);
      socket.on("error", () => {});
      if (at % 2 === 0) socket.write('{"verb":"po');
      return socket;
    });
    await Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve).once("close", resolve))),
    );

    // Those that are silent lose their connections after ten seconds.
    const answered = async (): Promise<boolean> => (await node.ask({ verb: "pools" })).ok;
    const isStill = node.keeper.pid !== undefined;
    while (!(await answered())) await owner.clock.sleep(50, owner.signal);
    for (const socket of sockets) socket.destroy();

    expect([isStill, await answered(), node.keeper.pid !== undefined]).toEqual([true, true, true]);
  });
});
