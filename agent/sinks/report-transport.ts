import { basename, dirname } from "node:path";
import { createRotatingFolder, type RotatingFile, type RotatingFolder } from "../../common/kube/rotating-file.ts";
import { createRotatingTransport } from "../../common/kube/rotating-transport.ts";
import type { ByteTransport, HttpRequest } from "../../common/kube/transport.ts";
import { createUndiciTransport, type RetirableTransport } from "../../common/kube/undici-transport.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";

/** The aggregator's address, whom to trust, and who sends. */
export interface ReportTarget {
  readonly aggregatorUrl: string;
  /** CA certificates that may have signed the aggregator's, PEM; without them what it publishes itself is trusted. */
  readonly aggregatorCaFile: string | undefined;
  /** The agent's token; without it none is sent. */
  readonly aggregatorTokenFile: string | undefined;
}

interface ReportTransportParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The certificates that the aggregator publishes, PEM. */
  readonly published: RotatingFile;
}

/**
 * The transport of the reports. Token and certificates are replaced while this runs: the kubelet writes a new token every eight minutes,
 * and each replica of the aggregator has a certificate of its own. Nothing under way is aborted for that.
 */
export function createReportTransport(
  { aggregatorUrl, aggregatorCaFile, aggregatorTokenFile }: ReportTarget,
  { clock, logger, published }: ReportTransportParts,
): ByteTransport {
  const { origin, protocol } = new URL(aggregatorUrl);
  const folders = new Map<string, RotatingFolder>();
  const fileAt = (path: string): RotatingFile => {
    const place = dirname(path);
    const folder = folders.get(place) ?? createRotatingFolder(place, { clock, logger, code: "file-unreadable" });
    if (!folders.has(place)) folder.follow();
    folders.set(place, folder);
    return folder.file(basename(path));
  };
  const open = (ca: string | undefined): RetirableTransport =>
    createUndiciTransport({ origin, ca, maxConnections: 1 }, { clock });
  const authority = aggregatorCaFile === undefined ? published : fileAt(aggregatorCaFile);
  const inner =
    protocol === "http:"
      ? open(undefined)
      : createRotatingTransport({ authority, logger, open: (ca) => open(expectBundle(ca)) });
  const transport = aggregatorTokenFile === undefined ? inner : withToken(inner, fileAt(aggregatorTokenFile));
  return {
    send: transport.send,
    close: async () => {
      await Promise.all([transport.close(), ...[...folders.values()].map((folder) => folder.close())]);
    },
  };
}

/** An empty list would mean to trust the system's CAs. */
function expectBundle(ca: string): string {
  if (ca.includes("-----BEGIN CERTIFICATE-----")) return ca;
  throw new MooringError("file-unreadable", "the file of the aggregator's authorities has no certificate yet");
}

function withToken(inner: ByteTransport, file: RotatingFile): ByteTransport {
  const send = (request: HttpRequest, token: string, signal: AbortSignal): ReturnType<ByteTransport["send"]> =>
    inner.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }, signal);
  return {
    close: inner.close,
    send: async (request, signal) => {
      const token = (await file.read()).trim();
      const response = await send(request, token, signal);
      if (response.status !== 401) return response;
      // It may have been replaced a moment ago.
      const newer = (await file.readAnew()).trim();
      if (newer === token) return response;
      response.cancel();
      return await send(request, newer, signal);
    },
  };
}
