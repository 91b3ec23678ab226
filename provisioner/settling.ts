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
 * An earlier run of this provisioner may have been ended in the middle of a request. The API server ends each after a minute at most
 * (--request-timeout), so from then on nothing of it is on its way. Milliseconds.
 */
export const SETTLE_MS = 65_000;

/** When it is certain that what an earlier run began is done, and that the copy of the claims is not from before it. */
export interface Settling {
  readonly isSettled: () => boolean;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** `claims` may begin with a list that is older than an image that is found here. */
export function createSettling(
  { client, clock, logger }: KubeParts,
  { claims, settleMs }: { readonly claims: Informer<Stored>; readonly settleMs: number },
): Settling {
  let leastVersion: string | undefined;
  const isReached = (): boolean => {
    const reached = claims.resourceVersion();
    return leastVersion !== undefined && reached !== undefined && !isOlder(reached, leastVersion);
  };
  let isSettled = false;
  /** To find it out costs a list of all claims: only where an image has no volume. */
  let isWanted = false;
  const ask = async (signal: AbortSignal): Promise<void> => {
    const request = { path: "/api/v1/persistentvolumeclaims", query: { limit: "1" }, accept: METADATA_LIST };
    try {
      const answer = await client.request({ method: "GET", ...request }, signal);
      leastVersion = v.parse(listed, answer).metadata.resourceVersion;
    } catch (error) {
      // Asked again until there is an answer: until then no image is deleted.
      logger.debug({ err: messageOf(error) }, "the version of the claims is not known");
      if (!(error instanceof MooringError || error instanceof v.ValiError)) throw error;
    }
  };
  return {
    isSettled: () => {
      isWanted = true;
      return isSettled;
    },
    run: async (signal) => {
      await clock.sleep(settleMs, signal);
      while (!signal.aborted && !isSettled) {
        if (isWanted && leastVersion === undefined) await ask(signal);
        if (leastVersion !== undefined) claims.ensureAtLeast(leastVersion);
        isSettled = isReached();
        if (!isSettled) await clock.sleep(RETRY_MS, signal);
      }
      // Whoever runs these tasks together takes the first that ends for the end of all.
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
    },
  };
}
