import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { AGENT_ATTACKS } from "./agent-attacks.ts";
import { AGENT_STATUS_ATTACKS, LEFT_OUT, leftOut } from "./agent-status-attacks.ts";
import { AGGREGATOR_ATTACKS } from "./aggregator-attacks.ts";
import { type Attack, dry } from "./attack.ts";
import { NOBODY, RBAC, whoRefused } from "./refusal.ts";
import { type AttackStage, openAttackStage, untilInForce, untilRefused } from "./stage.ts";
import { SHOP } from "./victims.ts";

let owner: Owner;
let signals: Disposable;
let stage: AttackStage;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openAttackStage(owner);
  await untilInForce(stage);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

const AGENT = [...AGENT_STATUS_ATTACKS, ...AGENT_ATTACKS];

/** Where an attack that gets through would be seen. */
const SEEN = [
  `${SHOP}/pods`,
  `${SHOP}/persistentvolumeclaims`,
  `${SHOP}/secrets`,
  `${SHOP}/configmaps`,
  "/api/v1/nodes",
  "/api/v1/persistentvolumes",
];

async function stateOfAll(): Promise<string> {
  return JSON.stringify(await Promise.all(SEEN.map((path) => stage.api.get(path))), (key, value: unknown) =>
    // That of the list itself moves with every write.
    key === "resourceVersion" && typeof value === "string" ? "" : value,
  );
}

async function refuserOf({ by, ask }: Attack, expected: string): Promise<string> {
  // Without consequences first: one attack that gets through must not make the others look better or worse.
  const first = whoRefused(await stage.as[by](dry(ask)));
  const who = expected === NOBODY || first === NOBODY ? first : whoRefused(await stage.as[by](ask));
  return who.startsWith(expected) ? expected : who;
}

it("is a list of attacks that is long enough, and names each once", () => {
  const names = (attacks: readonly Attack[]): readonly string[] => attacks.map(({ name }) => name);

  expect(AGENT.length).toBeGreaterThanOrEqual(60);
  expect(AGGREGATOR_ATTACKS.length).toBeGreaterThanOrEqual(25);
  expect(new Set(names(AGENT)).size).toBe(AGENT.length);
  expect(new Set(names(AGGREGATOR_ATTACKS)).size).toBe(AGGREGATOR_ATTACKS.length);
});

describe("with the rights of the manifests", () => {
  let before: string;
  beforeAll(async () => {
    before = await stateOfAll();
  });

  it.each(AGENT)("an agent that $name is refused by $refusedBy", async (attack) => {
    expect(await refuserOf(attack, attack.refusedBy)).toBe(attack.refusedBy);
  });

  it.each(AGGREGATOR_ATTACKS)("an aggregator that $name is refused by $refusedBy", async (attack) => {
    expect(await refuserOf(attack, attack.refusedBy)).toBe(attack.refusedBy);
  });

  it.each(LEFT_OUT)("$name, said in a rejection, is left out by the API server", async (row) => {
    const waiting = await stage.api.get(`${SHOP}/pods/waiting`);
    const { status, text } = await stage.as.agent(leftOut(row));

    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject(partsLeftAlone(waiting));
  });

  it("none of them has changed anything", async () => {
    expect(await stateOfAll()).toBe(before);
  });
});

describe("with every right that RBAC can give", () => {
  let before: string;
  beforeAll(async () => {
    await stage.makeAdmins();
    const secrets = { path: `${SHOP}/secrets` } as const;
    await untilRefused(stage, () => stage.as.agent(secrets), NOBODY);
    await untilRefused(stage, () => stage.as.aggregator(secrets), NOBODY);
    before = await stateOfAll();
  });

  it.each(AGENT)("an agent that $name is refused by $refusedEvenThen", async (attack) => {
    expect(await refuserOf(attack, attack.refusedEvenThen)).toBe(attack.refusedEvenThen);
  });

  it.each(AGGREGATOR_ATTACKS)("an aggregator that $name is refused by $refusedEvenThen", async (attack) => {
    expect(await refuserOf(attack, attack.refusedEvenThen)).toBe(attack.refusedEvenThen);
  });

  it("what is left is what no policy sees: reads, reviews, and the policies themselves", () => {
    const left = [...AGENT, ...AGGREGATOR_ATTACKS].filter(({ refusedEvenThen }) => refusedEvenThen === NOBODY);

    expect(left.every(({ refusedBy }) => refusedBy === RBAC)).toBe(true);
    expect(left.filter(({ ask: { method = "GET", path } }) => method !== "GET" && !UNSEEN.test(path))).toEqual([]);
  });

  it("none of them has changed anything", async () => {
    expect(await stateOfAll()).toBe(before);
  });
});

/** k8s.io/apiserver: pkg/admission/exclusion/resources.go. */
const UNSEEN = /^\/apis\/(?:admissionregistration|authentication|authorization)\.k8s\.io\//;

function partsLeftAlone(pod: unknown): object {
  const { spec, metadata } = Object(pod);
  return { spec, metadata: { ownerReferences: metadata.ownerReferences, name: metadata.name, uid: metadata.uid } };
}
