// Restarts an aggregator beside claims that all have their condition: npm run simulate:restart [-- --claims N --nodes N]
import { parseArgs } from "node:util";
import { createMemoryJournal } from "../../../agent/sinks/journal.ts";
import { createPrinter, standardScreen } from "../../demo/print.ts";
import { publishedIn } from "../../judge/published.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { SimProcess } from "../engine/process.ts";
import { type LargeNode, makeCluster, NAMESPACE, type Sizes } from "./large-cluster.ts";

const USAGE =
  "Usage: npm run simulate:restart [-- --claims N --nodes N], both whole numbers, at least two claims for each node";

/** Prints the usage and exits when a flag is wrong. */
function readSizes(): Sizes {
  try {
    const { values } = parseArgs({
      options: { claims: { type: "string", default: "200000" }, nodes: { type: "string", default: "500" } },
    });
    const [claims, nodes] = [Number(values.claims), Number(values.nodes)];
    if (Number.isSafeInteger(claims) && Number.isSafeInteger(nodes) && nodes > 0 && claims >= 2 * (nodes + 1))
      return sizesOf(claims, nodes);
  } catch {
    // The usage explains the error.
  }
  process.stderr.write(`${USAGE}\n`);
  process.exit(2);
}

/** Three quarters of all claims are mounted. */
function sizesOf(claims: number, nodes: number): Sizes {
  return { claims, nodes, mountedOnEach: Math.floor((0.75 * claims) / (nodes + 1)) };
}

/** Counts the claim statuses that the aggregator writes and the API server stores. */
interface Writes {
  count: number;
  atMs: number;
  readonly claims: Set<string>;
}

function watchWrites({ api, scheduler }: Engine): Writes {
  const writes: Writes = { count: 0, atMs: 0, claims: new Set() };
  api.observe(({ resource, type, object, by = "" }) => {
    if (resource !== "persistentvolumeclaims" || type !== "MODIFIED" || !by.startsWith("aggregator")) return;
    writes.count += 1;
    writes.atMs = scheduler.nowMs();
    writes.claims.add(object.metadata.name);
  });
  return writes;
}

/** Waits until no status has been written for this long. */
async function untilCalm({ scheduler }: Engine, writes: Writes, calmMs: number): Promise<void> {
  do await scheduler.runUntil(scheduler.nowMs() + 1_000);
  while (scheduler.nowMs() - writes.atMs < calmMs);
}

function startAgents(engine: Engine, nodes: readonly LargeNode[]): void {
  for (const { name, agentPod, table, hasAgent } of nodes) {
    const machine = engine.machine({ name });
    if (hasAgent) engine.startAgent({ machine, node: name, podUid: agentPod, table, journal: createMemoryJournal() });
  }
}

function startAggregator(engine: Engine, pod: string): SimProcess {
  return engine.startAggregator({ machine: engine.machine({ name: `machine-of-${pod}` }), pod });
}

/** One pod of the first node ends for good, and its volume is unmounted. */
function endOne(engine: Engine, [node]: readonly LargeNode[]): string {
  const user = node?.users[0];
  if (node === undefined || user === undefined) throw new Error("a cluster in which nothing is used");
  node.table.unmount(user.podUid);
  engine.api.delete({ resource: "pods", namespace: NAMESPACE, name: user.pod });
  return user.claim;
}

function byReason({ api }: Engine, claims: number): readonly (readonly string[])[] {
  const counts = new Map<string, number>();
  for (let n = 1; n <= claims; n += 1) {
    const object = api.get({ resource: "persistentvolumeclaims", namespace: NAMESPACE, name: `data-${n}` });
    const { isUnused, reason } = (object && publishedIn(object)) ?? { isUnused: "", reason: "no status" };
    const key = `${reason} ${isUnused}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => [key, String(count)]);
}

async function play(sizes: Sizes): Promise<boolean> {
  const printer = createPrinter(standardScreen());
  const engine = createEngine({ seed: 1, onLog: tellWarnings });
  const nodes = makeCluster(engine, sizes);
  const writes = watchWrites(engine);
  startAgents(engine, nodes);
  const first = startAggregator(engine, "aggregator-a");
  await untilCalm(engine, writes, 150_000);
  printer.title(`${sizes.claims} claims, ${sizes.nodes} nodes with agents, one without; ${writes.count} first writes`);
  printer.table(byReason(engine, sizes.claims));

  first.crash();
  const claim = endOne(engine, nodes);
  const before = writes.count;
  writes.claims.clear();
  await engine.scheduler.runUntil(engine.scheduler.nowMs() + 20_000);
  startAggregator(engine, "aggregator-b");
  writes.atMs = engine.scheduler.nowMs();
  await untilCalm(engine, writes, 300_000);
  printer.title("\nAfter another start, with one claim whose use ended meanwhile, and five minutes without a write");
  printer.table([
    ["writes", String(writes.count - before)],
    ["of claims", [...writes.claims].join(" ")],
    ["memory of all of it, MiB", (process.memoryUsage.rss() / 1024 / 1024).toFixed(0)],
  ]);
  printer.table(byReason(engine, sizes.claims));
  await engine.close();
  return writes.claims.size === 1 && writes.claims.has(claim);
}

function tellWarnings(
  by: string,
  { level, message, fields }: { readonly level: string; readonly message: string; readonly fields: object },
): void {
  const isNews = by.startsWith("aggregator") && message !== "claim status written";
  if (isNews || level === "error") process.stderr.write(`${by}: ${message} ${JSON.stringify(fields)}\n`);
}

if (!(await play(readSizes()))) process.exitCode = 1;
