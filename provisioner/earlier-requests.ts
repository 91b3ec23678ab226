import * as v from "valibot";
import type { KubeParts } from "../common/kube/client.ts";
import { METADATA_LIST } from "../common/kube/collection.ts";
import type { Informer } from "../common/kube/informer.ts";
import { isOlder } from "../common/kube/resource-version.ts";
import type { Stored } from "../common/kube/store.ts";
import { MooringError, messageOf } from "../common/runtime/errors.ts";

const listed = v.object({ metadata: v.object({ resourceVersion: v.pipe(v.string(), v.minLength(1)) }) });
const RETRY_MS = 1_000;

/**
 * An earlier run of this provisioner may have been stopped in the middle of a request. The API server ends each request after a minute at
 * most (--request-timeout), so after this time none is in progress. Milliseconds.
 */
export const EARLIER_REQUESTS_MS = 65_000;

/** Shows when all requests of an earlier run have certainly ended, and the cached claims are not older than that. */
export interface EarlierRequests {
  readonly haveEnded: () => boolean;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** The first list of `claims` may be older than an image that is found here. */
export function createEarlierRequests(
  { client, clock, logger }: KubeParts,
  { claims, earlierRequestsMs }: { readonly claims: Informer<Stored>; readonly earlierRequestsMs: number },
): EarlierRequests {
  let leastVersion: string | undefined;
  const isReached = (): boolean => {
    const reached = claims.resourceVersion();
    return leastVersion !== undefined && reached !== undefined && !isOlder(reached, leastVersion);
  };
  let haveEnded = false;
  /** Set once needed, because it costs a list of all claims: only an image without a volume needs it. */
  let isWanted = false;
  const ask = async (signal: AbortSignal): Promise<void> => {
    const request = { path: "/api/v1/persistentvolumeclaims", query: { limit: "1" }, accept: METADATA_LIST };
    try {
      const answer = await client.request({ method: "GET", ...request }, signal);
      leastVersion = v.parse(listed, answer).metadata.resourceVersion;
    } catch (error) {
      // Repeated until there is an answer: until then no image is deleted.
      logger.debug({ err: messageOf(error) }, "the version of the claims is not known");
      if (!(error instanceof MooringError || error instanceof v.ValiError)) throw error;
    }
  };
  return {
    haveEnded: () => {
      isWanted = true;
      return haveEnded;
    },
    run: async (signal) => {
      await clock.sleep(earlierRequestsMs, signal);
      while (!signal.aborted && !haveEnded) {
        if (isWanted && leastVersion === undefined) await ask(signal);
        if (leastVersion !== undefined) claims.ensureAtLeast(leastVersion);
        haveEnded = isReached();
        if (!haveEnded) await clock.sleep(RETRY_MS, signal);
      }
      // The caller runs this together with other tasks, and stops all of them when one ends: so this ends only with the signal.
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
    },
  };
}
