// A control plane for manual work: prints how to reach it and stays until Ctrl-C.
import { parseArgs } from "node:util";
import { explain, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { runOwned } from "../process/run-owned.ts";
import {
  type ControlPlane,
  isOptionalPart,
  OPTIONAL_PARTS,
  type OptionalPart,
  startControlPlane,
} from "./control-plane.ts";
import { duration } from "./progress.ts";

const HELP = `Starts a Kubernetes API server with etcd on this machine, prints how to reach it, stays until Ctrl-C.

  npm run control-plane -- [options]

  --part <name>     a part to run besides, more than once if wanted: ${OPTIONAL_PARTS.join(", ")}, none
                    (default: kube-controller-manager)
  --address <ip>    the IP address to listen at (default: 127.0.0.1)
  --help            this text
`;

interface Flags {
  readonly help: boolean;
  readonly parts: readonly OptionalPart[];
  readonly address: string;
}

function readFlags(args: readonly string[]): Flags {
  const { values } = parse(args);
  const named = values.part.filter((part) => part !== "none");
  const unknown = named.filter((part) => !isOptionalPart(part));
  if (unknown.length > 0) throw new HarnessError(`--part does not know ${unknown.join(", ")}; --help lists the parts`);
  return { help: values.help, parts: named.filter(isOptionalPart), address: values.address };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", default: false },
        part: { type: "string", multiple: true, default: ["kube-controller-manager"] },
        address: { type: "string", default: "127.0.0.1" },
      },
    });
  } catch (error) {
    throw new HarnessError(`${explain(error)} (--help lists the options)`);
  }
}

async function stay(owner: Owner, plane: ControlPlane): Promise<void> {
  process.stdout.write(`export KUBECONFIG=${plane.kubeconfig}\nalias kubectl=${plane.kubectl}\n`);
  while (!owner.signal.aborted) await owner.clock.sleep(60_000, owner.signal);
}

async function run(owner: Owner, { parts, address }: Flags): Promise<void> {
  const begin = owner.clock.monotonicMs();
  const plane = await startControlPlane(owner, { parts, address });
  owner.say(`ready after ${duration(owner.clock.monotonicMs() - begin)}; Ctrl-C ends it`);
  await stay(owner, plane);
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
