import "reflect-metadata";
import { KeyObject, type webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { KeyPair } from "../rig/control-plane/certificates.ts";

const ALGORITHM = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2048,
} as const;

interface Signer {
  readonly certificate: X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** A server's certificate and key, and the authority that agents are to trust; all PEM. */
export interface Given extends KeyPair {
  readonly authority: string;
}

/**
 * What cert-manager stores by default: an RSA key of 2048 bits in PKCS #1, and a certificate followed by the authority
 * between it and the root (cert-manager: pkg/apis/certmanager/v1/types_certificate.go).
 */
export async function givenChain(names: readonly string[]): Promise<Given> {
  const rootKeys = await generateKeys();
  const root = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: ["root"] }],
    keys: rootKeys,
    signingAlgorithm: ALGORITHM,
    extensions: authorityExtensions(),
  });
  const between = await signedBy({ certificate: root, keys: rootKeys }, "between", authorityExtensions());
  const leaf = await signedBy(between, names[0] ?? "", [
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension(
      names.map((name) => ({ type: /^[\d.]+$/.test(name) ? ("ip" as const) : ("dns" as const), value: name })),
    ),
  ]);
  const pem = (certificate: X509Certificate): string => `${certificate.toString("pem")}\n`;
  return {
    certificate: pem(leaf.certificate) + pem(between.certificate),
    key: KeyObject.from(leaf.keys.privateKey).export({ type: "pkcs1", format: "pem" }).toString(),
    authority: pem(root),
  };
}

function authorityExtensions(): Extension[] {
  return [
    new BasicConstraintsExtension(true, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
  ];
}

async function signedBy(issuer: Signer, name: string, extensions: readonly Extension[]): Promise<Signer> {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [name] }],
    issuer: issuer.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [...extensions],
  });
  return { certificate, keys };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}
