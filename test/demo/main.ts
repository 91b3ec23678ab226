// Plays Mooring's story on a real API server with real mounts. It checks each step, and the first failed check ends it.
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { runOwned } from "../rig/process/run-owned.ts";
import type { Measured, Scene } from "./checks.ts";
import { type DemoFlags, HELP, readFlags } from "./flags.ts";
import { localVolume } from "./local-volume.ts";
import { openNodeWorld } from "./node-world.ts";
import { createPrinter, type Printer, standardScreen } from "./print.ts";
import { leaveMounted } from "./protected-claim.ts";
import { openStandInWorld } from "./stand-in-world.ts";
import { powerCut, SCENES } from "./story.ts";
import type { World } from "./world.ts";

function scenesFor({ power, poolNodes }: World): readonly Scene[] {
  // A node that boots no longer has the disk of its pool.
  return [
    ...SCENES,
    ...(poolNodes.length === 0 ? [] : [localVolume]),
    ...(power === undefined ? [] : [powerCut(power)]),
  ];
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

async function printInspectCommands(printer: Printer, world: World): Promise<void> {
  const ways = [...(await world.inspectCommands()), ...(await leaveMounted(world))];
  printer.title("\nLeft running. Look around, Ctrl-C ends everything:");
  for (const way of ways) printer.text(`  ${way}`);
}

async function play(owner: Owner, { node, provisioner, keep }: DemoFlags): Promise<void> {
  const isReal = node || provisioner;
  const printer = createPrinter(standardScreen());
  const begunAt = owner.clock.monotonicMs();
  printer.title("Mooring: when was a volume really last used?");
  printer.step(`A cluster with two ${isReal ? "real " : ""}nodes, and Mooring on it`);
  const world = await (isReal ? openNodeWorld(owner, printer, provisioner) : openStandInWorld(owner, printer));
  const measured: Measured[] = [];
  for (const scene of scenesFor(world)) measured.push(...(await scene(world, printer)));
  summarize(printer, measured, ((owner.clock.monotonicMs() - begunAt) / 1000).toFixed(1));
  if (!keep) return;
  await printInspectCommands(printer, world);
  while (!owner.signal.aborted) await owner.clock.sleep(60_000, owner.signal);
}

try {
  const flags = readFlags(process.argv.slice(2));
  if (flags.help) process.stdout.write(HELP);
  else await runOwned((owner) => play(owner, flags));
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
