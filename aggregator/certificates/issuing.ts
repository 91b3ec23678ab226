import { webcrypto } from "node:crypto";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import { BACKDATED_MS } from "../core/certificate-plan.ts";
import type * as x509 from "./x509.ts";

type Library = typeof x509;

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** When a certificate is issued, and how long it is valid. Milliseconds. */
interface Term {
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

/** A new CA that signs server certificates and nothing else. */
export async function issueAuthority({ nowMs, lifetimeMs }: Term): Promise<ServingPair> {
  const library = await loadLibrary();
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, SubjectKeyIdentifierExtension } = library;
  const keys = await generateKeys();
  const notBefore = dateOf(nowMs - BACKDATED_MS);
  const certificate = await library.X509CertificateGenerator.createSelfSigned({
    // The moment distinguishes it from the previous CA in a bundle.
    name: [{ CN: [`mooring-aggregator-ca ${notBefore.toISOString()}`] }],
    keys,
    notBefore,
    notAfter: dateOf(nowMs + lifetimeMs),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: `${certificate.toString("pem")}\n`, key: await privatePem(library, keys.privateKey) };
}

/** A server certificate for these names and IP addresses; it does not outlive the CA. */
export async function issueCertificate(
  { nowMs, lifetimeMs }: Term,
  names: readonly string[],
  signer: ServingPair,
): Promise<ServingPair> {
  const library = await loadLibrary();
  const { ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension } = library;
  const authority = new library.X509Certificate(signer.certificate);
  const keys = await generateKeys();
  const notAfter = dateOf(nowMs + lifetimeMs);
  const certificate = await library.X509CertificateGenerator.create({
    // The names are in the extension; a subject is limited to 64 characters.
    subject: "CN=mooring-aggregator",
    issuer: authority.subject,
    notBefore: dateOf(nowMs - BACKDATED_MS),
    notAfter: notAfter < authority.notAfter ? notAfter : authority.notAfter,
    publicKey: keys.publicKey,
    signingKey: await importKey(library, signer.key),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new library.BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new library.SubjectAlternativeNameExtension(names.map(alternativeName)),
      await library.AuthorityKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  return { certificate: `${certificate.toString("pem")}\n`, key: await privatePem(library, keys.privateKey) };
}

/** Loads the library only when there is something to issue. */
async function loadLibrary(): Promise<Library> {
  return await import("./x509.ts");
}

// biome-ignore lint/style/noRestrictedGlobals: the library's own kind of time; the moment is the caller's.
const dateOf = (ms: number) => new Date(ms);

function alternativeName(name: string): { type: "ip" | "dns"; value: string } {
  return { type: /^[\d.]+$|:/.test(name) ? "ip" : "dns", value: name };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function privatePem({ PemConverter }: Library, key: webcrypto.CryptoKey): Promise<string> {
  return `${PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

async function importKey({ PemConverter }: Library, pem: string): Promise<webcrypto.CryptoKey> {
  return await webcrypto.subtle.importKey("pkcs8", PemConverter.decodeFirst(pem), ALGORITHM, false, ["sign"]);
}
