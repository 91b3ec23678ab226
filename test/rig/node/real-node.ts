import { explain, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import type { NodeAddresses } from "./addresses.ts";
import { type Command, runCommand } from "./commands.ts";
import type { InitProcess } from "./init-process.ts";
import type { NodeProgram } from "./node-program.ts";
import { CONTAINERD_SOCKET } from "./runtime-config.ts";

const READY_LIMIT_MS = 180_000;

/** The programs that make a machine a node. */
export interface NodePrograms {
  readonly containerd: NodeProgram;
  readonly kubelet: NodeProgram;
  readonly kubeProxy: NodeProgram;
}

/** A real node: containerd, kubelet and kube-proxy with namespaces of their own on this machine. */
export interface RealNode extends NodePrograms {
  readonly name: string;
  readonly address: string;
  /** The node's first process, as this machine sees it; `/proc/<pid>/mountinfo` is the node's mount table. Throws while it is down. */
  readonly pid: () => number;
  /** What `/proc/sys/kernel/random/boot_id` says inside: another one after each start. */
  readonly bootId: () => string;
  /** A path inside the node as a path of this machine, as long as the node is up. */
  readonly path: (inside: string) => string;
  /** The command with which this machine runs a program inside, with all rights; for a child of the owner. */
  readonly inside: (command: Command) => Command;
  /** Runs a program inside to its end and returns what it printed. Throws a HarnessError when it fails. */
  readonly run: (command: string, ...args: readonly string[]) => Promise<string>;
  /** Makes the images of an archive (`docker save`) known to containerd. */
  readonly importImage: (archive: string) => Promise<void>;
  /** Ends all its processes at once, as a power cut does; its disk stays. */
  readonly kill: () => Promise<void>;
  /** Boots it, with a new boot ID and a clock that begins anew, and waits until the API server calls it ready. */
  readonly start: () => Promise<void>;
}

/** What a node is made of. */
export interface NodeParts extends NodePrograms {
  readonly addresses: NodeAddresses;
  readonly init: InitProcess;
  /** Joins the node's new network namespace to the others. */
  readonly connect: (pid: number) => Promise<void>;
  /** Removes what outlives the node's processes and no boot of a machine: its cgroups. */
  readonly forget: () => Promise<void>;
  readonly ctr: string;
  /** Archives of images that every node has. */
  readonly images: readonly string[];
  /** Resolves when the API server calls the node ready in this boot; throws, with the reason, when it does not yet. */
  readonly check: (bootId: string) => Promise<void>;
}

/** A node in two steps, since containerd can start before there is an API server. */
export interface BootingNode {
  /** Boots it up to containerd with its images. */
  readonly boot: () => Promise<void>;
  /** Joins the cluster and waits until the node is ready. */
  readonly join: () => Promise<void>;
  readonly node: RealNode;
}

/** Puts the parts of a node together; nothing is started yet. */
export function createNode(owner: Owner, parts: NodeParts): BootingNode {
  const { addresses, init, connect, forget, containerd, kubelet, kubeProxy, ctr, images, check } = parts;
  const run = (command: string, ...args: readonly string[]): Promise<string> =>
    runCommand(init.inside({ command, args }));
  const importImage = async (archive: string): Promise<void> => {
    await run(ctr, ...CTR_FLAGS, "images", "import", archive);
  };
  const boot = async (): Promise<void> => {
    await init.start();
    await Promise.all([connect(init.pid), containerd.start()]);
    for (const archive of images) await importImage(archive);
  };
  const join = async (): Promise<void> => {
    await Promise.all([kubelet.start(), kubeProxy.start()]);
    const isReady = (): Promise<void> => check(init.bootId);
    const waiting = waitUntil(owner, { what: addresses.name, limitMs: READY_LIMIT_MS, check: isReady, everyMs: 100 });
    await waiting.catch((error: unknown) => {
      throw new HarnessError(`${explain(error)}\nlast lines of ${kubelet.logFile}:\n${kubelet.tail()}`);
    });
  };
  const kill = async (): Promise<void> => {
    // They would go with it, but a namespace ends only when each of its dead has been reaped: by an nsenter(1) out here, which may be
    // frozen, or stopped because it saw what it runs stopped.
    await Promise.all([init, containerd, kubelet, kubeProxy].map((program) => program.kill()));
    await forget();
  };
  // Deferred last, so it is done first: stopped one by one, each program would take its time.
  owner.defer(kill);
  const node: RealNode = {
    name: addresses.name,
    address: addresses.address,
    containerd,
    kubelet,
    kubeProxy,
    pid: () => init.pid,
    bootId: () => init.bootId,
    path: (inside) => `/proc/${init.pid}/root${inside}`,
    inside: (command) => init.inside(command),
    run,
    importImage,
    kill,
    start: async () => {
      await boot();
      await join();
    },
  };
  return { boot, join, node };
}

/** How containerd's client finds the images that kubelet sees. */
export const CTR_FLAGS = ["--address", CONTAINERD_SOCKET, "--namespace", "k8s.io"] as const;
