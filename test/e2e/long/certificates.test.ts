import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPrinter, standardScreen } from "../../demo/print.ts";
import { HarnessError } from "../../process/errors.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { closeOnSignals } from "../../process/run-owned.ts";
import { seconds } from "../affinity/figures.ts";
import { setAgents } from "../affinity/stage.ts";
import { kubectl } from "../kubectl.ts";
import { agentOn } from "../scenarios/failures/mooring.ts";
import { NODES, openStage, type Stage } from "../scenarios/stage.ts";

/** The leader looks each minute, more or less. */
const LIMIT_MS = 150_000;
const HOURS_AGO_MS = 7_200_000;
const SERVED = `const to = { host: "mooring-aggregator.mooring.svc", servername: "mooring-aggregator.mooring.svc", port: 8443,
  ca: fs.readFileSync("/var/run/mooring/ca.crt") };
  const socket = tls.connect(to, () => { console.log(socket.getPeerX509Certificate().fingerprint256); socket.destroy(); });`;
const TRUSTED = `console.log(fs.readFileSync("/var/run/mooring/ca.crt", "utf8").split("-----BEGIN ").length - 1)`;

let owner: Owner;
let signals: Disposable;
let stage: Stage;
const rows: (readonly string[])[] = [];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openStage(owner);
  await setAgents(stage, "MOORING_HEARTBEAT=1s");
}, 400_000);

afterAll(async () => {
  createPrinter(standardScreen()).table([["certificates that are replaced", "after"], ...rows]);
  await owner.close();
  signals[Symbol.dispose]();
});

/** What JavaScript prints in each agent. */
async function fromAgents(code: string): Promise<readonly string[]> {
  const agents = await Promise.all(NODES.map((node) => agentOn(stage, node)));
  const inside = ["--namespace=mooring-agents", "--container=agent", "--", "node", "--eval", code];
  return await Promise.all(
    agents.map(async ({ name }) => (await kubectl(stage.cluster, "exec", name, ...inside)).trim()),
  );
}

/** How many of all agents' reports were accepted, and how many were not for whatever reason. */
async function reports(): Promise<{ readonly accepted: number; readonly failed: number }> {
  const sums = { accepted: 0, failed: 0 };
  for (const node of NODES) {
    const { name } = await agentOn(stage, node);
    const path = `/api/v1/namespaces/mooring-agents/pods/${name}:9808/proxy/metrics`;
    const text = await kubectl(stage.cluster, "get", "--raw", path);
    for (const [, outcome, count] of text.matchAll(/^mooring_reports_sent_total\{outcome="([^"]+)"\} (\d+)$/gm))
      sums[outcome === "accepted" ? "accepted" : "failed"] += Number(count);
  }
  return sums;
}

async function timed(what: string, check: () => Promise<void>): Promise<void> {
  const begin = owner.clock.monotonicMs();
  await stage.until(what, check, LIMIT_MS);
  rows.push([what, seconds(owner.clock.monotonicMs() - begin)]);
}

/** Waits until every agent is served one and the same other certificate, which it trusts by its own file. */
async function untilServedAnother(what: string, than: string): Promise<string> {
  let now = than;
  await timed(what, async () => {
    const [one = "", ...others] = await fromAgents(SERVED);
    now = one;
    if (one === than || others.some((other) => other !== one)) throw new HarnessError([one, ...others].join(" "));
  });
  return now;
}

function remove(secret: string): Promise<string> {
  return kubectl(stage.cluster, "delete", "secret", secret, "--namespace=mooring");
}

describe("certificates that are replaced while agents report each second", () => {
  it("cost not a single report", { timeout: 4 * LIMIT_MS }, async () => {
    const before = await reports();
    const [first = ""] = await fromAgents(SERVED);

    await remove("mooring-aggregator-tls");
    const second = await untilServedAnother("the certificate is deleted: another one is served", first);
    await remove("mooring-aggregator-ca");
    await timed("the authority is deleted: every agent's file has another one, too", async () =>
      expect(await fromAgents(TRUSTED)).toEqual(["2", "2"]),
    );
    // As if agents had been told two hours ago: an hour is what the new authority waits before it signs.
    const since = `mooring.dev/complete-since=${owner.clock.wallMs() - HOURS_AGO_MS}`;
    await kubectl(
      stage.cluster,
      "annotate",
      "--overwrite",
      "--namespace=mooring-agents",
      "configmap/mooring-aggregator-ca",
      since,
    );
    await untilServedAnother("an hour later: what the other one signed is served", second);

    await owner.clock.sleep(5_000, owner.signal);
    const after = await reports();
    rows.push(["reports meanwhile that were accepted", String(after.accepted - before.accepted)]);
    rows.push(["reports meanwhile that were not", String(after.failed - before.failed)]);
    expect(after.failed - before.failed).toBe(0);
    expect(after.accepted - before.accepted).toBeGreaterThan(60);
  });
});
