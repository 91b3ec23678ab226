import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy on loopback whose connections can fall silent and stay open, as when a firewall has forgotten them. */
export interface FreezingProxy {
  readonly port: number;
  /** Forwards nothing more over the connections that there are; new ones work. */
  readonly freeze: () => void;
  /** How many connections there were. */
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

export async function startFreezingProxy(targetPort: number): Promise<FreezingProxy> {
  const sockets = new Set<Socket>();
  const live = new Set<Socket>();
  let connections = 0;
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from);
    live.add(from);
    from.on("data", (chunk) => {
      if (live.has(from)) to.write(chunk);
    });
    // Only an end that is forwarded reaches the other side.
    from.on("close", () => {
      if (live.has(from)) to.destroy();
    });
    from.on("error", () => from.destroy());
  };
  // Without it each answer would wait 40 ms for an acknowledgement.
  const server = createServer({ noDelay: true }, (client) => {
    connections += 1;
    const upstream = connect({ host: "127.0.0.1", port: targetPort, noDelay: true });
    forward(client, upstream);
    forward(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    freeze: () => live.clear(),
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
