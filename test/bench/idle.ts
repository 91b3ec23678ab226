import type { Printer } from "../demo/print.ts";
import type { Stage } from "../rig/stand-in/stage.ts";
import { startPodAgent } from "./agent-process.ts";
import { bundled, UNBUNDLED } from "./pod-process.ts";
import { residentMiB } from "./process-figures.ts";

/** The cost of an idle agent. */
interface IdleCost {
  readonly mib: number;
  readonly cpuPercent: number;
  readonly requests: number;
  readonly connections: number;
}

/** Memory, processor, requests and connections of agents on a quiet node, beside a Node.js process that does nothing. */
export async function benchIdle(stage: Stage, printer: Printer, minutes: number): Promise<void> {
  const { owner } = stage;
  printer.title(`\nAn idle agent, in a pod's configuration, over ${minutes} minutes`);
  const bare = owner.child({ name: "bare", command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] });
  await bare.start();
  const script = await bundled(owner.folder, "agent");
  const [loose, packed] = await Promise.all([
    idleCost(stage, { name: "unbundled", script: UNBUNDLED.agent, minutes }),
    idleCost(stage, { name: "bundled", script, minutes }),
  ]);
  const baseline = residentMiB(bare.pid);
  const row = (name: string, { mib, cpuPercent, requests, connections }: IdleCost): string[] => [
    name,
    `${mib.toFixed(0)} MiB`,
    (mib / baseline).toFixed(2),
    `${cpuPercent.toFixed(2)} %`,
    String(requests),
    String(connections),
  ];
  printer.table([
    ["WHAT", "RSS", "RATIO", "CPU OF A CORE", "API REQUESTS", "CONNECTIONS"],
    ["baseline, a Node.js process that does nothing", `${baseline.toFixed(0)} MiB`, "1", "-", "-", "-"],
    row("agent, unbundled", loose),
    row("agent, bundled", packed),
  ]);
  printer.text(
    "  Connections: one to the API server, one to the aggregator. Requests: those to the API server after the start.",
  );
}

async function idleCost(
  stage: Stage,
  { name, script, minutes }: { readonly name: string; readonly script: string; readonly minutes: number },
): Promise<IdleCost> {
  const { owner, kubelets, aggregator } = stage;
  // Two agents of one node take turns at reporting; the aggregator drops stale reports, and neither does more for it.
  const agent = await startPodAgent(stage, { name, script, kubelet: kubelets[1], aggregatorUrl: aggregator.url });
  // The cost of the start does not count.
  await owner.clock.sleep(5_000, owner.signal);
  const [cpuBefore, requestsBefore, begunAt] = [agent.cpuMs(), await requestsOf(agent.url), owner.clock.monotonicMs()];
  await owner.clock.sleep(minutes * 60_000, owner.signal);
  const elapsedMs = owner.clock.monotonicMs() - begunAt;
  const cost = {
    mib: agent.residentMiB(),
    cpuPercent: (100 * (agent.cpuMs() - cpuBefore)) / elapsedMs,
    connections: agent.connections(),
    requests: (await requestsOf(agent.url)) - requestsBefore,
  };
  await agent.child.stop();
  return cost;
}

async function requestsOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = text.matchAll(/^rest_client_requests_total\{[^}]*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
