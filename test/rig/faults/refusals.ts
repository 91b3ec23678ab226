import type { OutgoingHttpHeaders } from "node:http";
import type { Refusal } from "./fault.ts";

/** An answer that refuses. */
export interface RefusingAnswer {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/** The reason and message of a `Status`, as kube-apiserver 1.36 words them; a proxy in front of it says something else. */
const STATUSES: Readonly<Record<number, { readonly reason: string; readonly message: string }>> = {
  403: {
    reason: "Forbidden",
    message: 'User "faults" cannot list resource "things" in API group "" at the cluster scope',
  },
  410: { reason: "Expired", message: "too old resource version: 1 (2)" },
  422: {
    reason: "Invalid",
    message:
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
  },
  500: { reason: "InternalError", message: "Internal error occurred: etcdserver: leader changed" },
};

/** Texts that are no `Status`: of the API server's own limit on requests, and of a proxy without a server behind it. */
const TEXTS: Readonly<Record<number, string>> = {
  429: "Too many requests, please try again later.",
  503: "upstream connect error or disconnect/reset before headers",
};

/** The answer that refuses with this status. */
export function refusingAnswer({ status, retryAfter }: Refusal): RefusingAnswer {
  const asked = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  const object = statusObject(status);
  if (object === undefined) return { headers: { "content-type": "text/plain", ...asked }, body: TEXTS[status] ?? "" };
  return { headers: { "content-type": "application/json", ...asked }, body: JSON.stringify(object) };
}

/** The line that ends a watch with this code. */
export function errorEvent(code: number): Buffer {
  return Buffer.from(`${JSON.stringify({ type: "ERROR", object: statusObject(code) })}\n`);
}

function statusObject(code: number): object | undefined {
  const status = STATUSES[code];
  if (status === undefined) return undefined;
  // The server also offers to go on with a token that breaks the list's consistency: a client that takes this one is refused.
  const metadata = code === 410 ? { continue: "aW5jb25zaXN0ZW50" } : {};
  return { kind: "Status", apiVersion: "v1", metadata, status: "Failure", ...status, code };
}
