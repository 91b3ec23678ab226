import type { Clock } from "../runtime/clock.ts";

/** What the guard needs of a socket. */
export interface GuardedSocket {
  readonly bytesRead: number;
  readonly destroy: (error: Error) => unknown;
  readonly once: (event: "close", listener: () => void) => unknown;
}

/**
 * Ends a connection from which nothing comes any more, though the peer is pinged each `pingMs`: it is gone without a word, or
 * something on the way has forgotten the connection. Two or three pings without an answer are proof. Nobody else notices: undici
 * sends pings and does not wait for their answers, and the kernel sends again for 15 minutes (tcp_retries2). Resolves when the
 * connection is closed.
 */
export async function guardPeer(
  socket: GuardedSocket,
  { clock, pingMs }: { readonly clock: Clock; readonly pingMs: number },
): Promise<void> {
  const closed = new AbortController();
  socket.once("close", () => closed.abort());
  let bytesRead = socket.bytesRead;
  let lookedAt = clock.monotonicMs();
  let heardAt = lookedAt;
  while (!closed.signal.aborted) {
    await clock.sleep(pingMs, closed.signal);
    const now = clock.monotonicMs();
    // When this process itself stood still, it has neither sent pings nor read answers.
    const hasSlept = now - lookedAt > 1.5 * pingMs;
    lookedAt = now;
    if (hasSlept || socket.bytesRead !== bytesRead) {
      bytesRead = socket.bytesRead;
      heardAt = now;
    } else if (now - heardAt >= 2 * pingMs) {
      socket.destroy(new Error(`the peer did not answer for ${Math.round(now - heardAt)} ms`));
    }
  }
}
