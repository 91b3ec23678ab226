import type { Printer } from "../../demo/print.ts";
import { fileOf, runUse } from "../../e2e/provisioner/pods.ts";
import { openProvisionerStage, type ProvisionerStage } from "../../e2e/provisioner/stage.ts";
import { NODES } from "../../e2e/scenarios/stage.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { percentile, summary } from "../statistics.ts";
import { BASELINE, BASELINE_FOLDER, startBaseline } from "./baseline.ts";
import { reboot } from "./reboot.ts";
import { type UseFigures, Uses } from "./uses.ts";
import { smallWrites, type WriteFigures } from "./writes.ts";

/** How many claims one after the other, and how many at once. */
export interface RealNodeSizes {
  readonly oneByOne: number;
  readonly atOnce: number;
}

const OURS = "ext4";
const WHAT = {
  provisionedMs: "node and provisioner named -> PersistentVolume there",
  boundMs: "claim and pod requested -> Bound",
  runningMs: "claim and pod requested -> the pod runs",
  deletedMs: "pod gone -> PersistentVolume gone",
} as const satisfies Record<keyof UseFigures, string>;

/** The provisioner beside local-path-provisioner, on the same two nodes with real kubelets, in turns. */
export async function benchProvisioner(owner: Owner, printer: Printer, sizes: RealNodeSizes): Promise<void> {
  const stage = await openProvisionerStage(owner);
  await startBaseline(stage);
  const all = [await Uses.of(stage, OURS), await Uses.of(stage, BASELINE)] as const;
  await warmUp(all);
  const [ours, theirs] = await inTurns(all, sizes.oneByOne);
  table(printer, { title: `\n${sizes.oneByOne} claims one after the other`, ours, theirs });
  const burst = (uses: Uses, prefix: string): Promise<readonly UseFigures[]> =>
    uses.run(namesOf(prefix, sizes.atOnce), (index) => NODES[index % 2] ?? "node-1");
  const [many, baseline] = [await burst(all[0], "many"), await burst(all[1], "many-baseline")];
  table(printer, { title: `\n${sizes.atOnce} claims at once on two nodes`, ours: many, theirs: baseline });
  await ownShare(printer, all, sizes.atOnce);
  writesTable(printer, await writesOf(stage));
  for (let index = 0; index < 20; index += 1)
    await runUse(stage, { name: `stays-${index}`, node: "node-1", size: "8Mi" });
  const { volumes, attachingMs } = await reboot(stage);
  printer.title("\nA node that comes back after a power cut");
  printer.table([
    ["VOLUMES", "FIRST ATTACHED -> ALL ATTACHED"],
    [String(volumes), `${Math.round(attachingMs)} ms`],
  ]);
}

/** The same without pods, whose start takes most of two processors. */
async function ownShare(printer: Printer, [ours, theirs]: readonly [Uses, Uses], count: number): Promise<void> {
  const select = (uses: Uses, prefix: string): Promise<readonly number[]> =>
    uses.select(namesOf(prefix, count), (index) => NODES[index % 2] ?? "node-1");
  const [own, base] = [await select(ours, "selected"), await select(theirs, "selected-baseline")];
  printer.title(`\n${count} claims at once without pods`);
  printer.table([
    ["WHAT", "PROVISIONER", "N", "MIN", "P50", "P99", "MAX", "P50 RATIO"],
    [WHAT.provisionedMs, "Mooring", ...summary(own), (percentile(own, 0.5) / percentile(base, 0.5)).toFixed(2)],
    ["", `baseline: ${BASELINE}`, ...summary(base), "1"],
  ]);
}

/** The first use of a node takes longer. */
async function warmUp(all: readonly Uses[]): Promise<void> {
  for (const [index, uses] of all.entries())
    await uses.run(namesOf(`warm-${index}`, 2), (at) => NODES[at % 2] ?? "node-1");
}

async function inTurns(
  [ours, theirs]: readonly [Uses, Uses],
  count: number,
): Promise<readonly [readonly UseFigures[], readonly UseFigures[]]> {
  const figures: [UseFigures[], UseFigures[]] = [[], []];
  for (let index = 0; index < count; index += 1) {
    const nodeOf = () => NODES[index % 2] ?? "node-1";
    figures[0].push(...(await ours.run([`ours-${index}`], nodeOf)));
    figures[1].push(...(await theirs.run([`theirs-${index}`], nodeOf)));
  }
  return figures;
}

function namesOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

interface Sides {
  readonly title: string;
  readonly ours: readonly UseFigures[];
  readonly theirs: readonly UseFigures[];
}

function table(printer: Printer, { title, ours, theirs }: Sides): void {
  printer.title(title);
  const rows = (["provisionedMs", "boundMs", "runningMs", "deletedMs"] as const).flatMap((key) => {
    const [own, base] = [ours.map((one) => one[key]), theirs.map((one) => one[key])];
    const ratio = (percentile(own, 0.5) / percentile(base, 0.5)).toFixed(2);
    return [
      [WHAT[key], "Mooring", ...summary(own), ratio],
      ["", `baseline: ${BASELINE}`, ...summary(base), "1"],
    ];
  });
  printer.table([["WHAT", "PROVISIONER", "N", "MIN", "P50", "P99", "MAX", "P50 RATIO"], ...rows]);
}

/** A volume's filesystem on its loop device, beside a folder on a disk like that under it. */
async function writesOf(stage: ProvisionerStage): Promise<Readonly<Record<"ours" | "theirs", WriteFigures>>> {
  const use = await runUse(stage, { name: "writes", node: "node-1", size: "64Mi" });
  const theirs = smallWrites(stage.owner.clock, stage.node("node-1").path(`${BASELINE_FOLDER}/writes`));
  return { ours: smallWrites(stage.owner.clock, fileOf(stage, use, "writes")), theirs };
}

function writesTable(printer: Printer, { ours, theirs }: Readonly<Record<"ours" | "theirs", WriteFigures>>): void {
  const row = (what: string, samples: readonly number[], base: readonly number[]): readonly string[] => {
    const us = (fraction: number): string => `${Math.round(percentile(samples, fraction) * 1000)} µs`;
    return [
      what,
      String(samples.length),
      us(0.5),
      us(0.99),
      (percentile(samples, 0.5) / percentile(base, 0.5)).toFixed(2),
    ];
  };
  printer.title("\n4 KiB written and synced");
  printer.table([
    ["WHAT", "N", "P50", "P99", "P50 RATIO"],
    row("Mooring, first time", ours.first, theirs.first),
    row(`baseline: ${BASELINE}, first time`, theirs.first, theirs.first),
    row("Mooring, again", ours.again, theirs.again),
    row(`baseline: ${BASELINE}, again`, theirs.again, theirs.again),
  ]);
}
