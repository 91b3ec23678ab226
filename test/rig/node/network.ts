import { readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { basename } from "node:path";
import { array, object, optional, parse, string } from "valibot";
import { codeOf, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { type AddressPlan, CLUSTER_SLOTS, freeSlots, type NodeAddresses, planAddresses } from "./addresses.ts";
import { type Command, inNamespaces, runCommand } from "./commands.ts";
import { bridgeLinks, hostLinks, nodeCable, nodeLinks } from "./links.ts";

const START_LIMIT_MS = 60_000;

/** The network of a cluster: a bridge in a network namespace of its own, joined to this machine by one cable. */
export interface ClusterNetwork {
  readonly plan: AddressPlan;
  /** The command that runs a program in the bridge's namespace. */
  readonly inside: (command: Command) => Command;
  /** Gives a node, known by a process in its namespace, its cable and addresses; one of an earlier boot is taken away. */
  readonly connect: (node: NodeAddresses, pid: number) => Promise<void>;
}

/**
 * Makes the network. This machine gets a single link with an address and routes to the pods. It ends with the process that
 * holds the bridge's namespace, which the kernel ends with this one: nothing has to be cleaned up, however the run ends.
 */
export async function createNetwork(owner: Owner, names: readonly string[]): Promise<ClusterNetwork> {
  const plan = planAddresses(await reserveSlot(owner), names);
  const bridgePid = await holdNamespace(owner);
  // At most 15 characters fit.
  const link = basename(owner.folder).slice(-15);
  // Sooner than the kernel, which takes links away some time after the last process of their namespace.
  owner.defer(() => runCommand(ip("link", "delete", link)).then(noop, noop));
  await runCommand(ip("-batch", "-"), lines(hostLinks(plan, { link, bridgePid })));
  const inside = (command: Command): Command => inNamespaces(bridgePid, ["net"], command);
  await runCommand(inside(ip("-batch", "-")), lines(bridgeLinks(plan)));
  return {
    plan,
    inside,
    connect: async (node, pid) => {
      await runCommand(inside(ip("link", "delete", node.name))).then(noop, noop);
      await runCommand(inside(ip("-batch", "-")), lines(nodeCable(node, pid)));
      await runCommand(inNamespaces(pid, ["net"], ip("-batch", "-")), lines(nodeLinks(plan, node)));
    },
  };
}

const Routes = array(object({ dst: optional(string(), "default") }));

/** A slot for addresses that neither this machine's routes nor another cluster use, for as long as the run lasts. */
async function reserveSlot(owner: Owner): Promise<number> {
  const routes = parse(Routes, JSON.parse(await runCommand(ip("-json", "-4", "route", "show", "table", "all"))));
  for (const slot of freeSlots(routes.map(({ dst }) => dst))) {
    if (await tryReserve(owner, slot)) return slot;
  }
  throw new HarnessError(
    `all ${CLUSTER_SLOTS} parts of 198.18.0.0/15 are in use: by other clusters, or routes lead there`,
  );
}

/** An abstract socket belongs to the network namespace whose routes are at stake, and goes with the process. */
async function tryReserve(owner: Owner, slot: number): Promise<boolean> {
  const server = createServer();
  owner.defer(() => void server.close());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(`\u0000mooring-network-${slot}`, resolve);
    });
  } catch (error) {
    if (codeOf(error) === "EADDRINUSE") return false;
    throw error;
  }
  server.unref();
  return true;
}

async function holdNamespace(owner: Owner): Promise<number> {
  const holder = owner.child({
    name: "network",
    command: "unshare",
    args: ["--net", "sleep", "infinity"],
    stopLimitMs: 0,
  });
  await holder.start();
  const { pid = 0 } = holder;
  const check = async (): Promise<void> => {
    if (networkOf(pid) === networkOf(process.pid)) throw new HarnessError("unshare has not finished");
  };
  await waitUntil(owner, { what: "the network namespace", limitMs: START_LIMIT_MS, child: holder, check, everyMs: 5 });
  return pid;
}

function networkOf(pid: number): string {
  return readlinkSync(`/proc/${pid}/ns/net`);
}

function ip(...args: readonly string[]): Command {
  return { command: "ip", args };
}

function lines(commands: readonly string[]): string {
  return `${commands.join("\n")}\n`;
}

function noop(): void {}
