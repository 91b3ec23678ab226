import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { HarnessError } from "../process/errors.ts";
import type { Calls, Method } from "./calls.ts";
import { serviceDefinition } from "./services.ts";

/** A socket's path, with its end, must fit into the 108 bytes of `struct sockaddr_un`. */
const LONGEST_PATH = 107;

/** A gRPC server on a Unix socket. */
export interface SocketServer {
  /** Stops at once; running calls are given up. The socket is removed. */
  readonly close: () => void;
}

/** Serves what of each service has a method; the rest is answered `UNIMPLEMENTED`. A socket that a killed driver left behind is replaced. */
export async function serve(
  calls: Calls,
  socket: string,
  services: Readonly<Record<string, readonly Method[]>>,
): Promise<SocketServer> {
  if (Buffer.byteLength(socket) > LONGEST_PATH) throw new HarnessError(`the path of the socket ${socket} is too long`);
  mkdirSync(dirname(socket), { recursive: true });
  rmSync(socket, { force: true });
  const server = new Server();
  for (const [name, methods] of Object.entries(services)) {
    const handlers: UntypedServiceImplementation = {};
    for (const method of methods) handlers[method.name] = createHandler(calls, method);
    server.addService(serviceDefinition(name), handlers);
  }
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(new HarnessError(`cannot listen at ${socket}: ${error.message}`));
    });
  });
  return {
    close: () => {
      server.forceShutdown();
      rmSync(socket, { force: true });
    },
  };
}

function createHandler(calls: Calls, method: Method): handleUnaryCall<unknown, object> {
  return (call, callback) => {
    const given = new AbortController();
    call.on("cancelled", () => given.abort());
    const answered = calls.answer(method, call.request, given.signal).then((outcome) => {
      if (outcome.code === "OK") callback(null, outcome.answer);
      else callback({ code: status[outcome.code], details: outcome.message });
    });
    // A bug ends the driver: nobody shall take its silence for a slow volume.
    answered.catch((error: unknown) => {
      queueMicrotask(() => {
        throw error;
      });
    });
  };
}
