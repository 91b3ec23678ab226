import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { OwnedChild } from "../process/child.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { findProgram } from "../process/program.ts";
import { waitUntil } from "../process/wait.ts";

const run = promisify(execFile);

/** A mount namespace of its own: what is mounted in it nobody else sees, and it ends with the process that holds it. */
export interface MountNamespace {
  /** The mount table as the kernel shows it. */
  readonly mountInfo: string;
  /** The command that runs what follows it in the namespace. */
  readonly enter: readonly string[];
  /** Runs a program in the namespace. Throws a HarnessError with what it wrote when it fails. */
  readonly exec: (command: string, ...args: readonly string[]) => Promise<void>;
}

/** A user without the right to mount gets it in a user namespace, where the system allows those. */
const MAY_MOUNT = process.getuid?.() === 0;

/** Starts a namespace. Throws a HarnessError that says what to do where the system forbids it. */
export async function createMountNamespace(owner: Owner, name: string): Promise<MountNamespace> {
  const missing = ["unshare", "nsenter", "mount", "umount"].filter((program) => findProgram(program) === undefined);
  if (missing.length > 0) {
    throw new HarnessError(
      `this needs the programs ${missing.join(", ")}, which are not here: sudo apt-get install util-linux mount`,
    );
  }
  let isReady = false;
  const flags = MAY_MOUNT ? ["--mount"] : ["--user", "--map-root-user", "--mount"];
  const holder = owner.child({
    name,
    command: "unshare",
    args: [...flags, "--propagation", "private", "sh", "-c", "echo ready; exec sleep infinity"],
    onLine: (line) => {
      isReady ||= line === "ready";
    },
    stopLimitMs: 0,
  });
  await holder.start();
  await waitUntil(owner, {
    what: `mount namespace ${name}`,
    limitMs: 10_000,
    child: holder,
    check: async () => {
      if (!isReady) throw new Error("unshare has not finished");
    },
  }).catch((error: unknown) => {
    throw MAY_MOUNT ? error : new HarnessError(advice(holder));
  });
  const target = [
    "--target",
    String(holder.pid),
    "--mount",
    ...(MAY_MOUNT ? [] : ["--user", "--preserve-credentials"]),
    "--",
  ];
  return {
    mountInfo: `/proc/${holder.pid}/mountinfo`,
    enter: ["nsenter", ...target],
    exec: async (command, ...args) => {
      await run("nsenter", [...target, command, ...args]).catch((error: unknown) => {
        throw new HarnessError(
          `${command} ${args.join(" ")} failed in ${name}: ${error instanceof Error ? error.message : error}`,
        );
      });
    },
  };
}

function advice(holder: OwnedChild): string {
  return [
    `this user may neither mount nor make a user namespace: ${holder.tail(1)}`,
    "run the command as root, or allow user namespaces:",
    "  sudo sysctl kernel.unprivileged_userns_clone=1          (Debian)",
    "  sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0   (Ubuntu 24.04 and newer)",
  ].join("\n");
}
