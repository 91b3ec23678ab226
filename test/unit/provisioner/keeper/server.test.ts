import { existsSync, linkSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import type { KeeperReply } from "../../../../provisioner/keeper/keeper.ts";
import { serveKeeper } from "../../../../provisioner/keeper/server.ts";
import { type KeeperRequest, MAX_REQUEST_BYTES } from "../../../../provisioner/protocol.ts";
import { createFakeClock } from "../../../fakes/clock.ts";

const POOLS: KeeperReply = { ok: true, pools: [] };
const ASK = '{"verb":"pools"}\n';
const INVALID = { ok: false, code: "invalid" };

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), "keeper-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "keeper.sock");
}

interface Options {
  readonly socket?: string;
  readonly clock?: ReturnType<typeof createFakeClock>;
  readonly connections?: number;
  readonly answer?: (request: KeeperRequest) => Promise<KeeperReply>;
}

/** A server whose keeper by default has no pools. */
async function start(options: Options = {}) {
  const socket = options.socket ?? place();
  const asked: KeeperRequest[] = [];
  const answer = async (request: KeeperRequest): Promise<KeeperReply> => {
    asked.push(request);
    return (await options.answer?.(request)) ?? POOLS;
  };
  const limits = options.connections === undefined ? {} : { connections: options.connections };
  const clock = options.clock ?? createSystemClock();
  const server = await serveKeeper({ clock, keeper: { answer } }, { socket, limits });
  onTestFinished(() => server.close());
  return { server, socket, asked };
}

/** A connection, and everything that came over it once it is over. */
function dial(path: string): { socket: Socket; all: Promise<readonly unknown[]>; next: () => Promise<unknown> } {
  const socket = connect(path);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes.toString("utf8");
  });
  const lines = (): readonly unknown[] =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  let taken = 0;
  const next = async (): Promise<unknown> => {
    while (lines().length <= taken && !socket.closed) await new Promise((resolve) => socket.once("data", resolve));
    taken += 1;
    return lines()[taken - 1];
  };
  const all = new Promise<readonly unknown[]>((resolve) => socket.once("close", () => resolve(lines())));
  return { socket, all, next };
}

