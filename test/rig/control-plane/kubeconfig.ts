import type { KeyPair } from "./certificates.ts";

/** A cluster as a client sees it. */
export interface Cluster {
  readonly url: string;
  /** Certificate of the authority that signed the server's, PEM. */
  readonly ca: string;
}

/** How a client shows who it is. */
export type Credentials = KeyPair | { readonly token: string };

/** The text of a kubeconfig file, everything inlined; it is JSON, which is YAML too. */
export function kubeconfig(cluster: Cluster, credentials: Credentials): string {
  const user =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": base64(credentials.certificate),
          "client-key-data": base64(credentials.key),
        };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "mooring", cluster: { server: cluster.url, "certificate-authority-data": base64(cluster.ca) } }],
    users: [{ name: "mooring", user }],
    contexts: [{ name: "mooring", context: { cluster: "mooring", user: "mooring", namespace: "default" } }],
    "current-context": "mooring",
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
