import { createConnection, createServer, type Socket } from "node:net";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";

/** One address in front of the replicas, as a Service has it: each new connection goes to where `leader` says at that moment. */
export interface LeaderService {
  readonly url: string;
}

/**
 * A connection stays where it went to, as one through a Service does, until either side ends it. Nobody is reached where nobody leads:
 * the connection is refused.
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
    // A half that breaks takes the other along, behind what it has brought: nobody must wait for an answer that nobody sends.
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
