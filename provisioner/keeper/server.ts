import { lchownSync } from "node:fs";
import { lstat, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Clock } from "../../common/runtime/clock.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { decodeRequest, MAX_REPLY_BYTES, MAX_REQUEST_BYTES } from "../protocol.ts";
import { refuse } from "./core/refusal.ts";
import type { Keeper, KeeperReply } from "./keeper.ts";
import { createLineReader } from "./line-reader.ts";
import { systemCode } from "./system-error.ts";

export interface KeeperServer {
  /** Accepts no more requests, and waits for the replies to those in progress. */
  readonly close: () => Promise<void>;
}

interface ServerParts {
  readonly clock: Clock;
  readonly keeper: Pick<Keeper, "answer">;
}

export interface ServerSettings {
  readonly socket: string;
  /** The group that may connect beside root; without one only root may. */
  readonly group?: number | undefined;
  readonly limits?: Partial<Limits>;
}

/** Limits per caller. */
interface Limits {
  readonly connections: number;
  /** For each request to arrive completely, and for each reply to be read. Milliseconds. */
  readonly lineMs: number;
}

/** The provisioner sends one request per volume at a time, and is the only caller. */
const LIMITS: Limits = { connections: 64, lineMs: 10_000 };
/** Leaves mode 0660. */
const MASK = 0o117;

/** Listens on a Unix socket. Throws `MooringError` "listen-failed", also where another keeper listens there. */
export async function serveKeeper({ clock, keeper }: ServerParts, settings: ServerSettings): Promise<KeeperServer> {
  const limits = { ...LIMITS, ...settings.limits };
  const stop = new AbortController();
  const conversations = new Set<Promise<void>>();
  const server = createServer((socket) => {
    const talk = converse(socket, { clock, keeper, lineMs: limits.lineMs, signal: stop.signal });
    conversations.add(talk);
    void talk.finally(() => conversations.delete(talk));
  });
  server.maxConnections = limits.connections;
  await listen(server, settings);
  // Where one connection cannot be accepted, the next one may be.
  server.on("error", () => {});
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      stop.abort();
      await Promise.all(conversations);
      await closed;
    },
  };
}

async function listen(server: Server, settings: ServerSettings): Promise<void> {
  const { socket, group } = settings;
  try {
    await removeStale(socket);
    await bind(server, socket);
    // Does not follow a link that the other container may have put there meanwhile.
    if (group !== undefined) lchownSync(socket, process.getuid?.() ?? 0, group);
  } catch (cause) {
    server.close();
    throw new MooringError("listen-failed", `cannot listen on ${socket}: ${messageOf(cause)}`, { cause });
  }
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const mask = process.umask(MASK);
    // The socket is created within this call, not later.
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
    process.umask(mask);
  });
}

/** A killed keeper leaves its socket behind. A socket that answers belongs to another keeper, and stays. */
async function removeStale(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) throw new Error("there is something that is no socket");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return;
    throw error;
  }
  if (await answers(path)) throw new Error("another process listens there");
  await unlink(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", end(true));
    socket.once("error", end(false));
  });
}

interface Conversation {
  readonly clock: Clock;
  readonly keeper: Pick<Keeper, "answer">;
  readonly lineMs: number;
  readonly signal: AbortSignal;
}

/** Handles request after request of one connection. Never rejects: a failure of the connection ends it. */
async function converse(socket: Socket, { clock, keeper, lineMs, signal }: Conversation): Promise<void> {
  // The caller has closed the connection: nobody reads the reply.
  socket.on("error", () => {});
  const lines = createLineReader(socket, MAX_REQUEST_BYTES);
  const withLimit = <T>(task: (limit: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline({ clock, signal }, lineMs, task);
  try {
    for (;;) {
      const line = await withLimit((limit) => lines.next(limit));
      if (line === undefined) return;
      const reply = await replyTo(keeper, line);
      // A finished reply is sent even during a stop.
      await withDeadline({ clock, signal: new AbortController().signal }, lineMs, (limit) =>
        send(socket, reply, limit),
      );
      if (line === "too-long") return;
    }
  } catch {
    // The caller was silent for too long or does not read, or the server stops.
  } finally {
    socket.destroy();
  }
}

async function replyTo(keeper: Pick<Keeper, "answer">, line: Buffer | "too-long"): Promise<KeeperReply> {
  if (line === "too-long") return refuse("invalid", `a request has at most ${MAX_REQUEST_BYTES} bytes`);
  const request = decodeRequest(line.toString("utf8"));
  return request.verb === "invalid" ? refuse("invalid", request.message) : await keeper.answer(request);
}

async function send(socket: Socket, reply: KeeperReply, limit: AbortSignal): Promise<void> {
  const line = `${JSON.stringify(reply)}\n`;
  const fits = Buffer.byteLength(line) <= MAX_REPLY_BYTES;
  const bytes = fits
    ? line
    : `${JSON.stringify(refuse("failed", `the reply is longer than ${MAX_REPLY_BYTES} bytes`))}\n`;
  await new Promise<void>((resolve, reject) => {
    const giveUp = (): void => reject(new Error("the reply is not taken"));
    limit.addEventListener("abort", giveUp, { once: true });
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
