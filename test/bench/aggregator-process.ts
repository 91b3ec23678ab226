import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { createSystemRandom } from "../../common/runtime/random.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type Exposition, parseExposition } from "./exposition.ts";
import { ownLagP99, readLateTurns } from "./late-turns.ts";
import { answered, bundled, probeFlags, startInPod } from "./pod-process.ts";
import { withNiceness } from "./priority.ts";

/** An aggregator under measurement. */
export interface MeasuredAggregator {
  readonly child: OwnedChild;
  readonly url: string;
  readonly metrics: () => Promise<Exposition>;
  /** Its event loop's lag between two times since the epoch, without garbage collection; see `ownLagP99`. Milliseconds. */
  readonly ownLagP99: (span: { readonly fromMs: number; readonly toMs: number }) => number;
  /** The metrics of an idle process of the same niceness: its event loop shows the lag of the machine. */
  readonly idleMetrics: () => Promise<Exposition>;
  /** Waits until it has listed everything. */
  readonly listed: (limitMs: number) => Promise<void>;
  /** Waits until it is ready: it has listed everything, and the nodes have reported. */
  readonly ready: (limitMs: number) => Promise<void>;
  /** Stops it as a rollout does, and restarts it at the same address; returns as soon as it answers. */
  readonly restart: () => Promise<void>;
}

/** Further flags of Node.js and of the aggregator, and the added niceness. */
export interface AggregatorChoice {
  readonly nodeOptions?: readonly string[];
  readonly nice?: number;
  readonly args?: readonly string[];
}

/** Starts the bundled aggregator as a pod runs it, with the rights of its manifest; returns as soon as it answers. */
export async function startAggregator(
  owner: Owner,
  plane: ControlPlane,
  { nodeOptions = [], nice = 0, args = [] }: AggregatorChoice = {},
): Promise<MeasuredAggregator> {
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const url = `http://127.0.0.1:${port}`;
  const lagFile = `${owner.folder}/aggregator-lag`;
  const child = await startInPod(owner, plane, {
    name: "aggregator",
    account: "mooring-aggregator",
    script: await bundled(owner.folder, "aggregator"),
    // A real aggregator, too, logs a line for each transition.
    args: ["--api-bind-address", `127.0.0.1:${port}`, ...args],
    nodeOptions: [...nodeOptions, ...(await probeFlags(owner.folder, lagFile))],
    nice,
  });
  const alive = (): Promise<void> => answered(owner, { child, url: `${url}/livez`, limitMs: 30_000 });
  await alive();
  const idle = await startIdleLoop(owner, nice);
  return {
    child,
    url,
    metrics: () => expositionAt(owner, child, `${url}/metrics`),
    ownLagP99: (span) => ownLagP99(readLateTurns(lagFile), span),
    idleMetrics: () => expositionAt(owner, idle.child, idle.url),
    listed: (limitMs) => listed(owner, { child, url }, limitMs),
    ready: (limitMs) => answered(owner, { child, url: `${url}/readyz?verbose`, limitMs }),
    restart: async () => {
      await child.stop();
      await child.start();
      await alive();
    },
  };
}

/**
 * Uses a connection of its own, and retries if necessary: while this process is busy with 200,000 objects, it sends so late that the peer
 * has given up.
 */
async function expositionAt(owner: Owner, child: OwnedChild, url: string): Promise<Exposition> {
  let body = "";
  const check = async (): Promise<void> => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { agent: false }, resolve).on("error", reject);
    });
    body = await text(answer);
    if (answer.statusCode !== 200) throw new HarnessError(`${answer.statusCode}: ${body.slice(0, 500)}`);
  };
  await waitUntil(owner, { what: url, limitMs: 120_000, child, check });
  return parseExposition(body);
}

async function listed(
  owner: Owner,
  { child, url }: Pick<MeasuredAggregator, "child" | "url">,
  limitMs: number,
): Promise<void> {
  const check = async (): Promise<void> => {
    const text = await (await fetch(`${url}/readyz?verbose`)).text();
    if (!/^\[\+\]cluster /m.test(text)) throw new Error(text);
  };
  await waitUntil(owner, { what: "aggregator to list the cluster", limitMs, child, everyMs: 50, check });
}

async function startIdleLoop(
  owner: Owner,
  nice: number,
): Promise<{ readonly child: OwnedChild; readonly url: string }> {
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const script = new URL("idle-loop.ts", import.meta.url).pathname;
  const child = owner.child({ name: "idle-loop", ...withNiceness(nice, [process.execPath, script, String(port)]) });
  await child.start();
  const url = `http://127.0.0.1:${port}/`;
  await answered(owner, { child, url, limitMs: 30_000 });
  return { child, url };
}
