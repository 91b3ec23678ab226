import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPrinter, standardScreen } from "../../demo/print.ts";
import { addChances, chanceRows, type Tally } from "../../judge/tally.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { diagnose } from "./diagnosis.ts";
import { type Figure, figureMarkdown, figureRows } from "./figures.ts";
import type { Scenario } from "./scenario.ts";
import { NODES, openStage, type Stage } from "./stage.ts";
import { missedMounts } from "./truth.ts";
import { judge, PUBLISHED_LIMIT_MS } from "./verdict.ts";

/** Names a folder that takes each suite's table, as JSON and as Markdown. */
const TABLES_VARIABLE = "MOORING_SCENARIO_TABLES";

/** Plays scenarios one after the other on one stage, judges each, and prints a table of all. `name` is for files. */
export function describeScenarios(name: string, scenarios: readonly Scenario[]): void {
  describe(name, () => {
    let owner: Owner;
    let signals: Disposable;
    let stage: Stage;
    const played: (Figure & { readonly again: () => Figure["verdict"] })[] = [];

    beforeAll(async () => {
      owner = await openOwner();
      signals = closeOnSignals(owner);
      stage = await openStage(owner);
    });

    afterAll(async () => {
      // Judged once more: Kubernetes may have published later.
      if (played.length > 0) {
        publish(
          name,
          played.map((one) => ({ ...one, verdict: one.again() })),
        );
        const missed = missedMounts(NODES.flatMap(stage.mounts));
        owner.say(`${missed} mounts came and went before the kernel's record could say where`);
      }
      await owner.close();
      signals[Symbol.dispose]();
    });

    for (const [index, { name: scenario, expected, play }] of scenarios.entries()) {
      it(scenario, async () => {
        const first = `case-${index + 1}-data`;
        const truth = await play(stage, first);
        const claim = truth?.claim ?? first;
        const again = (): Figure["verdict"] =>
          judge({ expected, truth, states: stage.log.states(claim), starvation: stage.starvation });

        // The verdict says what is still missing after this wait.
        await stage
          .until(`what is expected of ${claim}`, () => requireRight(again()), PUBLISHED_LIMIT_MS)
          .catch(() => {});
        const verdict = again();

        played.push({ scenario, truth, verdict, again });
        // The cluster is gone after this run.
        if (verdict.faults.length > 0) owner.say(`why of ${claim}?\n${await diagnose(stage, claim)}`);
        expect(verdict.faults).toEqual([]);
      });
    }

    it("still has the same last status of each claim", () => {
      expect(played.map(({ again }) => again().final.mooring)).toEqual(
        played.map(({ verdict }) => verdict.final.mooring),
      );
      expect(played.flatMap(({ again }) => again().faults)).toEqual(played.flatMap(({ verdict }) => verdict.faults));
    });
  });
}

function requireRight({ faults }: Figure["verdict"]): void {
  if (faults.length > 0) throw new HarnessError(faults.join("; "));
}

function publish(name: string, figures: readonly Figure[]): void {
  const printer = createPrinter(standardScreen());
  printer.table(figureRows(figures));
  const chances = figures.reduce<Tally>((sum, { verdict }) => addChances(sum, verdict.chances), {});
  for (const row of chanceRows(chances)) printer.text(row);
  const folder = process.env[TABLES_VARIABLE];
  if (folder === undefined || folder === "") return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.md`), figureMarkdown(figures));
  const plain = figures.map(({ scenario, truth, verdict }) => ({ scenario, truth, ...verdict }));
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(plain, undefined, 2)}\n`);
}
