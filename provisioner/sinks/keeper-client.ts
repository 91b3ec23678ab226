import { connect } from "node:net";
import type { Clock } from "../../common/runtime/clock.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { messageOf } from "../../common/runtime/errors.ts";
import { decodeReply, type KeeperRefusal, type KeeperRequest, MAX_REPLY_BYTES, type ReplyOf } from "../protocol.ts";

/**
 * The keeper gave no usable reply: it does not run, did not finish in time, or has another protocol version. It may or may not have carried
 * out the request. Every request can be sent again.
 */
export interface KeeperAway {
  readonly ok: false;
  readonly code: "keeper-away";
  readonly message: string;
}

/** The outcome of a request. */
export type KeeperAnswer<Request extends KeeperRequest> = ReplyOf<Request["verb"]> | KeeperRefusal | KeeperAway;

/** Sends requests to the keeper of this node. */
export interface KeeperClient {
  /** Never rejects. The signal gives up the request; the keeper may still carry it out. */
  readonly ask: <Request extends KeeperRequest>(
    request: Request,
    signal: AbortSignal,
  ) => Promise<KeeperAnswer<Request>>;
}

interface KeeperAddress {
  /** Path of the keeper's Unix socket. */
  readonly socket: string;
  /** From the connection to the whole reply. Reserving a large image on a slow disk takes some seconds. */
  readonly deadlineMs: number;
}

/** Opens a connection for each request, so it needs no notice of a keeper's restart. */
export function createKeeperClient(
  { clock }: { readonly clock: Clock },
  { socket, deadlineMs }: KeeperAddress,
): KeeperClient {
  return {
    ask: async (request, signal) => {
      const line = `${JSON.stringify(request)}\n`;
      try {
        const reply = await withDeadline({ clock, signal }, deadlineMs, (limit) => exchange(socket, line, limit));
        return decodeReply(request.verb, reply) ?? away("the keeper's reply is not understood");
      } catch (error) {
        return away(`no reply from the keeper: ${messageOf(error)}`);
      }
    },
  };
}

function away(message: string): KeeperAway {
  return { ok: false, code: "keeper-away", message };
}

/** Sends one line and returns the first line of the reply. */
async function exchange(path: string, line: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const socket = connect(path);
  const giveUp = (): void => void socket.destroy(new Error(messageOf(signal.reason)));
  signal.addEventListener("abort", giveUp);
  try {
    socket.write(line);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of socket) {
      const bytes = Buffer.from(chunk);
      const end = bytes.indexOf("\n");
      chunks.push(end === -1 ? bytes : bytes.subarray(0, end));
      size += bytes.length;
      if (size > MAX_REPLY_BYTES) throw new Error(`the reply is longer than ${MAX_REPLY_BYTES} bytes`);
      if (end !== -1) return Buffer.concat(chunks).toString("utf8");
    }
    throw new Error("the connection ended before the reply was whole");
  } finally {
    signal.removeEventListener("abort", giveUp);
    socket.destroy();
  }
}
