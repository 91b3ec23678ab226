import { parseArgs } from "node:util";
import { explain, HarnessError } from "../rig/process/errors.ts";

export const HELP = `Plays Mooring's main job on a real API server, step by step, and checks each step.

  npm run demo -- [options]

  --node    on two real nodes (kubelet, containerd) with Mooring rolled out from its image, as root;
            without it, kubelets are stood in for, on mount tables of this machine's own
  --provisioner
            the provisioner, too, on real nodes: a volume on a node's own disk is made, filled and deleted
  --keep    leave the cluster and Mooring running at the end, until Ctrl-C
  --help    this text
`;

/** The parsed command line. */
export interface DemoFlags {
  readonly node: boolean;
  readonly provisioner: boolean;
  readonly keep: boolean;
  readonly help: boolean;
}

/** Throws a HarnessError for a flag that it does not know. */
export function readFlags(argv: readonly string[]): DemoFlags {
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({ args: [...argv], options: { node: flag, provisioner: flag, keep: flag, help: flag } }).values;
  } catch (error) {
    throw new HarnessError(`${explain(error)} (--help lists the options)`);
  }
}
