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
import { answered, bundled, startInPod } from "./pod-process.ts";
import { withNiceness } from "./priority.ts";

/** An aggregator under measurement. */
export interface MeasuredAggregator {
  readonly child: OwnedChild;
  readonly url: string;
  readonly metrics: () => Promise<Exposition>;
  /** The metrics of a process of the same niceness that does nothing: what its event loop shows is the machine's. */
  readonly idleMetrics: () => Promise<Exposition>;
  /** Waits until it is ready: all is listed, and the nodes have been heard. */
  readonly ready: (limitMs: number) => Promise<void>;
  /** Stops it as a rollout does, and starts it again at the same place; returns as soon as it answers. */
  readonly restart: () => Promise<void>;
}

/** What else Node.js and the aggregator are told, and how much is added to the niceness. */
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
  const child = await startInPod(owner, plane, {
    name: "aggregator",
    account: "mooring-aggregator",
    script: await bundled(owner.folder, "aggregator"),
    // A line for each transition is what a real one writes, too.
    args: ["--api-bind-address", `127.0.0.1:${port}`, ...args],
    nodeOptions,
    nice,
  });
  const alive = (): Promise<void> => answered(owner, { child, url: `${url}/livez`, limitMs: 30_000 });
  await alive();
  const idle = await startIdleLoop(owner, nice);
  return {
    child,
    url,
    metrics: () => expositionAt(owner, child, `${url}/metrics`),
    idleMetrics: () => expositionAt(owner, idle.child, idle.url),
    ready: (limitMs) => answered(owner, { child, url: `${url}/readyz?verbose`, limitMs }),
    restart: async () => {
      await child.stop();
      await child.start();
      await alive();
    },
  };
}

/**
 * By a connection of its own, and again if need be: while this process is busy with 200,000 objects it sends so late that the other side has
 * given up by then.
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
