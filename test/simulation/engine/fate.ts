import type { HttpRequest } from "../../../common/kube/transport.ts";

/** A request on its way. */
export interface Call {
  /** The process that sends it. */
  readonly from: string;
  readonly to: "api" | "aggregator";
  /** What kind of request it is, as crash points and figures call it: `get pods`, `watch persistentvolumeclaims`, `apply claim status`. */
  readonly site: string;
  readonly request: HttpRequest;
}

/** What befalls one request; what is left out goes well. */
export interface Fate {
  /** How long it is on its way, milliseconds of true time; 0.3 unless told. Different ones reorder requests. */
  readonly requestMs?: number | undefined;
  /** How long the answer, or a piece of a stream that is sent now, is on its way back. Pieces of one stream stay in their order. */
  readonly answerMs?: (() => number) | undefined;
  /** Where it is lost: on the way there (nothing happens), or on the way back (it was done, and nobody learns of it). */
  readonly lost?: "request" | "answer" | undefined;
  /** After so long the sender learns of a loss by a connection that breaks; nothing: it never does, and gives up by itself. */
  readonly brokenAfterMs?: number | undefined;
  /** What answers in the server's place: a proxy, a limiter, an authorizer. Nothing is done. */
  readonly refusal?: Refusal | undefined;
  /** The server gets it again after so long, each time; only the first answer comes back. */
  readonly againAfterMs?: readonly number[] | undefined;
  /** Somebody on the way keeps a copy: each call of `deliver` brings it to the server, and nobody hears the answer. */
  readonly keep?: ((deliver: () => void) => void) | undefined;
  /** The connection is cut so long after the head of the answer: in the middle of a body or of a watch. */
  readonly cutAfterMs?: number | undefined;
  /** Which API server it reaches; the first unless told. */
  readonly server?: number | undefined;
  /** Done when it has reached the server, right before it is looked at: another writer that is quicker. */
  readonly meanwhile?: (() => void) | undefined;
}

/** An answer that is no success and comes from no object. */
export interface Refusal {
  readonly status: 401 | 403 | 409 | 422 | 429 | 500 | 502 | 503 | 504;
  /** `Retry-After`, whole seconds. */
  readonly retryAfterS?: number | undefined;
}

/** Decides what befalls each request. */
export type Weather = (call: Call) => Fate;

/** Nothing befalls anybody. */
export const CALM: Weather = () => ({});
