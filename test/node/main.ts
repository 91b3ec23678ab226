// A cluster with real nodes for manual work: prints how to reach it and stays until Ctrl-C.
import { parseArgs } from "node:util";
import { duration } from "../control-plane/progress.ts";
import { explain, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { runOwned } from "../process/run-owned.ts";
import { NODE_LIMIT } from "./addresses.ts";
import { type NodeCluster, startNodeCluster } from "./cluster.ts";
import { WORKLOAD_IMAGE } from "./workload.ts";

const HELP = `Starts a Kubernetes cluster with real nodes (kubelet, containerd) on this machine, as root, prints how to reach it and
stays until Ctrl-C. Pods may use the image ${WORKLOAD_IMAGE}; there is no registry.

  npm run node -- [options]

  --nodes <count>   how many nodes (default: 2)
  --help            this text
`;

function readFlags(args: readonly string[]): { readonly help: boolean; readonly nodes: number } {
  const { values } = parse(args);
  const nodes = Number(values.nodes);
  if (Number.isInteger(nodes) && nodes >= 1 && nodes <= NODE_LIMIT) return { help: values.help, nodes };
  throw new HarnessError(`--nodes takes a number from 1 to ${NODE_LIMIT}, not ${values.nodes}`);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { help: { type: "boolean", default: false }, nodes: { type: "string", default: "2" } },
    });
  } catch (error) {
    throw new HarnessError(`${explain(error)} (--help lists the options)`);
  }
}

/** Where Mooring itself is rolled out once its image and manifests are part of this. */
async function prepare(owner: Owner, cluster: NodeCluster): Promise<void> {
  owner.say(`${cluster.nodes.map(({ name }) => name).join(", ")} are ready`);
}

async function run(owner: Owner, nodes: number): Promise<void> {
  const begin = owner.clock.monotonicMs();
  const cluster = await startNodeCluster(owner, { nodes });
  await prepare(owner, cluster);
  owner.say(`ready after ${duration(owner.clock.monotonicMs() - begin)}; Ctrl-C ends it`);
  process.stdout.write(`export KUBECONFIG=${cluster.kubeconfig}\nalias kubectl=${cluster.kubectl}\n`);
  while (!owner.signal.aborted) await owner.clock.sleep(60_000, owner.signal);
}

try {
  const { help, nodes } = readFlags(process.argv.slice(2));
  if (help) process.stdout.write(HELP);
  else await runOwned((owner) => run(owner, nodes));
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
