import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { createFakeByteStream, type FakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeTransport, type FakeAnswer, type FakeTransport, json } from "../../../fakes/transport.ts";

/** An object as the API has it, as far as a test looks into it. */
export interface ApiObject {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly uid: string };
  readonly spec?: object;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** An API server with a few objects, of which pods and nodes can be watched. */
export interface FakeCluster {
  readonly transport: FakeTransport;
  /** Stores the object at its path, with a new resource version, and notifies the watches. */
  readonly put: (path: string, object: ApiObject) => void;
  readonly remove: (path: string) => void;
  readonly get: (path: string) => ApiObject | undefined;
  /** The events that were written. */
  readonly events: () => readonly {
    readonly reason: string;
    readonly action: string;
    readonly note: string;
    readonly metadata: { readonly name: string };
  }[];
  /** The requests, watches and lists left out, as `GET /path`. */
  readonly asked: () => readonly string[];
  /** Answers in the place of the API server, as long as it gives an answer; `serve` lets that one do what was asked of it. */
  intercept: (request: HttpRequest, serve: () => FakeAnswer) => FakeAnswer | undefined;
  /** Answers the question whether the policy is in force: the one request that is a dry run. */
  policy: () => FakeAnswer;
}

/** How an API server refuses what a policy forbids. */
export function denial(policy: string, rule = "an agent must not give a pod another phase than Failed"): FakeAnswer {
  const denied = `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${rule}`;
  return refusal(403, "Forbidden", { message: `pods "mooring-agent-1" is forbidden: ${denied}` });
}

const WATCHED = ["/api/v1/pods", "/api/v1/nodes"] as const;

export function createFakeCluster(): FakeCluster {
  const objects = new Map<string, ApiObject>();
  const watches = new Map<string, FakeByteStream>(WATCHED.map((path) => [path, createFakeByteStream()]));
  const events: ReturnType<FakeCluster["events"]>[number][] = [];
  let version = 100;

  const notify = (type: string, path: string, object: ApiObject): void => {
    const collection = path.includes("/pods/") ? "/api/v1/pods" : "/api/v1/nodes";
    if (path.includes("/pods/") || path.includes("/nodes/")) watches.get(collection)?.writeLine({ type, object });
  };
  const put = (path: string, object: ApiObject): ApiObject => {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const type = objects.has(path) ? "MODIFIED" : "ADDED";
    objects.set(path, stored);
    notify(type, path, stored);
    return stored;
  };
  const list = (collection: string): FakeAnswer => {
    const part = collection === "/api/v1/pods" ? "/pods/" : "/nodes/";
    const items = [...objects].filter(([path]) => path.includes(part)).map(([, object]) => object);
    return json({ metadata: { resourceVersion: String(version) }, items });
  };
  const serve = (request: HttpRequest): FakeAnswer => {
    const [path = "", query = ""] = request.path.split("?");
    const stream = watches.get(path);
    if (stream !== undefined) return query.includes("watch=true") ? { body: stream } : list(path);
    if (request.method === "POST") {
      events.push(JSON.parse(request.body ?? ""));
      return json({}, 201);
    }
    return changeOrRead({ objects, put, notify }, request, path);
  };
  const cluster: FakeCluster = {
    transport: createFakeTransport((request) => {
      if (isQuestion(request)) return cluster.policy();
      return cluster.intercept(request, () => serve(request)) ?? serve(request);
    }),
    put: (path, object) => void put(path, object),
    remove: (path) => {
      const object = objects.get(path);
      objects.delete(path);
      version += 1;
      if (object !== undefined) notify("DELETED", path, object);
    },
    get: (path) => objects.get(path),
    events: () => events,
    asked: () =>
      cluster.transport.requests
        .filter((request) => !watches.has(request.path.split("?")[0] ?? "") && !isQuestion(request))
        .map(({ method, path }) => `${method} ${path.split("?")[0]}`),
    intercept: () => undefined,
    policy: () => denial("mooring-agent.mooring.dev"),
  };
  return cluster;
}

function isQuestion({ path }: HttpRequest): boolean {
  return path.includes("dryRun=All");
}

interface Store {
  readonly objects: Map<string, ApiObject>;
  readonly put: (path: string, object: ApiObject) => ApiObject;
  readonly notify: (type: string, path: string, object: ApiObject) => void;
}

function changeOrRead({ objects, put, notify }: Store, { method, body }: HttpRequest, path: string): FakeAnswer {
  const place = path.replace(/\/status$/, "");
  const object = objects.get(place);
  const name = place.split("/").at(-1);
  if (object === undefined) return refusal(404, "NotFound", { details: { name } });
  if (method === "GET") return json(object);
  const change = JSON.parse(body ?? "");
  const wanted = method === "DELETE" ? change.preconditions : change.metadata;
  if (wanted.uid !== object.metadata.uid)
    return refusal(422, "Invalid", { details: { name, causes: [{ field: "metadata.uid" }] } });
  if (wanted.resourceVersion !== object.metadata.resourceVersion) return refusal(409, "Conflict");
  if (method === "DELETE") {
    objects.delete(place);
    notify("DELETED", place, object);
    return json(object);
  }
  const status = { ...object.status, ...change.status };
  return json(put(place, { ...object, metadata: { ...object.metadata, ...change.metadata }, status }));
}

/** A refusal as the API server words it. */
export function refusal(code: number, reason: string, more: object = {}): FakeAnswer {
  return json({ kind: "Status", code, reason, message: `${reason} it is`, ...more }, code);
}
