import { afterAll, beforeAll, describe } from "vitest";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { describeAgent } from "./allowed-agent.ts";
import { describeAggregator } from "./allowed-aggregator.ts";
import { type AttackStage, openAttackStage, untilInForce } from "./stage.ts";

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

describe("what is allowed with the policies in force", () => {
  describeAgent(() => stage);
  describeAggregator(() => stage);
});
