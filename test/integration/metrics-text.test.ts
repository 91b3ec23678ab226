import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Owner, openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import {
  buildCluster,
  claimThat,
  makeClaims,
  NAMESPACE,
  type Stage,
  startMooring,
  volumeOf,
} from "../stand-in/stage.ts";

let owner: Owner;
let signals: Disposable;
let stage: Stage;

/** A claim is in use by then, so that what is counted and measured on the way is there. */
beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const cluster = await buildCluster(owner);
  stage = { owner, ...cluster, ...(await startMooring(owner, cluster)) };
  await makeClaims(stage, ["data"]);
  await stage.kubelets[0].runPod({ namespace: NAMESPACE, name: "data-0", claim: "data", volume: volumeOf("data") });
  await claimThat(stage, { claim: "data", what: "mounted", holds: ({ status }) => status?.reason === "Mounted" });
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** What promtool has to say of metrics as they are scraped, and the code with which it ends. */
async function lint(metrics: string): Promise<{ readonly code: unknown; readonly said: string }> {
  const tools = inject("manifestTools");
  if ("problem" in tools) throw new Error(tools.problem);
  const child = spawn(tools.promtool, ["check", "metrics", "--extended"], { stdio: ["pipe", "ignore", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.stdin.end(metrics);
  const said = await text(child.stderr);
  return { code: await ended, said };
}

describe("promtool finds nothing wrong with the metrics", () => {
  it.each([
    { name: "an agent", url: () => stage.agents[0].url, has: "mooring_holds 1" },
    { name: "an aggregator", url: () => stage.aggregator.url, has: 'mooring_status_writes_total{outcome="written"}' },
  ])("of $name", async ({ url, has }) => {
    const metrics = await (await fetch(`${url()}/metrics`)).text();

    expect(metrics).toContain(has);
    expect(await lint(metrics)).toEqual({ code: 0, said: "" });
  });

  it("but with one that does not end as counters do", async () => {
    const { code, said } = await lint("# HELP mooring_x Something.\n# TYPE mooring_x counter\nmooring_x 1\n");

    expect(code).toBe(3);
    expect(said).toContain("_total");
  });
});
