import { isValiError } from "valibot";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import type {
  LiveClaim,
  LiveCsiDriver,
  LiveCsiNode,
  LiveJob,
  LiveNode,
  LiveRead,
  LiveVolume,
} from "../core/affinity/facts.ts";
import { readClaim, readCsiDriver, readCsiNode, readJob, readNode, readVolume } from "./affinity-objects.ts";
import { type ReadPod, readPod } from "./affinity-pod.ts";

/** Reads single objects from the API server itself, not from a cache: an answer is never older than its request. */
export interface AffinityReads {
  readonly pod: (namespace: string, name: string, signal: AbortSignal) => Promise<LiveRead<ReadPod>>;
  readonly claim: (namespace: string, name: string, signal: AbortSignal) => Promise<LiveRead<LiveClaim>>;
  readonly volume: (name: string, signal: AbortSignal) => Promise<LiveRead<LiveVolume>>;
  readonly node: (name: string, signal: AbortSignal) => Promise<LiveRead<LiveNode>>;
  readonly csiNode: (name: string, signal: AbortSignal) => Promise<LiveRead<LiveCsiNode>>;
  readonly csiDriver: (name: string, signal: AbortSignal) => Promise<LiveRead<LiveCsiDriver>>;
  readonly job: (namespace: string, name: string, signal: AbortSignal) => Promise<LiveRead<LiveJob>>;
  /** The kinds of objects that the account may not read, by the last try. */
  readonly forbidden: () => readonly string[];
}

interface ReadsParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly reads: Counter<"resource" | "outcome">;
}

/** How long an answer may take. Milliseconds. */
const ANSWER_MS = 10_000;

/** A kind of object, its path and how it is read. */
interface Kind<T> {
  readonly resource: string;
  readonly read: (object: unknown) => T;
}

export function createAffinityReads(parts: ReadsParts): AffinityReads {
  const forbidden = new Set<string>();
  const ask = async <T>(
    { resource, read }: Kind<T>,
    { folder, name }: { readonly folder: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<LiveRead<T>> => {
    const path = `${folder}/${resource}/${encodeURIComponent(name)}`;
    const answer = await get(parts, { path, name, read }, signal);
    parts.reads.increment({ resource, outcome: answer.outcome });
    if (answer.outcome === "forbidden") forbidden.add(resource);
    else if (answer.outcome !== "failed") forbidden.delete(resource);
    return answer.read;
  };
  const core = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
  const batch = (namespace: string): string => `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}`;
  const storage = "/apis/storage.k8s.io/v1";
  return {
    pod: (namespace, name, signal) =>
      ask({ resource: "pods", read: readPod }, { folder: core(namespace), name }, signal),
    claim: (namespace, name, signal) =>
      ask({ resource: "persistentvolumeclaims", read: readClaim }, { folder: core(namespace), name }, signal),
    volume: (name, signal) =>
      ask({ resource: "persistentvolumes", read: readVolume }, { folder: "/api/v1", name }, signal),
    node: (name, signal) => ask({ resource: "nodes", read: readNode }, { folder: "/api/v1", name }, signal),
    csiNode: (name, signal) => ask({ resource: "csinodes", read: readCsiNode }, { folder: storage, name }, signal),
    csiDriver: (name, signal) =>
      ask({ resource: "csidrivers", read: readCsiDriver }, { folder: storage, name }, signal),
    job: (namespace, name, signal) =>
      ask({ resource: "jobs", read: readJob }, { folder: batch(namespace), name }, signal),
    forbidden: () => [...forbidden],
  };
}

interface Answer<T> {
  readonly read: LiveRead<T>;
  readonly outcome: "value" | "missing" | "forbidden" | "failed";
}

/** One GET without a resource version: the API server answers with what etcd has now. */
async function get<T>(
  { client, clock }: Pick<ReadsParts, "client" | "clock">,
  { path, name, read }: { readonly path: string; readonly name: string; readonly read: (object: unknown) => T },
  signal: AbortSignal,
): Promise<Answer<T>> {
  try {
    const answer = await withDeadline({ clock, signal }, ANSWER_MS, (limited) =>
      client.request({ method: "GET", path }, limited),
    );
    return { read: { kind: "value", value: read(answer) }, outcome: "value" };
  } catch (error) {
    if (isValiError(error)) return unknown("the API server's answer was not understood");
    if (error instanceof ApiError) return refused(error, name);
    if (error instanceof MooringError) return unknown("the API server did not answer");
    throw error;
  }
}

function unknown(why: string): Answer<never> {
  return { read: { kind: "failed", why }, outcome: "failed" };
}

/** Only a 404 that names the object shows that it does not exist: a proxy, or a group that is not served, answers 404 as well. */
function refused({ status, reason, details }: ApiError, name: string): Answer<never> {
  if (status === 404 && reason === "NotFound" && details.name === name)
    return { read: { kind: "missing" }, outcome: "missing" };
  if (status !== 401 && status !== 403) return unknown(`the API server answered ${status}`);
  return { read: { kind: "failed", why: `the agent may not read it (${status})` }, outcome: "forbidden" };
}
