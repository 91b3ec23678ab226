import { connect } from "../../../common/kube/connection.ts";
import { type ByteTransport, type HttpRequest, readText } from "../../../common/kube/transport.ts";
import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { HarnessError } from "../../process/errors.ts";
import type { Owner } from "../../process/owner.ts";

/** Writes objects as an administrator who is in a hurry: many requests at a time over one connection. */
export interface ObjectWriter {
  /** Creates an object and answers it as JSON text. Who writes decides the field manager, as in a real cluster. */
  readonly create: (path: string, object: object, manager: string) => Promise<string>;
  /** Sets an object's status; the object goes with it, because an update costs the server less than a patch. */
  readonly setStatus: (path: string, object: object, manager: string) => Promise<void>;
}

export async function createWriter(owner: Owner, { kubeconfig }: ControlPlane): Promise<ObjectWriter> {
  const { transport } = await connect({ inCluster: false, kubeconfig }, {});
  owner.defer(() => transport.close());
  const { signal } = owner;
  const write = async (method: "POST" | "PUT", path: string, object: object): Promise<string> => {
    const headers = { accept: "application/json", "content-type": "application/json", "user-agent": "mooring-bench" };
    return await send({ transport, signal }, { method, path, headers, body: JSON.stringify(object) });
  };
  return {
    create: (path, object, manager) => write("POST", `${path}?fieldManager=${manager}`, object),
    setStatus: async (path, object, manager) => {
      await write("PUT", `${path}/status?fieldManager=${manager}`, object);
    },
  };
}

async function send(
  { transport, signal }: { readonly transport: ByteTransport; readonly signal: AbortSignal },
  request: HttpRequest,
): Promise<string> {
  const response = await transport.send(request, signal);
  const text = await readText(response);
  if (response.status < 300) return text;
  throw new HarnessError(`${request.method} ${request.path} was answered with ${response.status}: ${text}`);
}
