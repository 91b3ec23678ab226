import { expect } from "vitest";
import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeReport, UnmountRecord } from "../../../common/storage/node-report.ts";
import { Harness, type HarnessOptions } from "./harness.ts";
import { claimWith, mountedVolumeOf, nodeWith, reportWith, unmountRecordOf, volumeWith } from "./world.ts";

const harnesses: Harness[] = [];
let generation = 0;

/** Ends the aggregators of a test; rejects with the first bug that one met. */
export async function stopHarnesses(): Promise<void> {
  await Promise.all(harnesses.splice(0).map((harness) => harness.stop()));
}

/** An aggregator that stops with its test and has not started yet: of `shop/data` on `pv-1` and of node `n1`, unless told. */
export function idle(options: HarnessOptions = {}): Harness {
  const base = { claims: [claimWith()], volumes: [volumeWith()], nodes: [nodeWith("n1")] };
  const harness = new Harness({ ...base, ...options });
  harnesses.push(harness);
  return harness;
}

/** The same, running; all its nodes have reported, but those that are silent. */
export async function running(
  options: HarnessOptions = {},
  { silent = [] }: { readonly silent?: readonly string[] } = {},
): Promise<Harness> {
  const harness = await idle(options).start();
  for (const node of harness.cluster.nodeNames())
    if (!silent.includes(node)) await harness.report(reportAt(harness, { node }));
  return harness;
}

/** A report with news of a scan that ended just now, on a boot clock that began at 0 of the fake monotonic clock. */
export function reportAt({ clock }: Harness, fields: Partial<NodeReport> = {}): NodeReport {
  const endedAt = clock.monotonicMs();
  generation += 1;
  return reportWith({ scan: { beganAt: endedAt - 1, endedAt }, generation, observedSince: 1, ...fields });
}

/** A node scans now and reports; answers what it may forget. */
export function tell(harness: Harness, fields: Partial<NodeReport> = {}): Promise<readonly string[] | undefined> {
  return harness.report(reportAt(harness, fields));
}

/** The same of a node on which these pods have the volume mounted. */
export function tellMounted(harness: Harness, pods: readonly string[], fields: Partial<NodeReport> = {}) {
  return tell(harness, { mountedVolumes: pods.map((pod) => mountedVolumeOf(pod)), ...fields });
}

/** The same of a node that has these unmount records to tell. */
export function tellEnds(harness: Harness, unmountRecords: readonly UnmountRecord[], fields: Partial<NodeReport> = {}) {
  return tell(harness, { unmountRecords: [...unmountRecords], ...fields });
}

/** The end of a mount by this moment. */
export function releasedNow({ clock }: Harness, podUid: string): UnmountRecord {
  const by = clock.monotonicMs();
  return unmountRecordOf(podUid, { after: by - 10, by });
}

export function statusOf({ stored }: Harness, key = "shop/data"): ClaimStatus | undefined {
  return stored.get(key)?.status;
}

export function storedClaim({ stored }: Harness): Claim {
  return stored.get("shop/data") ?? expect.fail("the claim is not stored");
}

export function reasonsOf({ writes }: Harness): readonly string[] {
  return writes.map(({ reason }) => reason);
}