describe("the keeper's server", () => {
  it("answers request after request of one connection", async () => {
    const { socket, asked } = await start();
    const { socket: client, next } = dial(socket);

    client.write(ASK);
    const first = await next();
    client.write(`{"verb":"volumes"}\n${ASK}`);

    expect([first, await next(), await next()]).toEqual([POOLS, POOLS, POOLS]);
    expect(asked.map(({ verb }) => verb)).toEqual(["pools", "volumes", "pools"]);
  });

  it.each([
    { name: "no JSON", line: "pools" },
    { name: "nothing", line: "" },
    { name: "a verb that it does not know", line: '{"verb":"format"}' },
    { name: "a field too many", line: '{"verb":"pools","path":"/"}' },
    { name: "binary", line: Buffer.from([0, 255, 254, 1, 0x7b]) },
    { name: "a path as a volume", line: '{"verb":"remove","volume":"../../etc/passwd","pool":"a"}' },
  ])("answers $name with invalid, and the next request as any other", async ({ line }) => {
    const { socket, asked } = await start();
    const { socket: client, next } = dial(socket);

    client.write(line);
    client.write(`\n${ASK}`);

    expect(await next()).toMatchObject(INVALID);
    expect(await next()).toEqual(POOLS);
    expect(asked).toHaveLength(1);
  });

  it.each([
    { name: "without an end", bytes: "x".repeat(MAX_REQUEST_BYTES * 4) },
    { name: "with an end", bytes: `${"x".repeat(MAX_REQUEST_BYTES)}\n` },
  ])("answers a line that is too long $name with invalid, and ends the connection", async ({ bytes }) => {
    const { socket, asked } = await start();
    const { socket: client, all } = dial(socket);

    client.write(bytes);

    expect(await all).toEqual([expect.objectContaining(INVALID)]);
    expect(asked).toEqual([]);
  });

  it("takes a line of just the longest length", async () => {
    const { socket } = await start();
    const { socket: client, next } = dial(socket);

    client.write(`${ASK.trim().padEnd(MAX_REQUEST_BYTES - 1)}\n`);

    expect(await next()).toEqual(POOLS);
  });

  it("ends a connection that sends half a line and no more, at its time and not before", async () => {
    const clock = createFakeClock();
    const { socket } = await start({ clock });
    const { socket: client, next, all } = dial(socket);
    client.write(`${ASK}{"verb":`);
    await next();

    await clock.advance(9_999);
    expect(client.closed).toBe(false);
    await clock.advance(1);

    expect(await all).toEqual([POOLS]);
  });

  it("serves other requests while one takes long", async () => {
    const slow = Promise.withResolvers<KeeperReply>();
    const { socket } = await start({
      answer: ({ verb }) => (verb === "pools" ? Promise.resolve(POOLS) : slow.promise),
    });
    const first = dial(socket);
    first.socket.write('{"verb":"volumes"}\n');
    const second = dial(socket);

    second.socket.write(ASK);
    expect(await second.next()).toEqual(POOLS);
    slow.resolve({ ok: true, images: [] });

    expect(await first.next()).toEqual({ ok: true, images: [] });
  });

  it("takes no more connections than it is meant to, and one again when one has gone", async () => {
    const { socket } = await start({ connections: 2 });
    const kept = [dial(socket), dial(socket)];
    for (const { socket: client, next } of kept) {
      client.write(ASK);
      await next();
    }

    const third = dial(socket);
    third.socket.write(ASK);
    expect(await third.all).toEqual([]);
    kept[0]?.socket.end();
    await kept[0]?.all;
    const fourth = dial(socket);
    fourth.socket.write(ASK);

    expect(await fourth.next()).toEqual(POOLS);
  });

  it("stays alive when callers go away at any moment", async () => {
    const { socket } = await start();
    for (let round = 0; round < 50; round += 1) {
      const { socket: client } = dial(socket);
      client.write(ASK.slice(0, round));
      client.destroy();
    }
    const { socket: client, next } = dial(socket);

    client.write(ASK);

    expect(await next()).toEqual(POOLS);
  });

  it("accepts connections only from root and its group", async () => {
    const { socket } = await start();

    expect(statSync(socket).mode & 0o777).toBe(0o660);
  });

  it("replies to a request that it accepted before its stop, and then removes the socket", async () => {
    const slow = Promise.withResolvers<KeeperReply>();
    const begun = Promise.withResolvers<void>();
    const { socket, server } = await start({
      answer: () => {
        begun.resolve();
        return slow.promise;
      },
    });
    const { socket: client, all } = dial(socket);
    client.write(ASK);
    await begun.promise;

    const closed = server.close();
    slow.resolve(POOLS);
    await closed;

    expect(await all).toEqual([POOLS]);
    expect(existsSync(socket)).toBe(false);
  });

  it("refuses to take the place of another keeper that listens", async () => {
    const { socket } = await start();

    await expect(start({ socket })).rejects.toMatchObject({
      code: "listen-failed",
      message: /another process listens/,
    });
    const { socket: client, next } = dial(socket);
    client.write(ASK);

    expect(await next()).toEqual(POOLS);
  });

  it("refuses to replace what is no socket", async () => {
    const socket = place();
    writeFileSync(socket, "important");

    await expect(start({ socket })).rejects.toMatchObject({ code: "listen-failed", message: /no socket/ });
  });

  it("replaces the socket of a keeper that was killed", async () => {
    const socket = place();
    await leaveSocket(socket);
    expect(existsSync(socket)).toBe(true);

    await start({ socket });
    const { socket: client, next } = dial(socket);
    client.write(ASK);

    expect(await next()).toEqual(POOLS);
  });
});

/** A socket that no process listens on any more. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  const other = `${path}.other`;
  await new Promise<void>((resolve) => server.listen(other, resolve));
  linkSync(other, path);
  await new Promise((resolve) => server.close(resolve));
}
