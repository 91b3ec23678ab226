import { setPriority } from "node:os";
import { createSystemRandom } from "../../common/runtime/random.ts";
import type { Printer } from "../demo/print.ts";
import { startControlPlane } from "../rig/control-plane/control-plane.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";
import { startAggregator } from "./aggregator-process.ts";
import { forEachIndex } from "./cluster/concurrency.ts";
import { nodeObject } from "./cluster/nodes.ts";
import { createWriter } from "./cluster/writer.ts";
import { LoadAgent, type Saying, type Sent } from "./load/load-agent.ts";
import { agentTokens, type ReportWay, reportFlags, securedWay, wayTo, writeBarePair } from "./load/report-way.ts";
import { measurePhase, type PhaseFigures, phaseTable } from "./phases.ts";
import { withNiceness } from "./priority.ts";
import { cpuMs, residentMiB } from "./process-figures.ts";
import { percentile } from "./statistics.ts";

/** The number of nodes, and how long they report at their own pace. */
export interface LoadOptions {
  readonly nodes: number;
  readonly minutes: number;
}

/** An agent's interval, without its jitter. */
const HEARTBEAT_MS = 30_000;
/** Concurrent reports when all arrive as fast as possible; more would only wait longer. */
const AT_A_TIME = 64;
/** The API server and the fleet belong on other machines: here they run with a lower priority. */
const NICE = 10;
const LIMIT_MS = 180_000;

/** The figures of a span of reports. */
interface LoadFigures {
  readonly what: string;
  readonly seconds: number;
  readonly sent: readonly Sent[];
  readonly failed: number;
  readonly rss: readonly number[];
  readonly cpuPercent: number;
}

interface Load {
  readonly owner: Owner;
  readonly agents: readonly LoadAgent[];
  readonly child: OwnedChild;
}

/** Reports of a whole fleet to one real aggregator: all at once, then as fast as it takes them, then at the agents' own pace. */
export async function benchLoad(owner: Owner, printer: Printer, { nodes, minutes }: LoadOptions): Promise<void> {
  setPriority(NICE);
  const plane = await startControlPlane(owner);
  await applyManifests(plane);
  const writer = await createWriter(owner, plane);
  await forEachIndex({ count: nodes, workers: AT_A_TIME, signal: owner.signal }, async (index) => {
    await writer.create("/api/v1/nodes", nodeObject(index, []), "kubelet");
  });
  const tokens = await agentTokens(owner, plane, nodes);
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const aggregator = await startAggregator(owner, plane, { nice: -NICE, args: reportFlags(port) });
  const way = await securedWay(owner, plane, { port, tokens });
  const load = fleetOf(owner, { way, nodes, child: aggregator.child });
  await firstTaken(load);
  const figures: LoadFigures[] = [];
  const phases: PhaseFigures[] = [];
  const phase = async (name: string, run: () => Promise<LoadFigures>): Promise<void> => {
    phases.push(await measurePhase(owner, aggregator, { name, body: async () => void figures.push(await run()) }));
  };
  await phase("first reports of all", () => all(load, "report"));
  await aggregator.ready(LIMIT_MS);
  await phase("changed reports, as fast as taken", () => all(load, "changed report"));
  await phase("heartbeats, as fast as taken", () => all(load, "heartbeat"));
  await phase(`${minutes} min at agents' pace`, () => atPace(load, minutes));
  const baseline = await bareFigures(owner, { way, nodes });
  printer.title(`\nReports of ${nodes} agents to one aggregator (${AT_A_TIME} at a time where as fast as taken)`);
  printer.table(loadTable(figures, baseline));
  printer.table(phaseTable(phases));
}

/** An aggregator takes no report before it leads and has listed everything. */
function firstTaken({ owner, agents, child }: Load): Promise<void> {
  const check = async (): Promise<void> => {
    const sent = await agents[0]?.send("report", owner.signal);
    if (sent?.status !== 200) throw new Error(`a report was answered with ${sent?.status}`);
  };
  return waitUntil(owner, { what: "the first report to be taken", limitMs: LIMIT_MS, child, check });
}

interface FleetChoice {
  readonly way: ReportWay;
  readonly nodes: number;
  readonly child: OwnedChild;
}

function fleetOf(owner: Owner, { way, nodes, child }: FleetChoice): Load {
  const agents = Array.from({ length: nodes }, (_, node) => new LoadAgent(owner.clock, way, node));
  owner.defer(async () => void (await Promise.all(agents.map((agent) => agent.close()))));
  return { owner, agents, child };
}

