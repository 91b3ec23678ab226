import * as v from "valibot";
import { createBackOff } from "../../common/kube/back-off.ts";
import type { KubeParts } from "../../common/kube/client.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";

/** Which cluster this is, for whoever must not take the word of another one's aggregator. */
export interface ClusterIdentity {
  /** UID of the namespace kube-system, which lives as long as the cluster; nothing while it could not be read. */
  readonly uid: () => string | undefined;
  /** Reads it once, however long that takes. Resolves when the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Without it nothing stops but the answers to who wants to be sure, so a right that is missing is asked for rarely. */
const RETRY = { firstMs: 1_000, maxMs: 600_000 } as const;
const FOR_EVER_MS = 86_400_000;

const namespace = v.object({ metadata: v.object({ uid: v.pipe(v.string(), v.minLength(1)) }) });

export function createClusterIdentity({ client, clock, random, logger }: KubeParts): ClusterIdentity {
  let uid: string | undefined;
  const backOff = createBackOff(random, RETRY);

  const read = async (signal: AbortSignal): Promise<number> => {
    try {
      const answer = await client.request({ method: "GET", path: "/api/v1/namespaces/kube-system" }, signal);
      uid = v.parse(namespace, answer).metadata.uid;
      return FOR_EVER_MS;
    } catch (error) {
      if (!(error instanceof MooringError || error instanceof v.ValiError)) throw error;
      if (!signal.aborted)
        logger.warn({ err: messageOf(error) }, "cluster not identified: its aggregator is not trusted");
      return backOff.next(error);
    }
  };

  return {
    uid: () => uid,
    run: async (signal) => {
      let waitMs = 0;
      while (!signal.aborted) {
        if (uid === undefined) waitMs = await read(signal);
        await clock.sleep(waitMs, signal);
      }
    },
  };
}
