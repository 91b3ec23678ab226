// Figures, side by side with a named baseline in one run; nothing here is asserted. Root is needed for the memory table.

import { createPrinter, type Printer, standardScreen } from "../demo/print.ts";
import type { Owner } from "../process/owner.ts";
import { runOwned } from "../process/run-owned.ts";
import { buildCluster, makeClaims, type Stage, startMooring } from "../stand-in/stage.ts";
import { unmountLatency, upstreamLatency } from "./latency.ts";
import { agentMemory } from "./memory.ts";
import { percentile, summary } from "./statistics.ts";

const ROUNDS = Number(process.env.MOORING_BENCH_ROUNDS ?? 200);

async function benchLatency(stage: Stage, printer: Printer): Promise<void> {
  printer.title(`\nEnd of use until the claim's status is stored, ${ROUNDS} times`);
  const mooring = await unmountLatency(stage, "orders", ROUNDS);
  const upstream = await upstreamLatency(stage, "cache", ROUNDS);
  const ratio = percentile(mooring, 0.5) / percentile(upstream, 0.5);
  printer.table([
    ["WHAT", "N", "MIN", "P50", "P99", "MAX", "P50 RATIO"],
    ["Mooring: unmount -> condition", ...summary(mooring), ratio.toFixed(2)],
    ["baseline, kube-controller-manager: pod deleted -> Unused", ...summary(upstream), "1"],
  ]);
}

async function benchMemory(stage: Stage, printer: Printer): Promise<void> {
  printer.title("\nResident memory of the agent, in a pod's configuration, 10 s after it is ready");
  const { bare, unbundled, bundled } = await agentMemory(stage);
  const row = (name: string, mib: number): string[] => [name, `${mib.toFixed(0)} MiB`, (mib / bare).toFixed(2)];
  printer.table([
    ["WHAT", "RSS", "RATIO"],
    row("baseline, a Node.js process that does nothing", bare),
    row("agent, unbundled", unbundled),
    row("agent, bundled", bundled),
  ]);
}

async function bench(owner: Owner): Promise<void> {
  const printer = createPrinter(standardScreen());
  const cluster = await buildCluster(owner);
  const stage = { owner, ...cluster, ...(await startMooring(owner, cluster)) };
  await makeClaims(stage, ["orders", "cache"]);
  await benchLatency(stage, printer);
  await benchMemory(stage, printer);
}

await runOwned(bench);
