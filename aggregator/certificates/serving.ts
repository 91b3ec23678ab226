import { createPrivateKey } from "node:crypto";
import { basename, dirname } from "node:path";
import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { createRotatingFolder, type FolderWatch } from "../../common/kube/rotating-file.ts";
import { type Certificate, readCertificate } from "../../common/runtime/certificates.ts";
import { type CheckResult, failed } from "../../common/runtime/health.ts";
import type { ServingIdentity, ServingPair } from "../../common/runtime/http-server.ts";
import type { Logger } from "../../common/runtime/logger.ts";

/** The certificate that is served, and its source. */
export interface Serving extends ServingIdentity {
  /** Follows the source until the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** At this moment of the clock that certificates expire by, milliseconds since the epoch. */
  readonly check: (nowMs: number) => CheckResult;
  /** When it expires, milliseconds since the epoch; undefined while there is none. */
  readonly endsAtMs: () => number | undefined;
}

/** How often files are checked; an unchanged file is not read (common/kube/rotating-file.ts). Milliseconds. */
const LOOK_MS = 1_000;

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

/** What is served at this moment, and who is told of a change. */
export function createShown(logger: Logger) {
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
    check: (nowMs) => checkOf(current?.endsAtMs, nowMs),
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

/** The certificate of a pair; undefined where it or the key cannot be read, or they do not match. */
function readPair({ certificate, key }: ServingPair): Certificate | undefined {
  const read = readCertificate(certificate);
  try {
    return read?.x509.checkPrivateKey(createPrivateKey(key)) ? read : undefined;
  } catch {
    return undefined;
  }
}

function checkOf(endsAtMs: number | undefined, nowMs: number): CheckResult {
  if (endsAtMs === undefined) return failed("there is no certificate yet: agents cannot connect");
  if (endsAtMs <= nowMs) return failed("the certificate has ended: agents refuse it");
  return { ok: true, detail: `it lasts for ${Math.floor((endsAtMs - nowMs) / 3_600_000)} h` };
}
