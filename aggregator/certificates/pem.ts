import { createPrivateKey, X509Certificate } from "node:crypto";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import type { Authority, Validity } from "../core/certificate-plan.ts";

/** A certificate that can be read. */
export interface Certificate extends Authority {
  readonly pem: string;
  /** For which names and addresses it is; sorted. */
  readonly names: readonly string[];
  readonly isAuthority: boolean;
  readonly isSignedBy: (other: Certificate) => boolean;
  /** Whether this private key, PEM, is the certificate's own. */
  readonly fits: (key: string) => boolean;
}

interface Parsed {
  readonly certificate: Certificate;
  readonly x509: X509Certificate;
}

/** The first certificate of a PEM text; nothing where there is none that can be read. */
export function readCertificate(pem: string): Certificate | undefined {
  return parse(pem)?.certificate;
}

/** All certificates of a PEM text that can be read. */
export function readBundle(pem: string): readonly Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => readCertificate(`${block}\n`) ?? []);
}

/** The one spelling of a name or address: Node.js writes `fd00::1` as `FD00:0:0:0:0:0:0:1`. */
export function canonicalName(name: string): string {
  const address = name.includes(":") ? URL.parse(`http://[${name}]`)?.hostname.slice(1, -1) : undefined;
  return address ?? name.toLowerCase();
}

/** A certificate with its key; nothing where one of them cannot be read, or they do not belong together. */
export function readPair({ certificate, key }: ServingPair): Certificate | undefined {
  const read = readCertificate(certificate);
  return read?.fits(key) ? read : undefined;
}

function parse(pem: string): Parsed | undefined {
  try {
    const x509 = new X509Certificate(pem);
    const certificate = {
      id: x509.fingerprint256.replaceAll(":", "").toLowerCase(),
      pem,
      ...validityOf(x509),
      names: namesOf(x509),
      isAuthority: x509.ca,
      isSignedBy: (other: Certificate) => isSignedBy(x509, other),
      fits: (key: string) => fits(x509, key),
    };
    return { certificate, x509 };
  } catch {
    // Whatever is wrong with it: it is not there.
    return undefined;
  }
}

function validityOf({ validFromDate, validToDate }: X509Certificate): Validity {
  return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
}

/** As Node.js writes it: `DNS:a, IP Address:127.0.0.1`. */
function namesOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  return subjectAltName
    .split(", ")
    .map((name) => canonicalName(name.replace(/^[^:]*:/, "")))
    .filter((name) => name !== "")
    .toSorted();
}

function isSignedBy(x509: X509Certificate, other: Certificate): boolean {
  const issuer = parse(other.pem)?.x509;
  return issuer !== undefined && x509.checkIssued(issuer) && x509.verify(issuer.publicKey);
}

function fits(x509: X509Certificate, key: string): boolean {
  try {
    return x509.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
