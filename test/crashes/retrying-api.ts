import { object, parse, string } from "valibot";
import type { ApiAnswer, ApiCall, ApiRequest } from "../rig/control-plane/api.ts";
import { explain, HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";

const LIMIT_MS = 60_000;
const AGAIN_MS = 200;

const named = object({ metadata: object({ name: string() }) });

/**
 * Retries until the API server answers: it is killed now and then, and right after its start it knows no RBAC rules. New objects need
 * unique names, so that a retry after a lost answer does not create two.
 */
export function createRetryingCall(owner: Owner, api: ApiCall): ApiCall {
  return async (request) => {
    const { clock, signal } = owner;
    const until = clock.monotonicMs() + LIMIT_MS;
    for (let tries = 1; ; tries += 1) {
      const answer = await api(request).catch(explain);
      if (typeof answer !== "string" && !isPassing(answer)) return await found(api, request, { answer, tries });
      const why = typeof answer === "string" ? answer : `status ${answer.status}`;
      if (signal.aborted || clock.monotonicMs() > until) {
        throw new HarnessError(
          `${request.method ?? "GET"} ${request.path}: no answer for ${LIMIT_MS / 1000} s: ${why}`,
        );
      }
      await clock.sleep(AGAIN_MS, signal);
    }
  };
}

function isPassing({ status }: ApiAnswer): boolean {
  return status >= 500 || [401, 403, 429].includes(status);
}

/** An object that exists already may come from the first try. */
async function found(
  api: ApiCall,
  { method, path, body }: ApiRequest,
  { answer, tries }: { readonly answer: ApiAnswer; readonly tries: number },
): Promise<ApiAnswer> {
  if (method !== "POST" || answer.status !== 409 || tries === 1) return answer;
  return await api({ path: `${path}/${parse(named, body).metadata.name}` });
}
