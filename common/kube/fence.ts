import { MooringError } from "../runtime/errors.ts";
import type { KubeClient } from "./client.ts";

/**
 * A client that sends a write only while this process may act at the moment of sending; otherwise the write rejects with `MooringError`
 * "not-leading". Reads always pass.
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
