import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { serviceDefinition } from "../../csi/services.ts";

/** What a call was answered with. */
export interface CallAnswer {
  readonly code: string;
  /** The message of a success. */
  readonly answer: unknown;
  readonly details: string;
}

/** Calls a service on a Unix socket, as a kubelet does. */
export interface SocketClient {
  /** `deadlineMs` as a kubelet has one; the call is cancelled when it is over. */
  readonly call: (method: string, request?: object, deadlineMs?: number) => Promise<CallAnswer>;
  readonly close: () => void;
}

export function createSocketClient(socket: string, service: string): SocketClient {
  const definition = serviceDefinition(service);
  const client = new Client(`unix://${socket}`, credentials.createInsecure());
  return {
    call: (name, request = {}, deadlineMs = 20_000) => {
      const method = definition[name];
      if (method === undefined) throw new TypeError(`${service} has no ${name}`);
      const { path, requestSerialize, responseDeserialize } = method;
      return new Promise((resolve) => {
        // A driver that is being started again is waited for, as by a kubelet's next try.
        const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, ended);
        const timer = AbortSignal.timeout(deadlineMs);
        const cancel = (): void => call.cancel();
        timer.addEventListener("abort", cancel);
        function ended(error: ServiceError | null, answer?: unknown): void {
          timer.removeEventListener("abort", cancel);
          resolve({ code: status[error?.code ?? status.OK], answer, details: error?.details ?? "" });
        }
      });
    },
    close: () => client.close(),
  };
}
