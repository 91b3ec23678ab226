import { expect, it } from "vitest";
import { startControlPlane } from "../rig/control-plane/control-plane.ts";
import { openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { startBareCluster } from "./bare-cluster.ts";

const CLAIMS = 300;

it("an API server that accepts few writes at once gets no more, and every claim its status", async () => {
  await using owner = await openOwner();
  using _ = closeOnSignals(owner);
  // Administrators are not limited: the claims are made at full speed.
  const args = { "kube-apiserver": ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=2"] };
  const { createClaims, startAggregator } = await startBareCluster(owner, await startControlPlane(owner, { args }));
  const names = Array.from({ length: CLAIMS }, (__, index) => `few-${index}`);
  for (let from = 0; from < names.length; from += 50) await createClaims(names.slice(from, from + 50));

  const { metric, logger, stop } = await startAggregator();
  const written = (): Promise<number> => metric('mooring_status_writes_total{outcome="written"}');
  const check = async (): Promise<void> => expect(await written()).toBe(CLAIMS);
  await waitUntil(owner, { what: "the status of all claims", limitMs: 40_000, check });

  const refused = await metric('mooring_status_writes_total{outcome="overloaded"}');
  expect(refused).toBeGreaterThan(0);
  // Who is refused waits for the second that the server asks for; without that most are refused, many of them more than once.
  expect(refused).toBeLessThan(CLAIMS);
  // The first, the tenth and the hundredth.
  expect(logger.messages("warn").length).toBeLessThanOrEqual(3);
  await stop();
});
