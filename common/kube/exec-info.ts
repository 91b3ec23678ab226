import { readFileSync } from "node:fs";
import type { Cluster, User } from "@kubernetes/client-node";
import { array, boolean, looseObject, optional, safeParse, string } from "valibot";

const exec = looseObject({
  command: optional(string()),
  apiVersion: optional(string()),
  provideClusterInfo: optional(boolean()),
  env: optional(array(looseObject({ name: string(), value: string() }))),
});

/**
 * Returns the user with `KUBERNETES_EXEC_INFO` set for its exec plugin, as client-go does and client-node does not: the version of the
 * answer, that nobody can be prompted, and the cluster if the plugin wants it (`provideClusterInfo`). Throws if the CA file cannot be read.
 * (Source: client-go, plugin/pkg/client/auth/exec; KEP-541.)
 */
export function withExecInfo(user: User, cluster: Cluster): User {
  const read = safeParse(exec, user.exec);
  if (!read.success) return user;
  const { apiVersion, provideClusterInfo, env = [] } = read.output;
  const spec = { interactive: false, ...(provideClusterInfo === true ? { cluster: clusterOf(cluster) } : {}) };
  const value = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
  return { ...user, exec: { ...read.output, env: [...env, { name: "KUBERNETES_EXEC_INFO", value }] } };
}

/** The program that a kubeconfig names for the user's credentials, for messages. */
export function programOf(user: User | null): string | undefined {
  const read = safeParse(exec, user?.exec);
  return read.success ? read.output.command : undefined;
}

function clusterOf({ server, caData, caFile, skipTLSVerify, tlsServerName }: Cluster): object {
  const authority = caData ?? (caFile === undefined ? undefined : readFileSync(caFile).toString("base64"));
  return {
    server,
    ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
    ...(skipTLSVerify ? { "insecure-skip-tls-verify": true } : {}),
    ...(authority === undefined ? {} : { "certificate-authority-data": authority }),
  };
}
