import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCampaign } from "../crashes/campaign.ts";
import { judge } from "../crashes/judge.ts";
import { type CampaignSize, planOf } from "../crashes/plan.ts";
import type { CrashRecord } from "../crashes/record.ts";
import { shortfalls } from "../crashes/shortfall.ts";
import { storyOf } from "../crashes/story.ts";
import { openCrashWorld } from "../crashes/world.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";

/** A share of what `npm run prove -- crashes` does; the seed is one whose plan is soon over. */
const SIZE: CampaignSize = {
  seed: 8,
  rounds: 1,
  unmounts: 14,
  kills: 1,
  apiServerKills: 1,
  absences: 1,
  blackouts: 1,
};

let owner: Owner;
let signals: Disposable;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** The whole story of each claim of which something is wrong. */
function stories(record: CrashRecord): string {
  const claims = [...new Set(judge(record).findings.map(({ claim }) => claim))];
  return claims.map((claim) => [claim, ...storyOf(claim, record)].join("\n")).join("\n\n");
}

describe("kill -9 of agents, aggregators and the API server in the middle of real uses", () => {
  it("makes no published time too early, and no end is lost", async () => {
    const world = await openCrashWorld(owner);

    const record = await runCampaign(owner, { world, rounds: planOf(SIZE) });

    expect(judge(record).findings, stories(record)).toEqual([]);
    expect(shortfalls(SIZE, record)).toEqual([]);
  });
});
