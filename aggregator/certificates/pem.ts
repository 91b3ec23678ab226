import { createPrivateKey, X509Certificate } from "node:crypto";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import type { Authority } from "../core/certificate-plan.ts";

/** A certificate that can be read. */
export interface Certificate extends Authority {
  readonly pem: string;
  readonly x509: X509Certificate;
  /** Its names and addresses, sorted. */
  readonly names: readonly string[];
  readonly isAuthority: boolean;
  readonly isSignedBy: (other: Pick<Certificate, "x509">) => boolean;
}

/** The first certificate of a PEM text; undefined where there is no readable one. */
export function readCertificate(pem: string): Certificate | undefined {
  try {
    const x509 = new X509Certificate(pem);
    return {
      id: x509.fingerprint256.replaceAll(":", "").toLowerCase(),
      pem,
      x509,
      notBeforeMs: x509.validFromDate.getTime(),
      notAfterMs: x509.validToDate.getTime(),
      names: namesOf(x509),
      isAuthority: x509.ca,
      isSignedBy: ({ x509: issuer }) => x509.checkIssued(issuer) && x509.verify(issuer.publicKey),
    };
  } catch {
    // A certificate that cannot be read counts as missing.
    return undefined;
  }
}

/** All readable certificates of a PEM text. */
export function readBundle(pem: string): readonly Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => readCertificate(`${block}\n`) ?? []);
}

/** The canonical spelling of a name or address: Node.js writes `fd00::1` as `FD00:0:0:0:0:0:0:1`. */
export function canonicalName(name: string): string {
  const address = name.includes(":") ? URL.parse(`http://[${name}]`)?.hostname.slice(1, -1) : undefined;
  return address ?? name.toLowerCase();
}

/** The certificate of a pair; undefined where it or the key cannot be read, or they do not match. */
export function readPair({ certificate, key }: ServingPair): Certificate | undefined {
  const read = readCertificate(certificate);
  try {
    return read?.x509.checkPrivateKey(createPrivateKey(key)) ? read : undefined;
  } catch {
    return undefined;
  }
}

/** As Node.js writes it: `DNS:a, IP Address:127.0.0.1`. */
function namesOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  return subjectAltName
    .split(", ")
    .map((name) => canonicalName(name.replace(/^[^:]*:/, "")))
    .filter((name) => name !== "")
    .toSorted();
}
