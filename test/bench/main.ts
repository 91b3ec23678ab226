// Figures beside a named baseline in the same run; nothing here is asserted. `npm run bench -- parse mounts` runs some. Benches that run an
// agent in a pod's configuration need root (mounts, idle, first-fill, transitions, scale, restart).

import { createPrinter, type Printer, standardScreen } from "../demo/print.ts";
import type { Owner } from "../rig/process/owner.ts";
import { runOwned } from "../rig/process/run-owned.ts";
import { buildCluster, makeClaims, type Stage, startMooring } from "../rig/stand-in/stage.ts";
import { benchDeletions } from "./deletions.ts";
import { benchFaults } from "./faults.ts";
import { benchFirstFill } from "./first-fill.ts";
import { benchHostile } from "./hostile.ts";
import { benchIdle } from "./idle.ts";
import { benchJournal } from "./journal.ts";
import { unmountLatency, upstreamLatency } from "./latency.ts";
import { benchLists } from "./lists.ts";
import { benchLoad } from "./load.ts";
import { benchMounts, benchParse } from "./mounts.ts";
import { benchProvisionerFleet } from "./provisioner/fleet.ts";
import { benchProvisioner } from "./provisioner/real-nodes.ts";
import { benchRestart } from "./restart.ts";
import { benchScale } from "./scale.ts";
import { benchScrape } from "./scrape.ts";
import { numberSetting } from "./setting.ts";
import { percentile, summary } from "./statistics.ts";
import { benchTransitions } from "./transitions.ts";

async function benchLatency(stage: Stage, printer: Printer): Promise<void> {
  const rounds = numberSetting("MOORING_BENCH_ROUNDS", 200);
  printer.title(`\nEnd of use until the claim's status is stored, ${rounds} times`);
  const mooring = await unmountLatency(stage, "orders", rounds);
  const upstream = await upstreamLatency(stage, "cache", rounds);
  const ratio = percentile(mooring, 0.5) / percentile(upstream, 0.5);
  printer.table([
    ["WHAT", "N", "MIN", "P50", "P99", "MAX", "P50 RATIO"],
    ["Mooring: unmount -> condition", ...summary(mooring), ratio.toFixed(2)],
    ["baseline, kube-controller-manager: pod deleted -> Unused", ...summary(upstream), "1"],
  ]);
}

const minutes = (fallback: number): number => numberSetting("MOORING_BENCH_MINUTES", fallback);
/** Flags for the aggregator's Node.js: a heap limit, a profile. */
const NODE_OPTIONS = process.env.MOORING_BENCH_NODE_OPTIONS?.split(" ") ?? [];

/** Benches on the demo's stage: two nodes, Mooring, a few claims. */
const ON_STAGE: Readonly<Record<string, (stage: Stage, printer: Printer) => Promise<void> | void>> = {
  latency: benchLatency,
  parse: benchParse,
  mounts: benchMounts,
  idle: (stage, printer) => benchIdle(stage, printer, minutes(5)),
};

/** Benches with a cluster of their own. */
const ALONE: Readonly<Record<string, (owner: Owner, printer: Printer) => Promise<void>>> = {
  journal: benchJournal,
  hostile: benchHostile,
  scrape: benchScrape,
  lists: (owner, printer) => benchLists(owner, printer, { claims: numberSetting("MOORING_BENCH_CLAIMS", 200_000) }),
  provisioner: (owner, printer) =>
    benchProvisioner(owner, printer, {
      oneByOne: numberSetting("MOORING_BENCH_ROUNDS", 20),
      atOnce: numberSetting("MOORING_BENCH_CLAIMS", 100),
    }),
  "provisioner-fleet": (owner, printer) =>
    benchProvisionerFleet(owner, printer, {
      nodes: numberSetting("MOORING_BENCH_NODES", 200),
      claims: numberSetting("MOORING_BENCH_CLAIMS", 200),
    }),
  "first-fill": (owner, printer) =>
    benchFirstFill(owner, printer, { isApart: numberSetting("MOORING_BENCH_APART", 1) > 0 }),
  transitions: (owner, printer) => benchTransitions(owner, printer, { minutes: minutes(1), nodeOptions: NODE_OPTIONS }),
  deletions: (owner, printer) =>
    benchDeletions(owner, printer, {
      ordinary: numberSetting("MOORING_BENCH_CLAIMS", 1_000),
      mounted: numberSetting("MOORING_BENCH_MOUNTED", 300),
    }),
  faults: (owner, printer) =>
    benchFaults(owner, printer, {
      rounds: numberSetting("MOORING_BENCH_ROUNDS", 2),
      seed: numberSetting("MOORING_BENCH_SEED", 1),
    }),
  load: (owner, printer) =>
    benchLoad(owner, printer, {
      nodes: numberSetting("MOORING_BENCH_NODES", 5_000),
      minutes: minutes(10),
    }),
  scale: (owner, printer) => benchScale(owner, printer, atScale()),
  restart: (owner, printer) => benchRestart(owner, printer, atScale()),
};

function atScale() {
  const fraction = numberSetting("MOORING_BENCH_SCALE", 1);
  const bare = process.env.MOORING_BENCH_BARE;
  const bareClaims = bare === undefined || bare === "" ? undefined : numberSetting("MOORING_BENCH_BARE", 0);
  return { fraction, bareClaims, minutes: minutes(3), nodeOptions: NODE_OPTIONS };
}

/** The full size takes half an hour, and as long again to fill its cluster: the user has to name it. */
const DEFAULT_NAMES = [...Object.keys(ON_STAGE), "journal", "first-fill", "transitions"];

async function benchOnStage(owner: Owner, names: readonly string[]): Promise<void> {
  const cluster = await buildCluster(owner);
  const stage = { owner, ...cluster, ...(await startMooring(owner, cluster)) };
  await makeClaims(stage, ["orders", "cache"]);
  for (const name of names) await ON_STAGE[name]?.(stage, printer);
}

const printer = createPrinter(standardScreen());
const named = process.argv.slice(2);
const unknown = named.filter((name) => !(name in ON_STAGE) && !(name in ALONE));
if (unknown.length > 0) {
  const known = [...Object.keys(ON_STAGE), ...Object.keys(ALONE)].join(", ");
  process.stderr.write(`mooring: no bench ${unknown.join(", ")}; there are ${known}\n`);
  process.exitCode = 1;
} else {
  const names = named.length > 0 ? named : DEFAULT_NAMES;
  const onStage = names.filter((name) => name in ON_STAGE);
  if (onStage.length > 0) await runOwned((owner) => benchOnStage(owner, onStage));
  // One after the other, each with its own run: another API server would disturb the measurement.
  for (const [name, bench] of Object.entries(ALONE)) {
    if (names.includes(name)) await runOwned((owner) => bench(owner, printer));
  }
}
