// The image's entry, `mooring agent|aggregator|provisioner|keeper [flags]`: this process becomes the program, with the flags of Node.js that suit it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/**
 * Flags of Node.js by command; node-flags.json is the one place where they are set. A flag that NODE_OPTIONS names is left to it.
 * How much memory there is belongs to manifests/base.
 */
const flagsOf = JSON.parse(readFileSync(join(import.meta.dirname, "node-flags.json"), "utf8"));

const [command, ...args] = process.argv.slice(2);

if (Object.hasOwn(flagsOf, command ?? "")) become(command);
else usage();

function become(name) {
  const options = (process.env.NODE_OPTIONS ?? "").split(/\s+/).map(nameOf);
  const flags = flagsOf[name].filter((flag) => !options.includes(nameOf(flag)));
  // Not a child: signals reach the program itself, and nothing of this process stays in memory.
  process.execve(process.execPath, [`mooring-${name}`, ...flags, join(import.meta.dirname, `${name}.mjs`), ...args]);
}

/** `--max-old-space-size` of `--max_old_space_size=100`: V8 takes either. */
function nameOf(flag) {
  return flag.split("=")[0].replaceAll("_", "-");
}

function usage() {
  const isAsked = ["help", "--help", "-h"].includes(command);
  const commands = Object.keys(flagsOf).join("|");
  (isAsked ? process.stdout : process.stderr).write(
    `Usage: mooring ${commands} [flags]; --help behind it lists them\n`,
  );
  process.exitCode = isAsked ? 0 : 1;
}
