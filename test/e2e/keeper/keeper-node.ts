import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { type KeeperRequest, LINK_FOLDER, type PoolState } from "../../../provisioner/protocol.ts";
import { createKeeperClient, type KeeperAnswer } from "../../../provisioner/sinks/keeper-client.ts";
import { type MountNamespace, openMountNamespace } from "../../integration/mount-namespace.ts";
import { inNamespaces, runCommand } from "../../rig/node/commands.ts";
import type { OwnedChild } from "../../rig/process/child.ts";
import { codeOf, HarnessError } from "../../rig/process/errors.ts";
import { listLoops } from "../../rig/process/loop-devices.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { waitUntil } from "../../rig/process/wait.ts";

/** The file that Node.js is told to run for a keeper. */
export const MAIN = fileURLToPath(new URL("../../../provisioner/keeper/main.ts", import.meta.url));
const DYING = fileURLToPath(new URL("keeper-dying-program.ts", import.meta.url));
/** A keeper that is asked for something on a slow machine; no row waits for it. */
const DEADLINE_MS = 120_000;
const START_MS = 30_000;

export type Filesystem = "ext4" | "xfs";

/** A pool of the node, on a filesystem of its own unless `isShared`. */
export interface TestPool {
  readonly name: string;
  readonly path: string;
  readonly id: string;
}

/** A node in a mount namespace of its own, with pools and a keeper. `/run` is the namespace's own. */
export interface KeeperNode {
  readonly namespace: MountNamespace;
  readonly socket: string;
  readonly keeper: OwnedChild;
  /** Folder outside of all pools. */
  readonly folder: string;
  readonly ask: <Request extends KeeperRequest>(request: Request) => Promise<KeeperAnswer<Request>>;
  readonly pool: TestPool;
  /** Kills the keeper by SIGKILL, and starts it again. */
  readonly restart: () => Promise<void>;
  /** Asks for one thing in a process that dies before its nth change of the node; true when it died. */
  readonly dieAt: (step: number, request: KeeperRequest) => Promise<boolean>;
  /** Where the volume's link leads; nothing without one. */
  readonly linkOf: (volume: string) => string | undefined;
  /** The names in the folder of the pool. */
  readonly files: () => readonly string[];
  /** Makes an image of this size with an empty filesystem, and mounts it in the node. */
  readonly mountDisk: (name: string, path: string) => Promise<void>;
  readonly shell: (line: string) => Promise<void>;
  readonly print: (line: string) => Promise<string>;
}

export interface NodeOptions {
  readonly filesystem: Filesystem;
  /** Flags of the keeper beside those of its pool and socket. */
  readonly flags?: readonly string[];
  /** False leaves the pool's folder as a folder of this machine's disk, with nothing mounted there. */
  readonly isMounted?: boolean;
}

/** Large enough for the smallest XFS. The files have holes: they take what is written to them. */
const DISK = "320M";

export async function startKeeperNode(owner: Owner, options: NodeOptions): Promise<KeeperNode> {
  const namespace = await openMountNamespace((undo) => owner.defer(undo), owner.folder);
  const folder = dirname(namespace.kubeletRoot);
  const path = join(folder, "pool");
  await namespace.run(`mount -t tmpfs tmpfs /run && mkdir '${path}'`);
  const mountDisk = (name: string, place: string): Promise<void> =>
    namespace.run(
      `truncate -s ${DISK} '${folder}/${name}' && mkfs.${options.filesystem} -q '${folder}/${name}' && mount -o loop '${folder}/${name}' '${place}'`,
    );
  if (options.isMounted !== false) await mountDisk("disk", path);
  const socket = join(folder, "keeper.sock");
  const args = [
    MAIN,
    "--pool",
    `fast=${path}`,
    "--socket",
    socket,
    "--mountinfo",
    // The node is a mount namespace: its table, not that of this machine.
    "/proc/self/mountinfo",
    "--metrics-bind-address",
    "127.0.0.1:0",
    ...(options.flags ?? []),
  ];
  const keeper = owner.child({
    name: `keeper-${namespace.pid}`,
    ...inNamespaces(namespace.pid, ["mount"], { command: process.execPath, args }),
    isKilledAtEnd: true,
  });
  const client = createKeeperClient({ clock: owner.clock }, { socket, deadlineMs: DEADLINE_MS });
  const ask: KeeperNode["ask"] = (request) => client.ask(request, owner.signal);
  const start = (): Promise<void> => startKeeper(owner, keeper, ask);
  await start();
  const print = (line: string): Promise<string> =>
    runCommand(inNamespaces(namespace.pid, ["mount"], { command: "sh", args: ["-c", line] }));
  return {
    ...{ namespace, socket, keeper, folder, ask, mountDisk, print, shell: namespace.run },
    pool: { name: "fast", path, id: await begin(ask) },
    restart: async () => {
      await keeper.kill();
      await start();
    },
    dieAt: (step, request) => dieAt(namespace, { step, request, path }),
    linkOf: (volume) => linkTarget(`/proc/${namespace.pid}/root${LINK_FOLDER}/${volume}`),
    files: () => readdirSync(`/proc/${namespace.pid}/root${path}`).filter((name) => name !== "lost+found"),
  };
}

async function startKeeper(owner: Owner, keeper: OwnedChild, ask: KeeperNode["ask"]): Promise<void> {
  await keeper.start();
  const check = async (): Promise<void> => {
    const answer = await ask({ verb: "pools" });
    if (!answer.ok) throw new Error(answer.message);
  };
  await waitUntil(owner, { what: "the keeper", limitMs: START_MS, child: keeper, check });
}

async function begin(ask: KeeperNode["ask"]): Promise<string> {
  const begun = await ask({ verb: "begin", pool: "fast" });
  // A pool that cannot be begun is what some rows are about.
  return begun.ok && begun.pool.id !== undefined ? begun.pool.id : "00000000-0000-4000-8000-000000000000";
}

interface Death {
  readonly step: number;
  readonly request: KeeperRequest;
  readonly path: string;
}

async function dieAt({ pid, mountInfo }: MountNamespace, { step, request, path }: Death): Promise<boolean> {
  const args = [DYING, String(step), path, mountInfo, JSON.stringify(request)];
  try {
    const said = await runCommand(inNamespaces(pid, ["mount"], { command: process.execPath, args }));
    const reply: unknown = JSON.parse(said);
    if (typeof reply !== "object" || reply === null || !("ok" in reply) || reply.ok !== true) throw new Error(said);
    return false;
  } catch (error) {
    if (error instanceof HarnessError && error.message.includes("died on purpose")) return true;
    throw error;
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A new name of a volume. */
export function newVolume(): string {
  return `pvc-${createSystemRandom().id()}`;
}

/** The loop devices that show this volume, as the kernel lists them. */
export function loopsOf(volume: string): readonly string[] {
  return listLoops().flatMap(({ device, file }) => (file.includes(volume) ? [device] : []));
}

/** A setting of a loop device below `/sys/block`. */
export function settingOf(device: string, name: string): string {
  return readFileSync(`/sys/block/${device.slice("/dev/".length)}/${name}`, "utf8").trim();
}

/** The pool, as the keeper tells it. */
export async function poolState({ ask }: Pick<KeeperNode, "ask">): Promise<PoolState> {
  const answer = await ask({ verb: "pools" });
  if (!answer.ok || answer.pools[0] === undefined) throw new HarnessError("the keeper does not tell its pool");
  return answer.pools[0];
}
