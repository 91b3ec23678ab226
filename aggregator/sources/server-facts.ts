import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";
import type { ServerVersion } from "../core/claims/write.ts";

/** Little depends on either fact, so a missing permission is tried rarely. */
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

/** An upgrade may go unnoticed for so long: another writer of Mooring's fields is noticed at once. */
const READ_AGAIN_MS = 3_600_000;

/** Managed clusters say `36+`. */
const number = v.pipe(v.string(), v.regex(/^\d+\D*$/), v.transform(Number.parseInt));
const answer = v.object({ major: number, minor: number });

/** The release of the API server. `onChange` receives each answer that differs from the one before, the first one included. */
export function createServerVersion(parts: KubeParts, onChange: (version: ServerVersion) => void) {
  let known: ServerVersion | undefined;
  const task = async (signal: AbortSignal): Promise<void> => {
    const version = v.parse(answer, await parts.client.request({ method: "GET", path: "/version" }, signal));
    const isNews = known?.major !== version.major || known.minor !== version.minor;
    known = version;
    if (isNews) onChange(version);
  };
  const warn = (err: string): void => parts.logger.warn({ err }, "version of the API server not read");
  return {
    version: () => known,
    /** Reads it now and then, as the cluster may be upgraded. Resolves when the signal is aborted. */
    run: (signal: AbortSignal) => repeat(parts, { task, everyMs: READ_AGAIN_MS, retry: RETRY, warn }, signal),
  };
}
