import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiCall } from "../../rig/control-plane/api.ts";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { dry } from "./attack.ts";
import { installWithoutRule, type Mutant, mutantsOf, readPolicies } from "./mutants.ts";
import type { ProvisionerAttack } from "./provisioner-attack.ts";
import { ADMIN_ATTACKS, ATTACKS } from "./provisioner-attacks.ts";
import { openProvisionerStage, type ProvisionerStage } from "./provisioner-stage.ts";
import { NOBODY, whoRefused } from "./refusal.ts";
import { makeAdmin, podOf, untilRefused } from "./stage.ts";

const MUTANTS = readPolicies("components/provisioner/policies.yaml").flatMap(mutantsOf);
const ACCOUNT = "mooring-provisioner:mooring-provisioner";

type Tokens = Readonly<Record<"node-1" | "no node", ApiCall>>;

let owner: Owner;
let signals: Disposable;
let stage: ProvisionerStage;
const accounts = new Map<Mutant, Tokens>();

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openProvisionerStage(owner);
  for (const mutant of MUTANTS) accounts.set(mutant, await install(mutant));
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** The mutant is for an account that may do everything else, in a namespace of its own: so all are in force at the same time. */
async function install(mutant: Mutant): Promise<Tokens> {
  const { api, plane } = stage;
  const place = `${mutant.file.name}-${mutant.index}`;
  const account = { namespace: place, name: "mooring-provisioner" };
  await api.create("/api/v1/namespaces", { metadata: { name: place } });
  await api.create(`/api/v1/namespaces/${place}/serviceaccounts`, { metadata: { name: account.name } });
  await makeAdmin(api, place, account);
  await installWithoutRule(api, mutant, { place, moves: [[ACCOUNT, `${place}:${account.name}`]] });
  const as = async (node: string | undefined): Promise<ApiCall> =>
    plane.apiAs({ ...account, pod: await podOf(api, account, node) });
  return { "node-1": await as("node-1"), "no node": await as(undefined) };
}

function attacksOn(policy: string, rule: string): readonly ProvisionerAttack[] {
  return [...ATTACKS, ...ADMIN_ATTACKS].filter(({ refusedBy }) => {
    const [name, begin = ""] = refusedBy.split(": ", 2);
    return name === policy && begin !== "" && rule.includes(begin.replace("a provisioner must not ", ""));
  });
}

async function answerTo(mutant: Mutant, { by = "node-1", ask }: ProvisionerAttack): Promise<string> {
  const tokens = accounts.get(mutant) ?? expect.fail("it is not installed");
  return whoRefused(await tokens[by](dry(ask)));
}

describe("without its rule, a policy lets an attack of a provisioner through", () => {
  it.each(MUTANTS)("$file.name: $rule", async (mutant) => {
    const { file, rule, other, index } = mutant;
    const attacks = attacksOn(file.name, rule);
    const [control] = other === undefined ? [] : attacksOn(file.name, other);
    // It is in force: the other rules are. The only rule of a policy leaves none.
    if (control !== undefined) {
      const ask = async () => (accounts.get(mutant) ?? expect.fail("none"))[control.by ?? "node-1"](dry(control.ask));
      await untilRefused(stage, ask, `${file.name}-${index}: ${other}`);
    }

    const answers = await Promise.all(attacks.map((attack) => answerTo(mutant, attack)));

    expect(control === undefined).toBe(other === undefined);
    expect(answers).toContain(NOBODY);
  });
});
