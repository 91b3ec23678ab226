// Figures, side by side with a named baseline in one run; nothing here is asserted. `npm run bench -- parse mounts` runs some.
// Root is needed where an agent runs in a pod's configuration (mounts, idle).

import { createPrinter, type Printer, standardScreen } from "../demo/print.ts";
import type { Owner } from "../process/owner.ts";
import { runOwned } from "../process/run-owned.ts";
import { buildCluster, makeClaims, type Stage, startMooring } from "../stand-in/stage.ts";
import { benchIdle } from "./idle.ts";
import { unmountLatency, upstreamLatency } from "./latency.ts";
import { benchMounts, benchParse } from "./mounts.ts";
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

type Bench = (stage: Stage, printer: Printer) => Promise<void> | void;

const BENCHES: Readonly<Record<string, Bench>> = {
  latency: benchLatency,
  parse: benchParse,
  mounts: benchMounts,
  idle: (stage, printer) => benchIdle(stage, printer, Number(process.env.MOORING_BENCH_MINUTES ?? 5)),
};

async function bench(owner: Owner, names: readonly string[]): Promise<void> {
  const printer = createPrinter(standardScreen());
  const cluster = await buildCluster(owner);
  const stage = { owner, ...cluster, ...(await startMooring(owner, cluster)) };
  await makeClaims(stage, ["orders", "cache"]);
  for (const name of names) await BENCHES[name]?.(stage, printer);
}

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  process.stderr.write(`mooring: no bench ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}\n`);
  process.exitCode = 1;
} else await runOwned((owner) => bench(owner, asked.length > 0 ? asked : Object.keys(BENCHES)));
