import type { Refusal } from "./fate.ts";
import type { Answer } from "./network.ts";

const TEXTS: Readonly<Record<Refusal["status"], readonly [reason: string, message: string]>> = {
  401: ["Unauthorized", "Unauthorized"],
  403: ["Forbidden", 'forbidden: User "mooring" cannot patch resource "any" in API group "" at the cluster scope'],
  409: [
    "Conflict",
    "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version",
  ],
  422: ["Invalid", "the object is invalid: spec: Forbidden: a webhook does not like it"],
  429: ["TooManyRequests", "too many requests, please try again later"],
  500: ["InternalError", "an error on the server has prevented the request from succeeding"],
  502: ["", "bad gateway"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: ["Timeout", "the server was unable to return a response in the time allotted"],
};

/** The answer in place of the server. A 502 is the HTML page of a proxy, without a `Status`. */
export function refusalAnswer({ status, retryAfterS }: Refusal): Answer {
  const [reason, message] = TEXTS[status];
  const headers = retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) };
  const body =
    reason === "" ? `<html>${message}</html>` : JSON.stringify({ kind: "Status", code: status, reason, message });
  return { status, headers, body };
}
