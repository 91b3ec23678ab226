import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";

/** Little depends on it, so a missing permission is tried rarely. */
const RETRY = { firstMs: 1_000, maxMs: 600_000 } as const;

const namespace = v.object({ metadata: v.object({ uid: v.pipe(v.string(), v.minLength(1)) }) });

/** Identifies the cluster to clients that must not accept the answers of another cluster's aggregator. */
export type ClusterIdentity = ReturnType<typeof createClusterIdentity>;

export function createClusterIdentity(parts: KubeParts) {
  let uid: string | undefined;
  const task = async (signal: AbortSignal): Promise<void> => {
    const answer = await parts.client.request({ method: "GET", path: "/api/v1/namespaces/kube-system" }, signal);
    uid = v.parse(namespace, answer).metadata.uid;
  };
  const warn = (err: string): void =>
    parts.logger.warn({ err }, "cluster not identified: its aggregator is not trusted");
  return {
    /** UID of the namespace kube-system, which exists as long as the cluster; undefined before it is read. */
    uid: () => uid,
    /** Reads it once, with retries. Resolves when the signal is aborted. */
    run: (signal: AbortSignal) => repeat(parts, { task, retry: RETRY, warn }, signal),
  };
}
