import * as v from "valibot";
import type { ApiAnswer } from "../../rig/control-plane/api.ts";

/** Nobody refused it: the API server did it, or would have in a dry run. */
export const NOBODY = "nobody";
/** No role of the account allows it. */
export const RBAC = "RBAC";

const status = v.object({ message: v.optional(v.string(), ""), reason: v.optional(v.string(), "") });

const POLICY = /ValidatingAdmissionPolicy '([^']+)\.mooring\.dev' with binding '[^']+' denied request: (.*)$/s;
/** k8s.io/apiserver: pkg/endpoints/handlers/responsewriters/errors.go. */
const AUTHORIZER = /User ".*" cannot \S+ (?:resource|path) "/s;

/**
 * Who refused a request, by the answer: `RBAC`, `<policy>: <message of its rule>`, `API <status> <reason>` for what the API server itself
 * will not take, or `nobody`.
 */
export function whoRefused({ status: code, text }: ApiAnswer): string {
  if (code < 300) return NOBODY;
  const { message, reason } = v.parse(status, parseJson(text));
  const [, policy, rule] = POLICY.exec(message) ?? [];
  if (policy !== undefined) return `${policy}: ${rule}`;
  return code === 403 && AUTHORIZER.test(message) ? RBAC : `API ${code} ${reason}: ${message}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Some refusals are plain words.
    return { message: text };
  }
}
