import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { array, object, parse, string } from "valibot";
import { inject, onTestFinished } from "vitest";
import { kubeconfig } from "../rig/control-plane/kubeconfig.ts";

const EXEC_API = "client.authentication.k8s.io/v1";

/** A program that a client runs for its credentials, as a kubeconfig names it. */
export interface Plugin {
  readonly command: string;
  readonly args?: readonly string[];
  readonly provideClusterInfo?: boolean;
}

/** How a kubeconfig differs from the tier's. */
export interface KubeconfigChange {
  readonly token?: string;
  readonly exec?: Plugin;
  readonly server?: string;
  readonly namespace?: string;
  readonly edit?: (text: string) => string;
}

/** The part of the tier's kubeconfig file that tests build others from. */
const KubeconfigFile = object({
  clusters: array(object({ cluster: object({ server: string(), "certificate-authority-data": string() }) })),
});

/** Writes a kubeconfig file of the tier's server for another user, or for another server; removed after the test. */
export function writeKubeconfig(change: KubeconfigChange): string {
  const [entry] = parse(KubeconfigFile, JSON.parse(readFileSync(inject("kubeconfig"), "utf8"))).clusters;
  if (entry === undefined) throw new Error("the tier's kubeconfig has no cluster");
  const { server, "certificate-authority-data": ca } = entry.cluster;
  const { token = "none", namespace = "default", edit = (whole) => whole } = change;
  const cluster = { url: change.server ?? server, ca: Buffer.from(ca, "base64").toString() };
  const text = kubeconfig(cluster, { token }).replace('"namespace": "default"', `"namespace": "${namespace}"`);
  return write("kubeconfig", edit(change.exec === undefined ? text : withPlugin(text, change.exec)));
}

function withPlugin(text: string, plugin: Plugin): string {
  const exec = { apiVersion: EXEC_API, interactiveMode: "Never", ...plugin };
  return text.replace('"token": "none"', `"exec": ${JSON.stringify(exec)}`);
}

/** Writes a program that gives one of these after the other, and the last one for ever. */
export function writePlugin(
  given: readonly { readonly token: string; readonly expirationTimestamp?: string }[],
): Plugin & { readonly args: readonly string[] } {
  const lines = given.map((status) => JSON.stringify({ apiVersion: EXEC_API, kind: "ExecCredential", status }));
  const path = write("credentials", `${lines.join("\n")}\n`);
  const next = 'head -n 1 "$0"; if [ "$(wc -l < "$0")" -gt 1 ]; then sed -i 1d "$0"; fi';
  return { command: "sh", args: ["-c", next, path] };
}

function write(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-kubeconfig-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
