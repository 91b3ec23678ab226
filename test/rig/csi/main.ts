// A CSI driver for tests, as the program that runs on a node: node .ci/launch.mjs test/rig/csi/main.ts --help
import { parseArgs } from "node:util";
import { createSystemClock } from "../../../common/runtime/clock.ts";
import { explain, HarnessError } from "../process/errors.ts";
import { type ControllerOptions, type DriverOptions, runController, runDriver } from "./driver.ts";

const HELP = `A CSI driver for tests. It runs in the mount namespace of a node, as root, until SIGTERM.

  --driver <name>          name of the driver
  --node <name>            name of the node
  --controller <socket>    makes and deletes volumes for a provisioner that calls there, instead of serving a node
  --volumes <folder>       holds what the volumes contain
  --record <file>          takes a line of JSON for each begin and end of a call, mount and umount
  --control <file>         faults to be made; may be missing, and may change at any time
  --kubelet-root <folder>  where the kubelet keeps its plugins (default: /var/lib/kubelet)
  --without-staging        publish only
`;

function readFlags(args: readonly string[]): DriverOptions | ControllerOptions | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const required = (name: "driver" | "node" | "volumes" | "record" | "control"): string => {
    const text = values[name];
    if (text === undefined || text === "") throw new HarnessError(`--${name} is missing (--help lists the options)`);
    return text;
  };
  const files = { volumes: required("volumes"), record: required("record"), control: required("control") };
  const driver = required("driver");
  if (values.controller !== undefined) return { driver, ...files, socket: values.controller };
  return {
    driver,
    ...files,
    node: required("node"),
    kubeletRoot: values["kubelet-root"],
    hasStaging: !values["without-staging"],
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", default: false },
        driver: { type: "string" },
        node: { type: "string" },
        controller: { type: "string" },
        volumes: { type: "string" },
        record: { type: "string" },
        control: { type: "string" },
        "kubelet-root": { type: "string", default: "/var/lib/kubelet" },
        "without-staging": { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new HarnessError(`${explain(error)} (--help lists the options)`);
  }
}

try {
  const options = readFlags(process.argv.slice(2));
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());
  if (options === undefined) process.stdout.write(HELP);
  else if ("socket" in options) await runController(options, createSystemClock(), stop.signal);
  else await runDriver(options, createSystemClock(), stop.signal);
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
