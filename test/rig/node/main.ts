// A cluster with real nodes and Mooring for manual work: prints how to reach it and stays until Ctrl-C.
import { parseArgs } from "node:util";
import { rollOut } from "../../image/rollout.ts";
import { duration } from "../control-plane/progress.ts";
import { explain, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { runOwned } from "../process/run-owned.ts";
import { NODE_LIMIT } from "./addresses.ts";
import { type NodeCluster, startNodeCluster } from "./cluster.ts";
import { WORKLOAD_IMAGE } from "./workload.ts";

const HELP = `Starts a Kubernetes cluster with real nodes (kubelet, containerd) on this machine, as root, rolls Mooring out on it, prints
how to reach it and stays until Ctrl-C. Pods may use the image ${WORKLOAD_IMAGE}; there is no registry.

  npm run node -- [options]

  --nodes <count>   how many nodes (default: 2)
  --bare            without Mooring
  --help            this text
`;

/** What is asked for. */
interface Flags {
  readonly help: boolean;
  readonly bare: boolean;
  readonly nodes: number;
}

function readFlags(args: readonly string[]): Flags {
  const { values } = parse(args);
  const nodes = Number(values.nodes);
  if (Number.isInteger(nodes) && nodes >= 1 && nodes <= NODE_LIMIT) return { ...values, nodes };
  throw new HarnessError(`--nodes takes a number from 1 to ${NODE_LIMIT}, not ${values.nodes}`);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", default: false },
        bare: { type: "boolean", default: false },
        nodes: { type: "string", default: "2" },
      },
    });
  } catch (error) {
    throw new HarnessError(`${explain(error)} (--help lists the options)`);
  }
}

async function prepare(owner: Owner, cluster: NodeCluster, bare: boolean): Promise<void> {
  owner.say(`nodes that are ready: ${cluster.nodes.map(({ name }) => name).join(", ")}`);
  if (bare) return;
  const { reference } = await rollOut(owner, cluster);
  owner.say(`${reference} is rolled out, in the namespaces mooring and mooring-agents`);
}

async function run(owner: Owner, { nodes, bare }: Flags): Promise<void> {
  const begin = owner.clock.monotonicMs();
  const cluster = await startNodeCluster(owner, { nodes });
  await prepare(owner, cluster, bare);
  owner.say(`ready after ${duration(owner.clock.monotonicMs() - begin)}; Ctrl-C ends it`);
  process.stdout.write(`export KUBECONFIG=${cluster.kubeconfig}\nalias kubectl=${cluster.kubectl}\n`);
  while (!owner.signal.aborted) await owner.clock.sleep(60_000, owner.signal);
}

try {
  const flags = readFlags(process.argv.slice(2));
  if (flags.help) process.stdout.write(HELP);
  else await runOwned((owner) => run(owner, flags));
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
