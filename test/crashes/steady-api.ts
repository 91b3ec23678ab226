import { object, parse, string } from "valibot";
import type { ApiAnswer, ApiCall, ApiRequest } from "../rig/control-plane/api.ts";
import { explain, HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";

const LIMIT_MS = 60_000;
const AGAIN_MS = 200;

const named = object({ metadata: object({ name: string() }) });

/**
 * Asks until the API server answers: it is killed now and then, and for a moment after its start it knows nobody's rights. What is
 * created must have a name of its own, so that an answer that was lost does not create it twice.
 */
export function createSteadyCall(owner: Owner, api: ApiCall): ApiCall {
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

/** Of an object that is there already the first try may have been the one that created it. */
async function found(
  api: ApiCall,
  { method, path, body }: ApiRequest,
  { answer, tries }: { readonly answer: ApiAnswer; readonly tries: number },
): Promise<ApiAnswer> {
  if (method !== "POST" || answer.status !== 409 || tries === 1) return answer;
  return await api({ path: `${path}/${parse(named, body).metadata.name}` });
}