/** Each agent once, this many at a time. */
function all({ owner, agents, child }: Load, saying: Saying): Promise<LoadFigures> {
  return measured(owner, { child, what: `${saying}s at once` }, async (send) => {
    await forEachIndex({ count: agents.length, workers: AT_A_TIME, signal: owner.signal }, async (index) => {
      await send(agents[index]?.send(saying, owner.signal));
    });
  });
}

/** Each agent every half minute, evenly spread; memory is read every minute. */
function atPace({ owner, agents, child }: Load, minutes: number): Promise<LoadFigures> {
  return measured(owner, { child, what: `heartbeats for ${minutes} min` }, async (send, readMemory) => {
    const beginMs = owner.clock.monotonicMs();
    const [total, everyMs] = [minutes * 2 * agents.length, HEARTBEAT_MS / agents.length];
    const under: Promise<void>[] = [];
    for (let index = 0; index < total && !owner.signal.aborted; index += 1) {
      const waitMs = beginMs + index * everyMs - owner.clock.monotonicMs();
      if (waitMs > 0) await owner.clock.sleep(waitMs, owner.signal);
      under.push(send(agents[index % agents.length]?.send("heartbeat", owner.signal)));
      if (index % (2 * agents.length) === 0) readMemory();
    }
    await Promise.all(under);
  });
}

type Send = (message: Promise<Sent> | undefined) => Promise<void>;

async function measured(
  { clock, signal }: Owner,
  { child, what }: { readonly child: OwnedChild; readonly what: string },
  run: (send: Send, readMemory: () => void) => Promise<void>,
): Promise<LoadFigures> {
  const sent: Sent[] = [];
  const rss: number[] = [];
  let failed = 0;
  const [begunAt, cpuBefore] = [clock.monotonicMs(), cpuMs(child.pid)];
  const send: Send = async (message) => {
    try {
      if (message !== undefined) sent.push(await message);
    } catch (error) {
      if (signal.aborted) throw error;
      failed += 1;
    }
  };
  await run(send, () => void rss.push(residentMiB(child.pid)));
  rss.push(residentMiB(child.pid));
  const elapsedMs = clock.monotonicMs() - begunAt;
  const cpuPercent = (100 * (cpuMs(child.pid) - cpuBefore)) / elapsedMs;
  return { what, seconds: elapsedMs / 1000, sent, failed, rss, cpuPercent };
}

/** The same reports to a server that ignores them. */
async function bareFigures(
  owner: Owner,
  { way, nodes }: { readonly way: ReportWay; readonly nodes: number },
): Promise<readonly LoadFigures[]> {
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const script = new URL("load/bare-server.ts", import.meta.url).pathname;
  const { certificate, files } = await writeBarePair(owner);
  const command = [process.execPath, script, String(port), ...files];
  const child = owner.child({ name: "bare-server", ...withNiceness(-NICE, command) });
  await child.start();
  const load = fleetOf(owner, { way: wayTo(way, { port, certificate }), nodes, child });
  await firstTaken(load);
  return [await all(load, "report"), await all(load, "changed report"), await all(load, "heartbeat")];
}

function loadTable(figures: readonly LoadFigures[], bare: readonly LoadFigures[]): readonly (readonly string[])[] {
  const head = ["WHAT", "ACCEPTED", "OTHERS", "ACCEPTED/S", "P50", "P99", "MAX", "CPU", "RSS MIB"];
  const rows = figures.map((one) => rowOf("aggregator", one));
  return [head, ...rows, ...bare.map((one) => rowOf("baseline, node:https alone", one))];
}

function rowOf(who: string, { what, seconds, sent, failed, rss, cpuPercent }: LoadFigures): readonly string[] {
  const accepted = sent.filter(({ status }) => status === 200);
  const ms = accepted.map((one) => one.ms);
  const at = (fraction: number): string => `${percentile(ms, fraction).toFixed(1)} ms`;
  return [
    `${who}: ${what}`,
    ...[String(accepted.length), String(sent.length - accepted.length + failed)],
    ...[(accepted.length / seconds).toFixed(0), at(0.5), at(0.99), at(1)],
    ...[`${cpuPercent.toFixed(0)} %`, rss.map((mib) => mib.toFixed(0)).join(" ")],
  ];
}
