import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy on loopback that can hold back what clients send, and forward it later. */
export interface HoldingProxy {
  readonly port: number;
  readonly hold: () => void;
  /** How many bytes are kept. */
  readonly held: () => number;
  readonly release: () => void;
  readonly close: () => Promise<void>;
}

export async function startHoldingProxy(target: URL): Promise<HoldingProxy> {
  const sockets = new Set<Socket>();
  let isHolding = false;
  let kept: { readonly to: Socket; readonly chunk: Buffer }[] = [];
  const join = (client: Socket, upstream: Socket): void => {
    client.on("data", (chunk: Buffer) => {
      if (isHolding) kept.push({ to: upstream, chunk });
      else upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => client.write(chunk));
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(one);
      one.on("close", () => other.destroy());
      one.on("error", () => one.destroy());
    }
  };
  const near = { port: Number(target.port), host: target.hostname, noDelay: true };
  const server = createServer({ noDelay: true }, (client) => join(client, connect(near)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    hold: () => {
      isHolding = true;
    },
    held: () => kept.reduce((sum, { chunk }) => sum + chunk.byteLength, 0),
    release: () => {
      isHolding = false;
      for (const { to, chunk } of kept) to.write(chunk);
      kept = [];
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
