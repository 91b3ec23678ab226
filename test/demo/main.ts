// The story of Mooring on a real API server with real mounts: each step is checked, the first that does not hold ends it.
import { parseArgs } from "node:util";
import { explain, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { runOwned } from "../process/run-owned.ts";
import { buildCluster, makeClaims, NAMESPACE, type Stage, startMooring } from "../stand-in/stage.ts";
import { createPrinter, type Printer, standardScreen } from "./print.ts";
import {
  agentKilled,
  aggregatorKilled,
  etcdKilled,
  forceDelete,
  idleClaim,
  type Measured,
  type Scene,
  twoNodes,
} from "./story.ts";

const HELP = `Plays Mooring's main job on a real API server and this machine's own mount table, step by step.

  npm run demo -- [options]

  --keep    leave the cluster and Mooring running at the end, until Ctrl-C
  --help    this text
`;

const CLAIMS = ["orders", "reports", "cache", "shared"];
const SCENES: readonly Scene[] = [idleClaim, forceDelete, aggregatorKilled, agentKilled, twoNodes, etcdKilled];

async function setTheStage(owner: Owner, printer: Printer): Promise<Stage> {
  printer.step("A cluster with two nodes, and Mooring on it");
  const cluster = await buildCluster(owner);
  printer.line("ok", `API server, etcd and controller manager at ${cluster.plane.url}`);
  for (const { node } of cluster.kubelets)
    printer.line("ok", `${node}: a mount namespace of its own, mounts made as a kubelet makes them`);
  const mooring = await startMooring(owner, cluster);
  printer.line("ok", "Mooring: one aggregator, an agent on each node");
  const stage = { owner, ...cluster, ...mooring };
  await makeClaims(stage, CLAIMS);
  printer.line("ok", `claims ${CLAIMS.join(", ")}: bound by the controller manager`);
  return stage;
}

function summarize(printer: Printer, measured: readonly Measured[], seconds: string): void {
  printer.title("\nSummary");
  printer.table([
    ["STEP", "STATUS STORED AFTER", "PUBLISHED LATE BY", "STATED UNCERTAINTY"],
    ...measured.map(({ step, delayMs, lateMs, widthMs }) => [
      step,
      ms(delayMs),
      ms(lateMs),
      widthMs === undefined ? "-" : ms(widthMs),
    ]),
  ]);
  printer.text(
    `\nAll steps hold (${seconds} s). "Late" is the safe side: an idle time is never longer than the truth.`,
  );
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function explainHowToLook(printer: Printer, { plane, aggregator, agents }: Stage): void {
  printer.title("\nLeft running. Look around, Ctrl-C ends everything:");
  printer.text(`  export KUBECONFIG=${plane.kubeconfig}`);
  printer.text(`  ${plane.kubectl} -n ${NAMESPACE} describe pvc orders`);
  printer.text(`  npm run claims -- -n ${NAMESPACE} --aggregator ${aggregator.url}`);
  for (const { child, url } of [aggregator, ...agents])
    printer.text(`  curl ${url}/readyz?verbose   # ${child.name}, log: ${child.logFile}`);
}

async function play(owner: Owner, keep: boolean): Promise<void> {
  const printer = createPrinter(standardScreen());
  const begunAt = owner.clock.monotonicMs();
  printer.title("Mooring: when was a volume really last used?");
  const stage = await setTheStage(owner, printer);
  const measured: Measured[] = [];
  for (const scene of SCENES) measured.push(...(await scene(stage, printer)));
  summarize(printer, measured, ((owner.clock.monotonicMs() - begunAt) / 1000).toFixed(1));
  if (!keep) return;
  explainHowToLook(printer, stage);
  while (!owner.signal.aborted) await owner.clock.sleep(60_000, owner.signal);
}

function readFlags(argv: readonly string[]): { readonly keep: boolean; readonly help: boolean } {
  try {
    const options = { keep: { type: "boolean", default: false }, help: { type: "boolean", default: false } } as const;
    return parseArgs({ args: [...argv], options }).values;
  } catch (error) {
    throw new HarnessError(`${explain(error)} (--help lists the options)`);
  }
}

try {
  const { keep, help } = readFlags(process.argv.slice(2));
  if (help) process.stdout.write(HELP);
  else await runOwned((owner) => play(owner, keep));
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
