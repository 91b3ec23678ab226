import { MooringError } from "../runtime/errors.ts";
import type { KubeClient } from "./client.ts";

/**
 * A client whose writes are sent only if they may be at the very moment of sending; else they reject with `MooringError`
 * "not-leading". Reads go through.
 */
export function fenceWrites(client: KubeClient, mayAct: () => boolean): KubeClient {
  const beforeSend = (): void => {
    if (!mayAct()) throw new MooringError("not-leading", "nothing was sent: another process may lead by now");
  };
  return {
    ...client,
    request: (request, signal) =>
      client.request(request.method === "GET" ? request : { ...request, beforeSend }, signal),
    open: (request, signal) => client.open(request.method === "GET" ? request : { ...request, beforeSend }, signal),
  };
}
