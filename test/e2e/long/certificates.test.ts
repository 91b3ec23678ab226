import { describe, expect, it } from "vitest";
import { CERTIFICATES_NAME } from "../../../common/storage/published-certificates.ts";
import { setAgents } from "../affinity/stage.ts";
import { requireServed, servedToAgents, triesOfAgents } from "../agents.ts";
import { kubectl } from "../kubectl.ts";
import { openStage, type Stage } from "../scenarios/stage.ts";
import { runForAll, timedRow } from "./run.ts";

/** Replicas look each minute, more or less. */
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

async function inNamespace(namespace: string, ...args: readonly string[]): Promise<string> {
  return await kubectl(stage.cluster, ...args, `--namespace=${namespace}`);
}

async function published(): Promise<string> {
  return await inNamespace("mooring-agents", "get", "configmap", CERTIFICATES_NAME, "--output=jsonpath={.data}");
}

describe("the certificates of the replicas, while agents report each second", () => {
  it("are published again after they are deleted, which costs not a single report", {
    timeout: 4 * LIMIT_MS,
  }, async () => {
    const [before, data] = [await triesOfAgents(stage), await published()];

    await inNamespace("mooring-agents", "delete", "configmap", CERTIFICATES_NAME);
    await timed("what is published is deleted: it is there again", async () => expect(await published()).toBe(data));

    const after = await triesOfAgents(stage);
    rows.push(["reports meanwhile that were accepted", String(after.accepted - before.accepted)]);
    expect(after.failed - before.failed).toBe(0);
    expect(after.accepted).toBeGreaterThan(before.accepted);
  });

  it("are others when all replicas are replaced, and every agent trusts those", { timeout: 4 * LIMIT_MS }, async () => {
    const [first = ""] = await servedToAgents(stage);

    await inNamespace("mooring", "rollout", "restart", "deployment/mooring-aggregator");
    await timed("all replicas are replaced: every agent is served another certificate", () =>
      requireServed(stage, (one) => one !== first),
    );

    const before = await triesOfAgents(stage);
    await timed("and reports are accepted", async () =>
      expect((await triesOfAgents(stage)).accepted).toBeGreaterThan(before.accepted + 10),
    );
  });
});
