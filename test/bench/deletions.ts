import type { Printer } from "../demo/print.ts";
import { type Owner, openOwner } from "../process/owner.ts";
import { deleteMounted, deleteUnused, writesPerUse } from "./deletion-runs.ts";
import { type Mode, openScene, refusals } from "./deletion-scene.ts";
import { percentile, summary } from "./statistics.ts";

const USES = 20;

/** How many claims are deleted that nobody uses, and how many while they are unmounted. */
export interface DeletionSizes {
  readonly ordinary: number;
  readonly mounted: number;
}

/** What one mode took. Milliseconds; requests are those that the API server has written down. */
interface Figures {
  readonly ordinary: readonly number[];
  readonly ordinaryMs: number;
  readonly mounted: readonly number[];
  readonly refused: { readonly ordinary: number; readonly mounted: number };
  readonly writesPerUse: { readonly local: number; readonly staged: number };
}

/** Deletions with protection beside the same without it. */
export async function benchDeletions(owner: Owner, printer: Printer, sizes: DeletionSizes): Promise<void> {
  const off = await figuresOf(owner, "off", sizes);
  const on = await figuresOf(owner, "enforce", sizes);
  const row = (what: string, samples: readonly number[], base: readonly number[]): readonly string[] => {
    const ratio = percentile(samples, 0.5) / percentile(base, 0.5);
    const moreMs = percentile(samples, 0.99) - percentile(base, 0.99);
    return [what, ...summary(samples), ratio.toFixed(2), `${Math.round(moreMs)} ms`];
  };
  const head = ["N", "MIN", "P50", "P99", "MAX", "P50 RATIO", "P99 MORE"];
  printer.title(`\n${sizes.ordinary} claims that nobody uses: deletion asked -> claim gone`);
  printer.table([
    ["PROTECTION", ...head, "ALL IN", "REFUSED"],
    [...row("enforce", on.ordinary, off.ordinary), seconds(on.ordinaryMs), String(on.refused.ordinary)],
    [...row("baseline: off", off.ordinary, off.ordinary), seconds(off.ordinaryMs), String(off.refused.ordinary)],
  ]);
  printer.title(`\n${sizes.mounted} claims deleted in one go while they unmount: last unmount -> claim gone`);
  printer.table([
    ["PROTECTION", ...head, "REFUSED"],
    [...row("enforce", on.mounted, off.mounted), String(on.refused.mounted)],
    [...row("baseline: off", off.mounted, off.mounted), String(off.refused.mounted)],
  ]);
  printer.title(`\nWrites of a claim's status by the aggregator for one use, from mount to unstaged, ${USES} uses`);
  printer.table([
    ["PROTECTION", "LOCAL VOLUME", "STAGED VOLUME"],
    ["enforce", on.writesPerUse.local.toFixed(2), on.writesPerUse.staged.toFixed(2)],
    ["baseline: off", off.writesPerUse.local.toFixed(2), off.writesPerUse.staged.toFixed(2)],
  ]);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

async function figuresOf(parent: Owner, mode: Mode, sizes: DeletionSizes): Promise<Figures> {
  const owner = await openOwner({ say: parent.say });
  parent.defer(() => owner.close());
  try {
    const scene = await openScene(owner, mode);
    owner.say(`protection ${mode}: writes of one use`);
    const local = await writesPerUse(scene, { claim: "orders", uses: USES });
    const staged = await writesPerUse(scene, { claim: "shared", uses: USES });
    owner.say(`protection ${mode}: ${sizes.ordinary} claims that nobody uses`);
    const before = await refusals(scene);
    const { samples: ordinary, ms: ordinaryMs } = await deleteUnused(scene, sizes.ordinary);
    const between = await refusals(scene);
    owner.say(`protection ${mode}: ${sizes.mounted} claims while they unmount`);
    const mounted = await deleteMounted(scene, sizes.mounted);
    const refused = { ordinary: between - before, mounted: (await refusals(scene)) - between };
    return { ordinary, ordinaryMs, mounted, refused, writesPerUse: { local, staged } };
  } finally {
    await owner.close();
  }
}
