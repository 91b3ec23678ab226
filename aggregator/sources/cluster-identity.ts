import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";

/** Which cluster this is, for whoever must not take the word of another one's aggregator. */
export interface ClusterIdentity {
  /** UID of the namespace kube-system, which lives as long as the cluster; nothing while it could not be read. */
  readonly uid: () => string | undefined;
  /** Reads it once, however long that takes. Resolves when the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Without it nothing stops but the answers to who wants to be sure, so a right that is missing is asked for rarely. */
const RETRY = { firstMs: 1_000, maxMs: 600_000 } as const;

const namespace = v.object({ metadata: v.object({ uid: v.pipe(v.string(), v.minLength(1)) }) });

export function createClusterIdentity(parts: KubeParts): ClusterIdentity {
  let uid: string | undefined;
  const task = async (signal: AbortSignal): Promise<void> => {
    const answer = await parts.client.request({ method: "GET", path: "/api/v1/namespaces/kube-system" }, signal);
    uid = v.parse(namespace, answer).metadata.uid;
  };
  const warn = (err: string): void =>
    parts.logger.warn({ err }, "cluster not identified: its aggregator is not trusted");
  const reading = { task, retry: RETRY, warn };
  return { uid: () => uid, run: (signal) => repeat(parts, reading, signal) };
}
