import type { Clock } from "../runtime/clock.ts";

/** The part of a socket that the guard uses. */
export interface GuardedSocket {
  readonly bytesRead: number;
  readonly destroy: (error: Error) => unknown;
  readonly once: (event: "close", listener: () => void) => unknown;
}

/**
 * Closes a connection whose peer is pinged each `pingMs` and still sends nothing: the peer is gone, or a device on the way has dropped the
 * connection. Two or three pings without an answer prove it. Nothing else detects that: undici sends pings but does not wait for their
 * answers, and the kernel retransmits for 15 minutes (tcp_retries2). Resolves when the connection is closed.
 */
export async function guardPeer(
  socket: GuardedSocket,
  { clock, pingMs }: { readonly clock: Clock; readonly pingMs: number },
): Promise<void> {
  const closed = new AbortController();
  socket.once("close", () => closed.abort());
  let bytesRead = socket.bytesRead;
  let checkedAt = clock.monotonicMs();
  let receivedAt = checkedAt;
  while (!closed.signal.aborted) {
    await clock.sleep(pingMs, closed.signal);
    const now = clock.monotonicMs();
    // While this process itself was stopped, it neither sent pings nor read answers.
    const hasSlept = now - checkedAt > 1.5 * pingMs;
    checkedAt = now;
    if (hasSlept || socket.bytesRead !== bytesRead) {
      bytesRead = socket.bytesRead;
      receivedAt = now;
    } else if (now - receivedAt >= 2 * pingMs) {
      socket.destroy(new Error(`the peer did not answer for ${Math.round(now - receivedAt)} ms`));
    }
  }
}
