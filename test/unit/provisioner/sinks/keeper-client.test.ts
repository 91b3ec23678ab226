import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { decodeRequest, MAX_REPLY_BYTES } from "../../../../provisioner/protocol.ts";
import { createKeeperClient, type KeeperClient } from "../../../../provisioner/sinks/keeper-client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";

const REMOVE = {
  verb: "remove",
  volume: "pvc-7f1e6d6c-3f0a-4c55-9a1e-0d5d3b1f2a10",
  pool: "fast",
  poolId: "0b9f6a3e-52c4-4d18-8a77-6f2f0f1b9c01",
} as const;
const REMOVED = '{"ok":true,"removed":true}\n';
const clock = createSystemClock();
const never = new AbortController().signal;

/** A server on a Unix socket that hands each connection to `serve`, and a client of it. */
async function startKeeper(serve: (socket: Socket) => void): Promise<{ socket: string; client: KeeperClient }> {
  const folder = mkdtempSync(join(tmpdir(), "keeper-client-"));
  const socket = join(folder, "keeper.sock");
  const sockets = new Set<Socket>();
  const server = createServer((connection) => {
    sockets.add(connection);
    connection.on("error", () => {});
    serve(connection);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(async () => {
    for (const one of sockets) one.destroy();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });
  return { socket, client: createKeeperClient({ clock }, { socket, deadlineMs: 60_000 }) };
}

/** Answers the first line of each connection with these pieces, one write each. */
function answering(...pieces: readonly string[]): (socket: Socket) => void {
  return (socket) => {
    socket.once("data", () => {
      for (const piece of pieces) socket.write(Buffer.from(piece));
    });
  };
}

describe("the keeper's client", () => {
  it("sends the request as one line that the keeper understands", async () => {
    const lines: string[] = [];
    const { client } = await startKeeper((socket) => {
      socket.once("data", (bytes) => {
        lines.push(bytes.toString("utf8"));
        socket.write(REMOVED);
      });
    });

    const answer = await client.ask(REMOVE, never);

    expect(answer).toEqual({ ok: true, removed: true });
    expect(lines.map((line) => decodeRequest(line))).toEqual([REMOVE]);
    expect(lines.join("")).toMatch(/\n$/);
  });

  it.each([
    {
      name: "a reply in pieces is put together",
      pieces: ['{"ok":tr', 'ue,"removed"', ":false}", "\n"],
      removed: false,
    },
    { name: "text after the line feed is not read", pieces: [`${REMOVED}{"ok"`], removed: true },
  ])("$name", async ({ pieces, removed }) => {
    const { client } = await startKeeper(answering(...pieces));

    expect(await client.ask(REMOVE, never)).toEqual({ ok: true, removed });
  });

  it("hands a refusal on with its code and its message, also one whose characters were cut in two", async () => {
    const refusal = { ok: false, code: "in-use", message: "held by the mount /größe" };
    const bytes = Buffer.from(`${JSON.stringify(refusal)}\n`);
    const cut = bytes.indexOf(Buffer.from("ö")) + 1;
    const { client } = await startKeeper((socket) => {
      socket.once("data", () => {
        socket.write(bytes.subarray(0, cut), () => socket.write(bytes.subarray(cut)));
      });
    });

    expect(await client.ask(REMOVE, never)).toEqual(refusal);
  });

  it.each([
    { name: "no JSON", reply: "hello\n", why: "not understood" },
    { name: "the reply to another verb", reply: '{"ok":true,"pools":[]}\n', why: "not understood" },
    {
      name: "a refusal with an unknown code",
      reply: '{"ok":false,"code":"tired","message":""}\n',
      why: "not understood",
    },
    { name: "a reply beyond the limit", reply: "x".repeat(MAX_REPLY_BYTES + 1), why: "longer than" },
  ])("takes a keeper that answers $name for away", async ({ reply, why }) => {
    const { client } = await startKeeper(answering(reply));

    const answer = await client.ask(REMOVE, never);

    expect(answer).toMatchObject({ ok: false, code: "keeper-away", message: expect.stringContaining(why) });
  });

  it.each([
    { name: "ends the connection at once", serve: (socket: Socket) => void socket.destroy() },
    { name: "ends it in the middle of a reply", serve: (socket: Socket) => void socket.end('{"ok":true') },
  ])("takes a keeper that $name for away", async ({ serve }) => {
    const { client } = await startKeeper(serve);

    expect(await client.ask(REMOVE, never)).toMatchObject({ ok: false, code: "keeper-away" });
  });

  it("takes a keeper without a socket for away", async () => {
    const client = createKeeperClient({ clock }, { socket: join(tmpdir(), "no-keeper.sock"), deadlineMs: 60_000 });

    expect(await client.ask(REMOVE, never)).toMatchObject({
      code: "keeper-away",
      message: expect.stringContaining("ENOENT"),
    });
  });

  it("times out a keeper without a reply at its deadline, and not before", async () => {
    let connected = (): void => {};
    const isConnected = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const { socket } = await startKeeper(() => connected());
    const fake = createFakeClock();
    const client = createKeeperClient({ clock: fake }, { socket, deadlineMs: 5_000 });

    let settled = false;
    const answer = client.ask(REMOVE, never).finally(() => {
      settled = true;
    });
    await isConnected;
    await fake.advance(4_999);
    expect(settled).toBe(false);
    await fake.advance(1);

    expect(await answer).toMatchObject({ code: "keeper-away", message: expect.stringContaining("5000 ms") });
  });

  it("ends when its signal is aborted, also before it began", async () => {
    const { client } = await startKeeper(() => {});
    const stop = new AbortController();

    const answers = [client.ask(REMOVE, stop.signal)];
    stop.abort(new Error("told to stop"));
    answers.push(client.ask(REMOVE, stop.signal));

    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ code: "keeper-away", message: expect.stringContaining("told to stop") });
  });

  it("finds a keeper that was started again, request by request", async () => {
    let served = 0;
    const { client } = await startKeeper((socket) => {
      served += 1;
      if (served === 1) socket.destroy();
      else answering(REMOVED)(socket);
    });

    const answers = [await client.ask(REMOVE, never), await client.ask(REMOVE, never)];

    expect(answers.map(({ ok }) => ok)).toEqual([false, true]);
  });
});
