import { X509Certificate } from "node:crypto";

/** A certificate that can be read. Times in milliseconds since the epoch. */
export interface Certificate {
  readonly pem: string;
  readonly x509: X509Certificate;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** As Node.js writes them: `DNS:a`, `IP Address:127.0.0.1`. */
  readonly names: readonly string[];
}

/** The first certificate of a PEM text; undefined where there is no readable one. */
export function readCertificate(pem: string): Certificate | undefined {
  try {
    const x509 = new X509Certificate(pem);
    return {
      pem,
      x509,
      notBeforeMs: x509.validFromDate.getTime(),
      notAfterMs: x509.validToDate.getTime(),
      names: x509.subjectAltName?.split(", ") ?? [],
    };
  } catch {
    // A certificate that cannot be read counts as missing.
    return undefined;
  }
}

/** All readable certificates of a PEM text. */
export function readCertificates(text: string): readonly Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => readCertificate(`${block}\n`) ?? []);
}
