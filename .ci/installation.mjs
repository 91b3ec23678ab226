// The packages of the lock file in node_modules: is the installation up to date, and `npm ci` by one starter at a time.
import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { run, StartError } from "./command.mjs";

const stampOf = (root) => join(root, "node_modules", ".installed-lock");
const lockOf = (root) => join(root, ".installing");

function lockHash(root) {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

/** True when node_modules holds what the lock file says. */
export function isInstalled(root) {
  return existsSync(stampOf(root)) && readFileSync(stampOf(root), "utf8") === lockHash(root);
}

/** Installs the packages unless another starter just did. Returns 0, or the exit code if a signal ended the installation. */
export async function install(root) {
  const lock = await takeLock(root);
  try {
    if (isInstalled(root)) return 0;
    console.error("mooring: installing packages (about 500 MB in node_modules, once for each change of the lock file)");
    const code = await run({
      command: [...npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
      options: { cwd: root, stdio: ["ignore", 2, 2] },
      onStart: ({ pid }) => lock.share(pid),
    });
    if (code > 128) return code;
    if (code !== 0)
      throw new StartError("npm ci failed; is a package registry reachable? Run the command again when it is.");
    writeFileSync(stampOf(root), lockHash(root));
    return 0;
  } finally {
    lock.release();
  }
}

function npm() {
  const script = process.env.npm_execpath;
  return script?.endsWith("npm-cli.js") ? [process.execPath, script] : ["npm"];
}

/**
 * The lock is a folder with a chain of claims: `first`, then `after-<claim>` by the process that found all claims before it dead.
 * A claim is a symbolic link, because that is made at once together with its content, and by one starter only.
 */
async function takeLock(root) {
  const folder = lockOf(root);
  const own = `${process.pid}-${randomUUID()}`;
  for (let tries = 0; !tryClaim(folder, own); tries += 1) {
    if (tries === 0)
      console.error(`mooring: another installation is running in this folder (${folder}), waiting for it`);
    await delay(200);
  }
  return {
    share: (pid) => symlinkSync(String(pid), join(folder, `npm-of-${own}`)),
    release: () => {
      // Renamed first: a claim can then not be made in a folder that is half removed.
      renameSync(folder, `${folder}-${own}`);
      rmSync(`${folder}-${own}`, { recursive: true, force: true });
    },
  };
}

/** True when `own` is now the claim that counts. */
function tryClaim(folder, own) {
  try {
    mkdirSync(folder, { recursive: true });
    const { free } = followChain(folder);
    if (free !== undefined) symlinkSync(own, join(folder, free));
  } catch (error) {
    // Another starter was quicker (EEXIST) or the owner has just let go (ENOENT).
    if (error.code !== "EEXIST" && error.code !== "ENOENT")
      throw new StartError(`cannot write to ${folder}: ${error.message}`);
  }
  return followChain(folder).owner === own;
}

/** The first claim whose starter or npm still runs, or the name under which the next claim is to be made. */
function followChain(folder) {
  for (let name = "first"; ; ) {
    const claim = linkIn(folder, name);
    if (claim === undefined) return { free: name };
    const pids = [claim.split("-")[0], linkIn(folder, `npm-of-${claim}`)];
    if (pids.some((pid) => pid !== undefined && isAlive(Number(pid)))) return { owner: claim };
    name = `after-${claim}`;
  }
}

function linkIn(folder, name) {
  try {
    return readlinkSync(join(folder, name));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw new StartError(`cannot read ${join(folder, name)}: ${error.message}`);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
