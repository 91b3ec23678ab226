import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import type { KeyPair } from "../control-plane/certificates.ts";
import { portOf } from "./relay.ts";

/** What clients of the proxy may speak; a server with HTTP/2 speaks HTTP/1.1 too, and the client chooses. */
export type Protocol = "h2" | "http/1.1";

/** A request and the answer to it, of either protocol. */
export interface Call {
  readonly request: IncomingMessage | Http2ServerRequest;
  readonly response: ServerResponse | Http2ServerResponse;
}

/** The side of the proxy that clients see: TLS with a certificate of its own. */
export interface Front {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** A TLS server at a free port of 127.0.0.1. */
export async function startFront(
  { certificate, key }: KeyPair,
  protocol: Protocol,
  serve: (call: Call) => void,
): Promise<Front> {
  const sockets = new Set<Socket>();
  const tls = { cert: certificate, key };
  const server =
    protocol === "h2"
      ? createSecureServer({ ...tls, allowHTTP1: true }, (request, response) => serve({ request, response }))
      : createServer(tls, (request, response) => serve({ request, response }));
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  // A client that breaks off is what this is made for.
  for (const event of ["tlsClientError", "sessionError", "clientError"]) {
    server.on(event, (_: Error, socket?: Partial<Socket>) => socket?.destroy?.());
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: portOf(server),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
