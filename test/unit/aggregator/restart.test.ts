import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../../common/storage/claim.ts";
import type { NodeReport, UnmountRecord } from "../../../common/storage/node-report.ts";
import type { Harness } from "./harness.ts";
import { idle, stopHarnesses } from "./running.ts";
import { claimWith, nodeWith, podWith, reportWith, unmountRecordOf, volumeWith } from "./world.ts";

/** So many claims as are still fast; on a real API server there may be a hundred times more (test/bench). */
const CLAIMS = 2_000;
const NODES = 20;

/** What becomes of a claim, by its number: of five one is mounted, one was, one is named by a pod, and two nobody ever used. */
type Life = "mounted" | "released" | "referenced" | "idle";
const LIVES: readonly Life[] = ["mounted", "released", "idle", "idle"];

function lifeOf(index: number): Life {
  return index % 1_000 === 999 ? "referenced" : (LIVES[index % LIVES.length] ?? "idle");
}

function nodeOf(index: number): string {
  return `n${index % NODES}`;
}

function claimOf(index: number) {
  return claimWith({ name: `data-${index}`, uid: `claim-${index}`, volume: `pv-${index}` });
}

function volumeOf(index: number) {
  const claim = { key: `shop/data-${index}`, uid: `claim-${index}` };
  return volumeWith({ key: `pv-${index}`, uid: `volume-${index}`, claim });
}

const ALL = Array.from({ length: CLAIMS }, (_, index) => index);
const MOUNTED = ALL.filter((index) => lifeOf(index) === "mounted");

/** The claims of a cluster in which a first aggregator has written all there was to write. */
let claims: readonly Claim[] = [];
afterEach(stopHarnesses);

/** An aggregator that begins with these claims. */
async function started(present: readonly Claim[]): Promise<Harness> {
  const nodes = Array.from({ length: NODES }, (_, index) => nodeWith(`n${index}`));
  const harness = idle({ claims: present, volumes: ALL.map(volumeOf), nodes });
  for (const index of ALL.filter((one) => lifeOf(one) === "referenced")) {
    const names = { key: `shop/web-${index}`, uid: `pod-${index}`, claims: [`data-${index}`] };
    harness.cluster.pods.set(names.uid, podWith({ ...names, node: undefined, hasStarted: false }));
  }
  return harness.start();
}

/** What a node's mount table shows, and showed; `released` are the claims whose mounts are gone by now. */
function reportOf({ clock }: Harness, node: string, fields: Partial<NodeReport> = {}): NodeReport {
  const endedAt = clock.monotonicMs();
  const ours = ALL.filter((index) => nodeOf(index) === node);
  const mountedVolumes = ours
    .filter((index) => lifeOf(index) === "mounted")
    .map((index) => {
      const volume = { by: "name", name: `pv-${index}` } as const;
      return { kind: "pod", volume, podUid: `pod-${index}`, since: 10 } as const;
    });
  return reportWith({ node, scan: { beganAt: endedAt - 1, endedAt }, observedSince: 1, mountedVolumes, ...fields });
}

function unmountRecordOn(index: number, by: number): UnmountRecord {
  return { ...unmountRecordOf(`pod-${index}`, { after: by - 10, by }), volume: { by: "name", name: `pv-${index}` } };
}

/** A first aggregator sees all lives and writes what comes of them. */
beforeAll(async () => {
  const first = await started(ALL.map(claimOf));
  for (let index = 0; index < NODES; index += 1) {
    const node = `n${index}`;
    const by = first.clock.monotonicMs();
    const ended = ALL.filter((one) => nodeOf(one) === node && lifeOf(one) === "released");
    await first.report(reportOf(first, node, { unmountRecords: ended.map((one) => unmountRecordOn(one, by)) }));
  }
  await first.advance(60_000);
  await first.stop();
  claims = [...first.stored.values()];
});

/** All nodes report, and go on to for ten minutes. */
async function heard(made: Harness): Promise<void> {
  for (let minute = 0; minute < 10; minute += 1) {
    for (let index = 0; index < NODES; index += 1) await made.report(reportOf(made, `n${index}`, { generation: 2 }));
    await made.advance(60_000);
  }
}

describe("a new aggregator in a cluster of thousands of claims that have a status", () => {
  it("writes nothing while nothing has changed, neither before the nodes report nor after", async () => {
    const second = await started(claims);

    await second.advance(20_000);
    await heard(second);

    const reasons = new Set(claims.map(({ status }) => status?.reason));
    expect(reasons).toEqual(new Set(["NeverObservedInUse", "Mounted", "Unmounted", "Referenced"]));
    expect([second.writes, second.reconciler.queue.isIdle]).toEqual([[], true]);
  });

  it("writes nothing when no node ever reports, but who is waited for", async () => {
    const second = await started(claims);

    await second.advance(3_600_000);

    expect(second.writes.filter(({ reason }) => reason !== "Mounted")).toEqual([]);
    expect(second.writes).toHaveLength(MOUNTED.length);
  });
});
