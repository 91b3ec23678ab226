import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";

/** Identifies the cluster to clients that must not accept the answers of another cluster's aggregator. */
export interface ClusterIdentity {
  /** UID of the namespace kube-system, which exists as long as the cluster; undefined before it is read. */
  readonly uid: () => string | undefined;
  /** Reads it once, with retries. Resolves when the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Only answers to clients that ask for the cluster depend on it, so a missing permission is tried rarely. */
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
