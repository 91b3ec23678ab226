import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { StandInPod } from "../rig/stand-in/kubelet.ts";
import { claimThat, makeClaims, NAMESPACE, type Stage, volumeOf } from "../rig/stand-in/stage.ts";

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

/** Promtool's word on the metrics of both programs while a claim is in use, so that what is counted and measured on the way is there. */
export function describeMetricsText(stageOf: () => Stage): void {
  describe("promtool finds nothing wrong with the metrics", () => {
    let pod: StandInPod;
    beforeAll(async () => {
      const stage = stageOf();
      await makeClaims(stage, ["data"]);
      pod = await stage.kubelets[0].runPod({
        namespace: NAMESPACE,
        name: "data-0",
        claim: "data",
        volume: volumeOf("data"),
      });
      await claimThat(stage, { claim: "data", what: "mounted", holds: ({ status }) => status?.reason === "Mounted" });
    });
    afterAll(async () => {
      const [kubelet] = stageOf().kubelets;
      await kubelet.forceDelete(pod);
      await kubelet.unmount(pod);
    });

    it.each([
      { name: "an agent", url: () => stageOf().agents[0].url, has: "mooring_mounted_volumes 1" },
      {
        name: "an aggregator",
        url: () => stageOf().aggregator.url,
        has: 'mooring_status_writes_total{outcome="written"}',
      },
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
}
