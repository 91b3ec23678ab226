import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { type Certificate, readCertificate } from "../../common/runtime/certificates.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { type CheckResult, degraded, failed } from "../../common/runtime/health.ts";
import type { ServingIdentity, ServingPair } from "../../common/runtime/http-server.ts";

export interface Serving extends ServingIdentity {
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** At this moment of the clock that certificates expire by, milliseconds since the epoch. */
  readonly check: (nowMs: number) => CheckResult;
  /** When it expires, milliseconds since the epoch; undefined while there is none. */
  readonly endsAtMs: () => number | undefined;
}

type ServingParts = Pick<KubeParts, "clock" | "logger" | "random">;

interface Source extends Omit<Parameters<typeof repeat>[1], "task" | "onOutcome"> {
  /** The pair to serve from now on, beside or instead of the one that is served. */
  readonly next: (signal: AbortSignal, served: ServingPair | undefined) => Promise<ServingPair>;
}

/** Serves what the source has. What cannot be used, like files amid a change, leaves the present pair in place. */
export function createServing(parts: ServingParts, { next, ...repeated }: Source): Serving {
  const listeners = new Set<(pair: ServingPair) => void>();
  let current: { readonly pair: ServingPair; readonly endsAtMs: number } | undefined;
  let problem: string | undefined;
  const task = async (signal: AbortSignal): Promise<void> => {
    const pair = await next(signal, current?.pair);
    if (isDeepStrictEqual(pair, current?.pair)) return;
    const { notAfterMs, names } = readPair(pair);
    current = { pair, endsAtMs: notAfterMs };
    parts.logger.info({ names }, "new certificate served");
    for (const listener of listeners) listener(pair);
  };
  const onOutcome = (found: string | undefined): void => {
    problem = found;
  };
  return {
    pair: () => current?.pair,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    endsAtMs: () => current?.endsAtMs,
    check: (nowMs) => {
      if (current === undefined) return failed("there is no certificate yet: agents cannot connect");
      if (current.endsAtMs <= nowMs) return failed("the certificate has ended: agents refuse it");
      if (problem !== undefined) return degraded(`agents may not know the certificate: ${problem}`);
      return { ok: true, detail: `it lasts for ${Math.floor((current.endsAtMs - nowMs) / 3_600_000)} h` };
    },
    run: (signal) => repeat(parts, { ...repeated, task, onOutcome }, signal),
  };
}

function readPair({ certificate, key }: ServingPair): Certificate {
  const read = readCertificate(certificate);
  try {
    // As the server will: it rejects a chain of which only the first certificate can be read, too.
    createSecureContext({ cert: certificate, key });
    if (read !== undefined) return read;
  } catch {
    // A key that cannot be read does not match.
  }
  throw new MooringError("certificate-invalid", "certificate and key do not match, or cannot be read");
}

/** Files are read so often: they are small, and may change at any time. Milliseconds. */
const LOOK_MS = 1_000;

/** Files that are managed externally, for example by cert-manager. */
export function createFileServing(
  parts: ServingParts,
  { certificateFile, keyFile }: { readonly certificateFile: string; readonly keyFile: string },
): Serving {
  const next = async (): Promise<ServingPair> => {
    // In a fixed order: of two missing files the message always names the same one.
    const certificate = await read(certificateFile);
    return { certificate, key: await read(keyFile) };
  };
  const warn = (err: string): void => parts.logger.warn({ err }, "certificate cannot be used");
  return createServing(parts, { next, everyMs: LOOK_MS, retry: { firstMs: LOOK_MS, maxMs: LOOK_MS }, warn });
}

function read(file: string): Promise<string> {
  return readFile(file, "utf8").catch((cause: unknown) => {
    throw new MooringError("certificate-invalid", `cannot read ${file}: ${messageOf(cause)}`, { cause });
  });
}
