import { basename, dirname } from "node:path";
import type { KubeParts } from "../../common/kube/client.ts";
import { readIdentity } from "../../common/kube/identity.ts";
import { createInformer } from "../../common/kube/informer.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { createRotatingFolder, type FolderWatch } from "../../common/kube/rotating-file.ts";
import type { Stored } from "../../common/kube/store.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { type CheckResult, degraded, failed } from "../../common/runtime/health.ts";
import type { ServingIdentity, ServingPair } from "../../common/runtime/http-server.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import { SERVING_SECRET, servingPairOf } from "./certificate-store.ts";
import { textsOf } from "./objects.ts";
import { readPair } from "./pem.ts";

/** At which moment a certificate is checked, and in which role. */
export interface Asked {
  /** The clock that certificates expire by, milliseconds since the epoch. */
  readonly nowMs: number;
  /** This process issues missing certificates. */
  readonly leads: boolean;
}

/** The certificate that is served, and its source. */
export interface Serving extends ServingIdentity {
  /** Follows the source until the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly check: (asked: Asked) => CheckResult;
  /** When it expires, milliseconds since the epoch; undefined while there is none. */
  readonly endsAtMs: () => number | undefined;
}

/** How often files are checked; an unchanged file is not read (common/kube/rotating-file.ts). Milliseconds. */
const LOOK_MS = 1_000;

interface StoredPair extends Stored {
  readonly pair: ServingPair;
}

/** The certificate that the leader stored. All replicas serve it, so the next leader needs no new one. */
export function createSecretServing(parts: KubeParts, namespace: string): Serving {
  const shown = createShown(parts.logger);
  const secrets = createInformer<StoredPair>(parts, {
    collection: {
      path: `/api/v1/namespaces/${namespace}/secrets`,
      query: { fieldSelector: `metadata.name=${SERVING_SECRET}` },
      listsFrom: "cache",
    },
    project: (object) => {
      const identity = readIdentity(object);
      if (identity === undefined) throw new MooringError("list-invalid", "this is no Secret");
      return { ...identity, pair: servingPairOf(textsOf("Secret", object).texts) };
    },
    // A deleted certificate is served until there is another one.
    onChange: ({ kind, object }) => {
      if (kind !== "deleted") shown.show(object.pair);
    },
  });
  return {
    ...shown.serving,
    run: secrets.run,
    check: (asked) => {
      const result = shown.serving.check(asked);
      // A leader with external TLS issues nothing, so a rollout to a replica that waits for a certificate here would never end.
      return result.ok || asked.leads || !secrets.hasSynced() ? result : degraded(result.why);
    },
  };
}

/** Files that are managed externally, for example by cert-manager. */
export function createFileServing(
  parts: Pick<KubeParts, "clock" | "logger" | "random"> & { readonly watch?: FolderWatch },
  { certificateFile, keyFile }: { readonly certificateFile: string; readonly keyFile: string },
): Serving {
  const { logger } = parts;
  const shown = createShown(logger);
  const folders = [certificateFile, keyFile].map((file) => createRotatingFolder(dirname(file), parts));
  const files = [certificateFile, keyFile].map((file, index) => folders[index]?.file(basename(file)));
  const task = async (): Promise<void> => {
    // In a fixed order: of two missing files the message always names the same one.
    const [certificate = "", key = ""] = [await files[0]?.read(), await files[1]?.read()];
    shown.show({ certificate, key });
  };
  const warn = (err: string): void => logger.warn({ err }, "certificate cannot be read");
  return {
    ...shown.serving,
    run: async (signal) => {
      for (const folder of folders) folder.follow();
      await repeat(parts, { task, everyMs: LOOK_MS, retry: { firstMs: LOOK_MS, maxMs: LOOK_MS }, warn }, signal);
      await Promise.all(folders.map((folder) => folder.close()));
    },
  };
}

function createShown(logger: Logger) {
  const listeners = new Set<(pair: ServingPair) => void>();
  let current: { readonly pair: ServingPair; readonly endsAtMs: number } | undefined;
  let isBad = false;
  const serving: Omit<Serving, "run"> = {
    pair: () => current?.pair,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    endsAtMs: () => current?.endsAtMs,
    check: ({ nowMs }) => checkOf(current?.endsAtMs, nowMs),
  };
  /** What cannot be used, for example files in the middle of a change, leaves the previous certificate in place. */
  const show = (pair: ServingPair): void => {
    const isSame = pair.certificate === current?.pair.certificate && pair.key === current.pair.key;
    const read = isSame ? undefined : readPair(pair);
    const wasBad = isBad;
    isBad = !isSame && read === undefined;
    if (isBad && !wasBad) logger.warn({}, "certificate and key cannot be used, the one before is served on");
    if (read === undefined) return;
    current = { pair, endsAtMs: read.notAfterMs };
    logger.info({ names: read.names }, "new certificate served");
    for (const listener of listeners) listener(pair);
  };
  return { serving, show };
}

function checkOf(endsAtMs: number | undefined, nowMs: number): CheckResult {
  if (endsAtMs === undefined) return failed("there is no certificate yet: agents cannot connect");
  if (endsAtMs <= nowMs) return failed("the certificate has ended: agents refuse it");
  return { ok: true, detail: `it lasts for ${Math.floor((endsAtMs - nowMs) / 3_600_000)} h` };
}
