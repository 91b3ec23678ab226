import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CertificateAuthority, createAuthority, createSigningKey, type KeyPair } from "./certificates.ts";

/** The first address of the service range belongs to the Service "kubernetes". */
const API_SERVICE_ADDRESS = "10.96.0.1";

/** Keys and certificates of one control plane; the files that its parts read are written. */
export interface Pki {
  /** Signs the servers' certificates and those of users. */
  readonly authority: CertificateAuthority;
  readonly admin: KeyPair;
  /** The certificate of etcd's own authority: a user of the API server is none of etcd. */
  readonly etcdCa: string;
  readonly etcdClient: KeyPair;
}

/** Makes all keys and certificates for a control plane that listens at `address`, and writes them below `folder`. */
export async function createPki(folder: string, address: string): Promise<Pki> {
  const [authority, etcd] = await Promise.all([createAuthority("mooring"), createAuthority("mooring-etcd")]);
  const names = [...new Set([address, "127.0.0.1", "localhost", "kubernetes.default.svc", API_SERVICE_ADDRESS])];
  const [server, admin, kubelet, etcdServer, etcdClient, signing] = await Promise.all([
    authority.server(names),
    authority.client({ user: "mooring-admin", groups: ["system:masters"] }),
    authority.client({ user: "kube-apiserver-kubelet-client", groups: ["system:masters"] }),
    etcd.server(["127.0.0.1", "localhost"]),
    etcd.client({ user: "kube-apiserver" }),
    createSigningKey(),
  ]);
  mkdirSync(folder, { recursive: true });
  const pairs = {
    ca: authority,
    server,
    "kubelet-client": kubelet,
    "etcd-ca": etcd,
    etcd: etcdServer,
    "etcd-client": etcdClient,
  };
  for (const [name, pair] of Object.entries(pairs)) writePair(folder, name, pair);
  writeSecret(join(folder, "service-account.key"), signing.privateKey);
  writeFileSync(join(folder, "service-account.pub"), signing.publicKey);
  return { authority, admin, etcdCa: etcd.certificate, etcdClient };
}

/** Writes a file that only this user may read. */
export function writeSecret(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
}

function writePair(folder: string, name: string, pair: KeyPair): void {
  writeFileSync(join(folder, `${name}.crt`), pair.certificate);
  writeSecret(join(folder, `${name}.key`), pair.key);
}
