import { webcrypto } from "node:crypto";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import { BACKDATED_MS } from "../core/certificate-plan.ts";
import type * as x509 from "./x509.ts";

type Library = typeof x509;
type Content = Extract<Parameters<Library["X509CertificateGenerator"]["create"]>[0], { signingKey: unknown }>;

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** When a certificate is issued, and how long it is valid. Milliseconds. */
interface Term {
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

/** A new CA that signs server certificates and nothing else. */
export async function issueAuthority({ nowMs, lifetimeMs }: Term): Promise<ServingPair> {
  const library = await import("./x509.ts");
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, SubjectKeyIdentifierExtension } = library;
  const keys = await generateKeys();
  const notBefore = dateOf(nowMs - BACKDATED_MS);
  // The moment distinguishes it from the previous CA in a bundle.
  const name = [{ CN: [`mooring-aggregator-ca ${notBefore.toISOString()}`] }];
  return await issue(library, keys, {
    subject: name,
    issuer: name,
    notBefore,
    notAfter: dateOf(nowMs + lifetimeMs),
    signingKey: keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
}

/** A server certificate for these names and IP addresses; it does not outlive the CA. */
export async function issueCertificate(
  { nowMs, lifetimeMs }: Term,
  names: readonly string[],
  signer: ServingPair,
): Promise<ServingPair> {
  const library = await import("./x509.ts");
  const { ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension } = library;
  const authority = new library.X509Certificate(signer.certificate);
  const signingKey = library.PemConverter.decodeFirst(signer.key);
  const notAfter = dateOf(nowMs + lifetimeMs);
  return await issue(library, await generateKeys(), {
    // The names are in the extension; a subject is limited to 64 characters.
    subject: "CN=mooring-aggregator",
    issuer: authority.subject,
    notBefore: dateOf(nowMs - BACKDATED_MS),
    notAfter: notAfter < authority.notAfter ? notAfter : authority.notAfter,
    signingKey: await webcrypto.subtle.importKey("pkcs8", signingKey, ALGORITHM, false, ["sign"]),
    extensions: [
      new library.BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new library.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: /^[\d.]+$|:/.test(name) ? "ip" : "dns", value: name })),
      ),
      await library.AuthorityKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
}

// biome-ignore lint/style/noRestrictedGlobals: the library's own kind of time; the moment is the caller's.
const dateOf = (ms: number) => new Date(ms);

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function issue(
  { X509CertificateGenerator, PemConverter }: Library,
  { publicKey, privateKey }: webcrypto.CryptoKeyPair,
  content: Omit<Content, "publicKey" | "signingAlgorithm">,
): Promise<ServingPair> {
  const all = { ...content, publicKey, signingAlgorithm: ALGORITHM };
  const certificate = await X509CertificateGenerator.create(all);
  const key = PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", privateKey), "PRIVATE KEY");
  return { certificate: `${certificate.toString("pem")}\n`, key: `${key}\n` };
}
