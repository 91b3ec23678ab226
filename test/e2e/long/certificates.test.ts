import { describe, expect, it } from "vitest";
import { setAgents } from "../affinity/stage.ts";
import { requireServed, servedToAgents, triesOfAgents, trustedByAgents } from "../agents.ts";
import { kubectl } from "../kubectl.ts";
import { openStage, type Stage } from "../scenarios/stage.ts";
import { runForAll, timedRow } from "./run.ts";

/** The leader looks each minute, more or less. */
const LIMIT_MS = 150_000;

let stage: Stage;
const rows: (readonly string[])[] = [];

runForAll(
  async (owner) => {
    stage = await openStage(owner);
    await setAgents(stage, "MOORING_HEARTBEAT=1s");
  },
  () => [["certificates that are replaced", "after"], ...rows],
);

async function timed(what: string, check: () => Promise<unknown>): Promise<void> {
  rows.push(await timedRow(stage, { what, limitMs: LIMIT_MS, check }));
}

/** Waits until every agent is served one and the same other certificate, which it trusts by its own file. */
async function untilServedAnother(what: string, than: string): Promise<string> {
  let now = than;
  await timed(what, async () => {
    now = await requireServed(stage, (one) => one !== than);
  });
  return now;
}

function remove(secret: string): Promise<string> {
  return kubectl(stage.cluster, "delete", "secret", secret, "--namespace=mooring");
}

describe("certificates that are replaced while agents report each second", () => {
  it("cost not a single report", { timeout: 4 * LIMIT_MS }, async () => {
    const before = await triesOfAgents(stage);
    const [first = ""] = await servedToAgents(stage);

    await remove("mooring-aggregator-tls");
    const second = await untilServedAnother("the certificate is deleted: another one is served", first);
    await remove("mooring-aggregator-ca");
    await timed("the authorities are deleted: every agent's file has two others, too", async () =>
      expect(await trustedByAgents(stage)).toEqual([3, 3]),
    );
    await remove("mooring-aggregator-tls");
    await untilServedAnother("the certificate is deleted again: one of another authority is served", second);

    await stage.owner.clock.sleep(5_000, stage.owner.signal);
    const after = await triesOfAgents(stage);
    rows.push(["reports meanwhile that were accepted", String(after.accepted - before.accepted)]);
    rows.push(["reports meanwhile that were not", String(after.failed - before.failed)]);
    expect(after.failed - before.failed).toBe(0);
    expect(after.accepted - before.accepted).toBeGreaterThan(60);
  });
});
