import { MooringError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import type { RotatingFile } from "./rotating-file.ts";
import type { ByteTransport } from "./transport.ts";
import type { RetirableTransport } from "./undici-transport.ts";

interface RotatingTransportParts {
  /** Trusted certificates, PEM: in a file, or wherever else they are replaced. */
  readonly authority: RotatingFile;
  readonly logger: Logger;
  /** Opens a transport that trusts these. */
  readonly open: (ca: string) => RetirableTransport;
}

/**
 * A transport that follows its CA. After a change, new requests use new connections; requests in progress, watches among them, end in their
 * own time on the old ones.
 */
export function createRotatingTransport({ authority, logger, open }: RotatingTransportParts): ByteTransport {
  const retired = new Set<RetirableTransport>();
  let current: { readonly ca: string; readonly transport: RetirableTransport } | undefined;

  const trusting = (ca: string): ByteTransport => {
    if (current?.ca === ca) return current.transport;
    const old = current?.transport;
    current = { ca, transport: open(ca) };
    if (old !== undefined) {
      logger.info({}, "certificate authority changed, connecting anew");
      retired.add(old);
      void old.retire().finally(() => retired.delete(old));
    }
    return current.transport;
  };

  return {
    send: async (request, signal) => {
      const ca = await authority.read();
      try {
        return await trusting(ca).send(request, signal);
      } catch (error) {
        if (!isUntrusted(error)) throw error;
        // The server's certificate may have changed before the trusted ones, or before their change was noticed. Nothing was sent yet, so a
        // retry is safe.
        const newer = await authority.readAnew();
        if (newer === ca) throw error;
        return await trusting(newer).send(request, signal);
      }
    },
    close: async () => {
      const open = current === undefined ? [...retired] : [...retired, current.transport];
      await Promise.all(open.map((transport) => transport.close()));
    },
  };
}

/** OpenSSL's codes for a certificate with an untrusted issuer (node: src/crypto/crypto_common.cc). */
const UNTRUSTED = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_SIGNATURE_FAILURE",
  "CERT_HAS_EXPIRED",
]);

/** The server shows a certificate that is not trusted. */
export function isUntrusted(error: unknown): boolean {
  if (!(error instanceof MooringError)) return false;
  const { cause } = error;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" && UNTRUSTED.has(cause.code);
}
