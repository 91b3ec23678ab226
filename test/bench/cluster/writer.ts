import { connect } from "../../../common/kube/connection.ts";
import { type HttpRequest, readText } from "../../../common/kube/transport.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";

/** Writes objects quickly: many requests at a time over one connection. */
export interface ObjectWriter {
  /**
   * Creates an object and returns its JSON; returns an existing one as it is. The account decides the field manager, as in a real cluster.
   */
  readonly create: (collection: string, object: NamedObject, manager: string) => Promise<string>;
  /** Sets an object's status; sends the whole object, because an update costs the server less than a patch. */
  readonly setStatus: (path: string, object: object, manager: string) => Promise<void>;
  /** Changes an object by a JSON merge patch. */
  readonly patch: (path: string, patch: object) => Promise<void>;
  /** Reads an object. */
  readonly applyStatus: (path: string, applied: object, manager: string) => Promise<void>;
  /** Answers what is there. */
  readonly read: (path: string, accept: string) => Promise<string>;
}

/** An object to create. */
export interface NamedObject {
  readonly metadata?: { readonly name?: string };
}

/** The tries for each request to an overloaded server. */
const TRIES = 10;
const PAUSE_MS = 2_000;

interface Answer {
  readonly status: number;
  readonly text: string;
}

export async function createWriter(
  owner: Owner,
  { kubeconfig }: Pick<ControlPlane, "kubeconfig">,
): Promise<ObjectWriter> {
  const { transport, authorization } = await connect({ inCluster: false, kubeconfig }, {});
  owner.defer(() => transport.close());
  const { clock, signal } = owner;
  const once = async (request: HttpRequest): Promise<Answer> => {
    try {
      const token = await authorization();
      const headers = { ...request.headers, ...(token === undefined ? {} : { authorization: token }) };
      const response = await transport.send({ ...request, headers }, signal);
      return { status: response.status, text: await readText(response) };
    } catch (error) {
      if (signal.aborted || !(error instanceof MooringError)) throw error;
      return { status: 503, text: error.message };
    }
  };
  const ask = async (request: HttpRequest): Promise<Answer> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await once(request);
      if ((answer.status < 500 && answer.status !== 429) || tries === TRIES) return answer;
      await clock.sleep(PAUSE_MS, signal);
    }
  };
  return {
    create: async (collection, object, manager) => {
      const request = requestOf("POST", `${collection}?fieldManager=${manager}`, object);
      const answer = await ask(request);
      if (answer.status !== 409) return accepted(request, answer);
      // An earlier run, or a try with a lost answer, has created it.
      const question = requestOf("GET", `${collection}/${object.metadata?.name}`);
      return accepted(question, await ask(question));
    },
    setStatus: async (path, object, manager) => {
      const request = requestOf("PUT", `${path}/status?fieldManager=${manager}`, object);
      accepted(request, await ask(request));
    },
    patch: async (path, patch) => {
      const request = requestOf("PATCH", path, patch);
      const headers = { ...request.headers, "content-type": "application/merge-patch+json" };
      accepted(request, await ask({ ...request, headers }));
    },
    applyStatus: async (path, applied, manager) => {
      const request = requestOf("PATCH", `${path}/status?fieldManager=${manager}&force=true`, applied);
      const headers = { ...request.headers, "content-type": "application/apply-patch+yaml" };
      accepted(request, await ask({ ...request, headers }));
    },
    read: async (path, accept) => {
      const question = { method: "GET", path, headers: { accept, "user-agent": "mooring-bench" } } as const;
      return accepted(question, await ask(question));
    },
  };
}

function requestOf(method: HttpRequest["method"], path: string, object?: object): HttpRequest {
  const headers = { accept: "application/json", "content-type": "application/json", "user-agent": "mooring-bench" };
  return { method, path, headers, ...(object === undefined ? {} : { body: JSON.stringify(object) }) };
}

function accepted({ method, path }: HttpRequest, { status, text }: Answer): string {
  if (status < 300) return text;
  throw new HarnessError(`${method} ${path} was answered with ${status}: ${text}`);
}
