import { createSystemRandom } from "../../../common/runtime/random.ts";
import { freePort } from "../control-plane/ports.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import type { NodeCluster } from "./cluster.ts";

/** The lists of an aggregator, on loopback in its pod. */
export const LISTS_PORT = 9809;

const LIMIT_MS = 90_000;

/** Asks the leader's lists as an administrator does, through a forwarded port: nobody else reaches them. `use` gets where they are. */
export async function throughForwardedPort<T>(
  owner: Owner,
  { kubectl, kubeconfig }: Pick<NodeCluster, "kubectl" | "kubeconfig">,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const to = ["--namespace=mooring", "service/mooring-aggregator", `${port}:${LISTS_PORT}`];
  const args = [`--kubeconfig=${kubeconfig}`, "port-forward", ...to];
  const forward = owner.child({ name: `port-forward-${port}`, command: kubectl, args });
  const url = `http://127.0.0.1:${port}`;
  await forward.start();
  try {
    const check = async (): Promise<void> => {
      if (!(await fetch(`${url}/livez`)).ok) throw new HarnessError("it does not answer");
    };
    await waitUntil(owner, { what: "the forwarded port", limitMs: LIMIT_MS, child: forward, check });
    return await use(url);
  } finally {
    await forward.stop();
  }
}
