import { connect, createServer, type Server, type Socket } from "node:net";
import type { Clock } from "../../../common/runtime/clock.ts";
import { HarnessError } from "../process/errors.ts";

/**
 * Passes TCP connections on to a server of this machine, and breaks them below TLS, as a network does. A connection is named
 * by the port from which the server sees it come.
 */
export interface Relay {
  readonly port: number;
  /** Whether the client of this connection hears what the server says. */
  readonly isOpen: (connection: number) => boolean;
  /** Sends RST to the client. Says whether there was such a connection. */
  readonly reset: (connection: number) => boolean;
  /**
   * From now on the peer is gone for the client: it hears nothing any more, and what it sends vanishes. (This machine's kernel
   * still acknowledges it: to a process that only matters once its send buffer is full.) Says whether there was such a connection.
   */
  readonly freeze: (connection: number) => boolean;
  /** How long each client has kept a connection whose peer was gone, so far; milliseconds. */
  readonly frozenMs: () => readonly number[];
  /** How many connections clients have made so far, and how many of them they have not closed. */
  readonly connections: () => { readonly ever: number; readonly now: number };
  /** Ends the rest. */
  readonly close: () => Promise<void>;
}

/** A relay at a free port of 127.0.0.1 to a port of 127.0.0.1, which need not be known before the first connection. */
export async function startRelay(clock: Clock, target: () => number): Promise<Relay> {
  const links = new Set<Link>();
  const frozen: Link[] = [];
  let ever = 0;
  // Each end of a connection is passed on for itself, and a frozen one not at all.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    ever += 1;
    const link = new Link(client, target(), clock);
    links.add(link);
    client.on("close", () => links.delete(link));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const find = (connection: number): Link | undefined => [...links].find((link) => link.name === connection);
  return {
    port: portOf(server),
    connections: () => ({ ever, now: links.size }),
    isOpen: (connection) => find(connection) !== undefined,
    reset: (connection) => find(connection)?.reset() ?? false,
    freeze: (connection) => {
      const link = find(connection);
      if (link === undefined) return false;
      frozen.push(link);
      link.freeze();
      return true;
    },
    frozenMs: () => frozen.map((link) => link.frozenMs),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const link of links) link.reset();
      await closed;
    },
  };
}

class Link {
  readonly #client: Socket;
  readonly #inner: Socket;
  readonly #clock: Clock;
  #frozenAt: number | undefined;
  #closedAt: number | undefined;

  constructor(client: Socket, target: number, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#inner = connect({ host: "127.0.0.1", port: target, allowHalfOpen: true, noDelay: true });
    client.pipe(this.#inner);
    this.#inner.pipe(client);
    for (const socket of [client, this.#inner]) {
      // "close" follows, which is all that matters here.
      socket.on("error", () => {});
    }
    client.on("close", () => {
      this.#closedAt = clock.monotonicMs();
      this.#inner.destroy();
    });
    client.on("end", () => {
      if (this.#frozenAt !== undefined) client.destroy();
    });
    this.#inner.on("close", () => {
      if (this.#frozenAt === undefined) client.end();
    });
  }

  get name(): number | undefined {
    return this.#frozenAt !== undefined || this.#client.destroyed ? undefined : this.#inner.localPort;
  }

  reset(): boolean {
    this.#client.resetAndDestroy();
    return true;
  }

  get frozenMs(): number {
    return (this.#closedAt ?? this.#clock.monotonicMs()) - (this.#frozenAt ?? 0);
  }

  freeze(): void {
    this.#frozenAt = this.#clock.monotonicMs();
    this.#client.unpipe();
    this.#inner.unpipe();
    // Read on, or the relay would not see the client close.
    this.#client.resume();
    this.#inner.destroy();
  }
}

/** The port at which a server listens. */
export function portOf(server: Pick<Server, "address">): number {
  const address = server.address();
  if (typeof address === "object" && address !== null) return address.port;
  throw new HarnessError("a server of the fault proxy does not listen");
}
