import type { HttpRequest } from "../../../common/kube/transport.ts";

/** A request on its way. */
export interface Call {
  /** The process that sends it. */
  readonly from: string;
  readonly to: "api" | "aggregator";
  /** The kind of request, as crash points and figures name it: `get pods`, `watch persistentvolumeclaims`, `apply claim status`. */
  readonly site: string;
  readonly request: HttpRequest;
}

/** The faults of one request. Without a field there is no such fault. */
export interface Fate {
  /** Time to the server, in milliseconds of true time; the default is 0.3. Different times reorder requests. */
  readonly requestMs?: number | undefined;
  /** Time back to the client, for the answer or for one piece of a stream. Pieces of one stream keep their order. */
  readonly answerMs?: (() => number) | undefined;
  /** Where it is lost: on the way there (nothing happens), or on the way back (the server has done it, and the client does not know). */
  readonly lost?: "request" | "answer" | undefined;
  /** The connection of a lost request breaks after this time; undefined: never, so that the client runs into its own timeout. */
  readonly brokenAfterMs?: number | undefined;
  /** The answer of a proxy, a limiter or an authorizer in place of the server, which never sees the request. */
  readonly refusal?: Refusal | undefined;
  /** Each entry repeats the request to the server after that time. Only the first answer comes back. */
  readonly againAfterMs?: readonly number[] | undefined;
  /** Keeps a copy of the request: each call of `deliver` sends it to the server once more, and drops the answer. */
  readonly keep?: ((deliver: () => void) => void) | undefined;
  /** The connection breaks this long after the head of the answer: within a body or a watch. */
  readonly cutAfterMs?: number | undefined;
  /** Index of the API server that it reaches; the default is the first. */
  readonly server?: number | undefined;
  /** Runs when the request has reached the server and before the server reads it: another, quicker writer. */
  readonly meanwhile?: (() => void) | undefined;
}

/** A refusal that comes from no object. */
export interface Refusal {
  readonly status: 401 | 403 | 409 | 422 | 429 | 500 | 502 | 503 | 504;
  /** `Retry-After`, whole seconds. */
  readonly retryAfterS?: number | undefined;
}

/** Decides the faults of each request. */
export type FaultPolicy = (call: Call) => Fate;

/** No faults at all. */
export const NO_FAULTS: FaultPolicy = () => ({});
