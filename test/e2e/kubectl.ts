import { runCommand } from "../rig/node/commands.ts";

/** What `kubectl` of a cluster is run with. */
export interface KubectlTarget {
  readonly kubectl: string;
  readonly kubeconfig: string;
}

/** Runs kubectl and returns what it printed. Throws a HarnessError with its words when it fails. */
export function kubectl(target: KubectlTarget, ...args: readonly string[]): Promise<string> {
  return runCommand({ command: target.kubectl, args: [`--kubeconfig=${target.kubeconfig}`, ...args] });
}

/** Applies objects as a user does with a file. */
export async function apply(target: KubectlTarget, ...objects: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const args = [`--kubeconfig=${target.kubeconfig}`, "apply", "--filename=-"];
  await runCommand({ command: target.kubectl, args }, list);
}
