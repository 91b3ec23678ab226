import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { AGENT_ATTACKS } from "./agent-attacks.ts";
import { AGENT_DELETIONS } from "./agent-deletions.ts";
import { AGENT_STATUS_ATTACKS } from "./agent-status-attacks.ts";
import { AGGREGATOR_ATTACKS } from "./aggregator-attacks.ts";
import { type Attack, aimed, dry } from "./attack.ts";
import { install, MUTANTS, type Mutant, type MutantAccounts } from "./mutants.ts";
import { NOBODY, whoRefused } from "./refusal.ts";
import { type AttackStage, openAttackStage, untilRefused } from "./stage.ts";

let owner: Owner;
let signals: Disposable;
let stage: AttackStage;
const accounts = new Map<Mutant, MutantAccounts>();

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openAttackStage(owner);
  for (const mutant of MUTANTS) accounts.set(mutant, await install(stage, mutant));
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

const ATTACKS = [...AGENT_STATUS_ATTACKS, ...AGENT_ATTACKS, ...AGENT_DELETIONS, ...AGGREGATOR_ATTACKS];

/** The attacks that a rule refuses, with tokens that are as good as the attacker's here. */
function attacksOn(policy: string, rule: string): readonly Attack[] {
  return ATTACKS.filter(({ by, refusedEvenThen }) => {
    const [name, begin = ""] = refusedEvenThen.split(": ", 2);
    return (by === "agent" || by === "aggregator") && name === policy && rule.startsWith(begin);
  });
}

async function answerTo(mutant: Mutant, attack: Attack): Promise<string> {
  const { by } = attack;
  const tokens = accounts.get(mutant);
  if (tokens === undefined || (by !== "agent" && by !== "aggregator")) throw new Error("there is no such account");
  return whoRefused(await tokens[by](dry(await aimed(stage.api, attack))));
}

describe("without its rule, a policy lets an attack through", () => {
  it.each(MUTANTS)("$file.name: $rule", async (mutant) => {
    const { file, rule, other, index } = mutant;
    const [control] = other === undefined ? [] : attacksOn(file.name, other);
    if (control === undefined) throw new Error(`nothing attacks "${other}"`);
    const { by } = control;
    const tokens = accounts.get(mutant) ?? expect.fail("it is not installed");
    const ask = dry(await aimed(stage.api, control));

    // It is in force: the other rules are.
    await untilRefused(
      stage,
      () => (by === "aggregator" ? tokens.aggregator : tokens.agent)(ask),
      `${file.name}-${index}: ${other}`,
    );
    const answers = await Promise.all(attacksOn(file.name, rule).map((attack) => answerTo(mutant, attack)));

    expect(answers).toContain(NOBODY);
  });
});
