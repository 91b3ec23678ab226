import { ApiError } from "../common/kube/client.ts";
import { MooringError, messageOf } from "../common/runtime/errors.ts";
import type { Scope } from "./claim-list.ts";
import { printable } from "./table.ts";

/** The requested collection, and its scope. */
export interface RequestedList {
  /** The resource's name in RBAC. */
  readonly resource: string;
  /** The rest of a sentence. */
  readonly where: string;
  /** Further arguments of `kubectl auth can-i`. */
  readonly flag: string;
  /** Advice on what else may work. */
  readonly hint?: string;
}

/** The request, and its server. */
export interface Attempt {
  readonly server: string | undefined;
  readonly requested: RequestedList | undefined;
}

export function claimsIn(scope: Scope): RequestedList {
  const resource = "persistentvolumeclaims";
  if (scope !== "all") return { resource, where: ` in namespace ${scope.namespace}`, flag: ` -n ${scope.namespace}` };
  return {
    resource,
    where: " in all namespaces",
    flag: " -A",
    hint: "Or name one namespace that you may see with -n.",
  };
}

export const VOLUMES: RequestedList = { resource: "persistentvolumes", where: "", flag: "" };

/** An operational failure as lines for the reader: what happened, then what to do. Undefined for a bug. */
export function explain(error: unknown, attempt: Attempt): readonly string[] | undefined {
  const lines = linesFor(error, attempt);
  return lines?.map(printable);
}

function linesFor(error: unknown, attempt: Attempt): readonly string[] | undefined {
  if (error instanceof ApiError) return refusal(error, attempt);
  if (!(error instanceof MooringError)) return undefined;
  if (error.code === "kubeconfig-invalid") {
    return [firstLine(error.message), "Choose a cluster with --kubeconfig FILE, KUBECONFIG or --context NAME."];
  }
  if (error.code === "transport-failed") return unreachable(error, attempt);
  return [error.message];
}

function refusal({ status, message }: ApiError, { server, requested }: Attempt): readonly string[] {
  // "GET /path answered 403: why": the reader knows what was requested.
  const why = firstLine(message.replace(/^.*? answered \d+: /, ""));
  if (status === 401) {
    return [`The API server ${server} does not accept your credentials.`, "Log in again, or choose another --context."];
  }
  if (status === 403) {
    const { resource, where, flag, hint } = requested ?? claimsIn("all");
    return [
      `Forbidden: you lack the right "list ${resource}"${where}.`,
      `Ask for a role with it; "kubectl auth can-i list ${resource}${flag}" tells whether you have it.`,
      ...(hint === undefined ? [] : [hint]),
      `The API server said: ${why}`,
    ];
  }
  return [`The API server ${server} refused (${status}): ${why}`];
}

function unreachable(error: MooringError, { server }: Attempt): readonly string[] {
  return [
    `Cannot reach the API server ${server}: ${whyOf(error)}`,
    "Is it running, and is this the right cluster? Choose another with --context or --kubeconfig.",
  ];
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection broke",
  ENOTFOUND: "no such host name",
  EAI_AGAIN: "the host name cannot be resolved now",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
  ETIMEDOUT: "no answer in time",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time",
  UND_ERR_HEADERS_TIMEOUT: "no answer in time",
};

/** A short reason for a failure. */
export function whyOf(error: unknown): string {
  return printable(reasonOf(rootOf(error)));
}

/** The innermost cause. Several failed addresses make an AggregateError, whose own message is empty. */
function rootOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return rootOf(error.errors[0]);
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;
}

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const text = cause instanceof MooringError ? cause.message : messageOf(cause);
  return REASONS[code] ?? (firstLine(text) || code || "unknown reason");
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
