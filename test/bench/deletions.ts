import type { Printer } from "../demo/print.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { deleteMounted, deleteUnused, writesPerUse } from "./deletion-runs.ts";
import { type Mode, openScene, refusals, type Scene } from "./deletion-scene.ts";
import { percentile, summary } from "./statistics.ts";

const USES = 20;
/** In turns, first one cluster and then the other. */
const ROUNDS = 4;

/** The number of deleted claims without a use, and of those deleted while they are unmounted. */
export interface DeletionSizes {
  readonly ordinary: number;
  readonly mounted: number;
}

/** The result of one mode. Milliseconds; the API server's audit log counts the requests. */
interface Figures {
  readonly ordinary: number[];
  ordinaryMs: number;
  readonly mounted: number[];
  readonly refused: { ordinary: number; mounted: number };
  readonly writesPerUse: { local: number; staged: number };
}

/** Deletions with protection beside the same without it. */
export async function benchDeletions(owner: Owner, printer: Printer, sizes: DeletionSizes): Promise<void> {
  const { off, enforce: on } = await measure(owner, sizes);
  const row = (what: string, samples: readonly number[], base: readonly number[]): readonly string[] => {
    const ratio = percentile(samples, 0.5) / percentile(base, 0.5);
    const moreMs = percentile(samples, 0.99) - percentile(base, 0.99);
    return [what, ...summary(samples), ratio.toFixed(2), `${Math.round(moreMs)} ms`];
  };
  const head = ["N", "MIN", "P50", "P99", "MAX", "P50 RATIO", "P99 MORE"];
  printer.title(`\n${sizes.ordinary} unused claims: deletion requested -> claim gone`);
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

/** Both clusters in turns: other load of the machine affects both. */
async function measure(parent: Owner, sizes: DeletionSizes): Promise<Readonly<Record<Mode, Figures>>> {
  const scenes = { off: await sceneOf(parent, "off"), enforce: await sceneOf(parent, "enforce") };
  const figures = { off: emptyFigures(), enforce: emptyFigures() };
  const each = async (what: string, work: (scene: Scene, of: Figures) => Promise<void>): Promise<void> => {
    for (const mode of ["off", "enforce"] as const) {
      parent.say(`protection ${mode}: ${what}`);
      await work(scenes[mode], figures[mode]);
    }
  };
  await each("writes of one use", async (scene, of) => {
    of.writesPerUse.local = await writesPerUse(scene, { claim: "orders", uses: USES });
    of.writesPerUse.staged = await writesPerUse(scene, { claim: "shared", uses: USES });
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    await each(`unused claims, round ${round + 1} of ${ROUNDS}`, async (scene, of) => {
      const names = Array.from({ length: Math.ceil(sizes.ordinary / ROUNDS) }, (_, i) => `unused-${round}-${i}`);
      const { samples, ms } = await deleteUnused(scene, names);
      of.ordinary.push(...samples);
      of.ordinaryMs += ms;
      of.refused.ordinary = await refusals(scene);
    });
  }
  await each(`${sizes.mounted} claims while they unmount`, async (scene, of) => {
    of.mounted.push(...(await deleteMounted(scene, sizes.mounted)));
    of.refused.mounted = (await refusals(scene)) - of.refused.ordinary;
  });
  return figures;
}

async function sceneOf(parent: Owner, mode: Mode): Promise<Scene> {
  const owner = await openOwner({ say: parent.say });
  parent.defer(() => owner.close());
  return await openScene(owner, mode);
}

function emptyFigures(): Figures {
  const refused = { ordinary: 0, mounted: 0 };
  return { ordinary: [], ordinaryMs: 0, mounted: [], refused, writesPerUse: { local: 0, staged: 0 } };
}
