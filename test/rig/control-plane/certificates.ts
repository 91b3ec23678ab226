import "reflect-metadata";
import { createPublicKey, webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** A certificate and its key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** Whom a client certificate names: the API server reads the user from CN and the groups from O. */
export interface User {
  readonly user: string;
  readonly groups?: readonly string[];
}

/** A certificate authority of one run. Certificates are valid from now for a year. */
export interface CertificateAuthority {
  /** The authority's own certificate, PEM. */
  readonly certificate: string;
  readonly key: string;
  /** For a server that is reached by these names and IP addresses. */
  readonly server: (names: readonly string[]) => Promise<KeyPair>;
  readonly client: (user: User) => Promise<KeyPair>;
}

/** Makes a certificate authority. */
export async function createAuthority(commonName: string): Promise<CertificateAuthority> {
  const keys = await generateKeys();
  const root = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.digitalSignature, true),
    ],
  });
  const issuer = { root, key: keys.privateKey };
  return {
    certificate: root.toString("pem"),
    key: await privatePem(keys.privateKey),
    server: (names) => issue(issuer, [{ CN: [names[0] ?? "server"] }], names),
    client: ({ user, groups = [] }) => issue(issuer, [{ CN: [user] }, ...groups.map((group) => ({ O: [group] }))]),
  };
}

/** A key pair that signs service account tokens, as PEM. */
export async function createSigningKey(): Promise<{ readonly publicKey: string; readonly privateKey: string }> {
  const privateKey = await privatePem((await generateKeys()).privateKey);
  return { privateKey, publicKey: createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString() };
}

interface Issuer {
  readonly root: X509Certificate;
  readonly key: webcrypto.CryptoKey;
}

/** With names it is a server's certificate, which its own gateway may use as a client's (etcd asks itself), without a client's. */
async function issue(issuer: Issuer, subject: Record<string, string[]>[], names?: readonly string[]): Promise<KeyPair> {
  const keys = await generateKeys();
  const { clientAuth, serverAuth } = ExtendedKeyUsage;
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: issuer.root.subject,
    publicKey: keys.publicKey,
    signingKey: issuer.key,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(names === undefined ? [clientAuth] : [serverAuth, clientAuth]),
      ...(names === undefined ? [] : [new SubjectAlternativeNameExtension(names.map(alternativeName))]),
    ],
  });
  return { certificate: certificate.toString("pem"), key: await privatePem(keys.privateKey) };
}

function alternativeName(name: string): { type: "ip" | "dns"; value: string } {
  return { type: /^[\d.]+$|:/.test(name) ? "ip" : "dns", value: name };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}
