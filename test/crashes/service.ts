import { createConnection, createServer, type Socket } from "node:net";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";

/** One address in front of the replicas, like a Service: each new connection goes to the replica that `leader` returns. */
export interface LeaderService {
  readonly url: string;
}

/**
 * Like a connection through a Service, it stays with its replica until either side closes it. Without a leader, connections are refused.
 */
export async function startLeaderService(owner: Owner, leader: () => number | undefined): Promise<LeaderService> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer({ noDelay: true }, (near) => {
    const port = leader();
    keep(near);
    near.on("error", () => near.destroy());
    if (port === undefined) {
      near.destroy();
      return;
    }
    const far = keep(createConnection({ host: "127.0.0.1", port, noDelay: true }));
    far.on("error", () => far.destroy());
    // A side that closes also closes the other, after the data on its way: no peer may wait for an answer that never comes.
    near.on("close", () => far.destroySoon());
    far.on("close", () => near.destroySoon());
    near.pipe(far);
    far.pipe(near);
  });
  owner.defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new HarnessError("the service has no port");
  return { url: `http://127.0.0.1:${address.port}` };
}
