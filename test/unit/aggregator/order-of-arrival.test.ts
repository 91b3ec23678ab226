import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../../aggregator/core/cluster-objects.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeReport, UnmountRecord } from "../../../common/storage/node-report.ts";
import { Harness } from "./harness.ts";
import {
  claimWith,
  mountedVolumeOf,
  NOON,
  nodeWith,
  podWith,
  reportWith,
  unmountRecordOf,
  volumeWith,
} from "./world.ts";

/** A story of one claim and its pods, told to the aggregator in any order; all of it is over when the telling begins. */

const NODES = ["n1", "n2", "n3"];
/** Each node reads its mount table so often, a second apart, and reports each time. */
const READS = 6;
const TOLD_MS = 60_000;
const BOOT_MS = 3_600_000;

/** One pod: mounted between two scans, so that one at least has shown it, and unmounted after a later one, if at all. */
interface Plan {
  readonly node: number;
  readonly from: number;
  readonly until: number | undefined;
  /** Deleted by force while it was mounted, deleted after the unmount, or not at all. */
  readonly end: "early" | "late" | "never";
}

const plan: fc.Arbitrary<Plan> = fc
  .record({
    node: fc.nat(NODES.length - 1),
    from: fc.integer({ min: 0, max: READS - 2 }),
    lasts: fc.integer({ min: 1, max: READS }),
    end: fc.constantFrom("early" as const, "late" as const, "late" as const, "never" as const),
  })
  .map(({ lasts, from, end, ...rest }) => {
    const until = from + lasts > READS - 1 ? undefined : from + lasts;
    return { ...rest, from, until, end: until === undefined && end === "late" ? "never" : end };
  });

/** Milliseconds after noon. */
function readAt(node: number, read: number): number {
  return read * 1_000 + node * 10;
}

function mountedAt({ from }: Plan): number {
  return from * 1_000 + 500;
}

function unmountedAt({ until }: Plan): number | undefined {
  return until === undefined ? undefined : until * 1_000 + 500;
}

interface PodEvent {
  readonly atMs: number;
  readonly pod: Pod | undefined;
  readonly uid: string;
  readonly version: string;
}

function podEvents(plans: readonly Plan[]): readonly PodEvent[] {
  const events = plans.flatMap((one, index) => {
    const uid = `pod-${index}`;
    const pod = podWith({ key: `shop/${uid}`, uid, node: NODES[one.node], hasStarted: false });
    const endsAt = one.end === "early" ? mountedAt(one) + 800 : (unmountedAt(one) ?? 0) + 100;
    return [
      { uid, atMs: mountedAt(one) - 5, pod },
      { uid, atMs: mountedAt(one) + 5, pod: { ...pod, hasStarted: true } },
      ...(one.end === "never" ? [] : [{ uid, atMs: endsAt, pod: undefined }]),
    ];
  });
  return events
    .toSorted((first, second) => first.atMs - second.atMs)
    .map((event, index) => {
      const version = String(1_000 + index);
      return { ...event, version, pod: event.pod && { ...event.pod, resourceVersion: version } };
    });
}

/** What a node read, and reported at once: what is mounted, and every end so far, as no answer has come yet. */
function reportOf(plans: readonly Plan[], node: number, read: number): NodeReport {
  const endedAt = BOOT_MS + readAt(node, read);
  const mine = plans.map((one, index) => ({ ...one, uid: `pod-${index}` })).filter((one) => one.node === node);
  const unmountRecords: UnmountRecord[] = mine.flatMap((one) =>
    one.until === undefined || one.until >= read
      ? []
      : [
          unmountRecordOf(one.uid, {
            after: BOOT_MS + readAt(node, one.until),
            by: BOOT_MS + readAt(node, one.until + 1),
          }),
        ],
  );
  const held = mine.filter(({ from, until }) => from < read && (until === undefined || until >= read));
  const seen = podEvents(plans).filter(({ atMs }) => atMs < readAt(node, read));
  return reportWith({
    node: NODES[node] ?? "",
    generation: read,
    scan: { beganAt: endedAt, endedAt },
    sentAt: endedAt,
    observedSince: BOOT_MS,
    podsResourceVersion: seen.at(-1)?.version ?? "999",
    mountedVolumes: held.map(({ uid }) => mountedVolumeOf(uid)),
    unmountRecords,
  });
}

type Told =
  | { readonly what: "claim" | "pod" }
  | { readonly what: "report"; readonly node: number; readonly read: number };

/** Everything that is told, as it happened; the pods in the order of their watch, whenever that gets on. */
function everything(plans: readonly Plan[]): readonly Told[] {
  const reports = NODES.flatMap((_, node) =>
    Array.from({ length: READS }, (__, index) => ({ what: "report", node, read: index + 1 }) as const),
  );
  const pods = podEvents(plans).map(() => ({ what: "pod" }) as const);
  return [{ what: "claim" }, ...pods, ...reports.toSorted((one, other) => one.read - other.read)];
}

/** The claim's status when all has been told in this order. Each report is dated when it was sent, however late it is dealt with. */
async function statusAfter(plans: readonly Plan[], order: readonly Told[]): Promise<ClaimStatus | undefined> {
  const harness = new Harness({ volumes: [volumeWith()], nodes: NODES.map((name) => nodeWith(name)) });
  await harness.start();
  await harness.advance(TOLD_MS);
  const events = [...podEvents(plans)];
  const tell = async (told: Told): Promise<void> => {
    if (told.what === "claim") return harness.putClaim(claimWith());
    if (told.what === "report") {
      const atMs = NOON + readAt(told.node, told.read);
      await harness.report(reportOf(plans, told.node, told.read), { atMs });
      return;
    }
    const event = events.shift();
    if (event?.pod !== undefined) await harness.putPod(event.pod);
    else if (event !== undefined) await harness.removePod(event.uid, event.version);
  };
  for (const told of order) await tell(told);
  await harness.advance(20_000);
  await harness.stop();
  return harness.stored.get("shop/data")?.status;
}

const story = fc.array(plan, { maxLength: 5 }).chain((plans) => {
  const all = everything(plans);
  const shuffled = fc.shuffledSubarray([...all], { minLength: all.length, maxLength: all.length });
  return fc.record({ plans: fc.constant(plans), order: shuffled });
});

/** What must not depend on the order. The time itself can: what is learnt late never moves it back. */
function essence(status: ClaimStatus | undefined) {
  if (status?.unused !== true) return status?.reason;
  const { reason, lastUse } = status;
  return {
    reason,
    unmountRecord: lastUse?.releaseId,
    at: lastUse?.releasedAtMs,
    pod: lastUse?.pod,
    node: lastUse?.node,
  };
}

/** Nodes whose mounts go on and that the status does not name: a leader that has just begun would not wait for their reports. */
function unnamedNodes(plans: readonly Plan[], status: ClaimStatus | undefined): readonly string[] {
  const nodes = plans.flatMap(({ node, until }) => (until === undefined ? (NODES[node] ?? []) : []));
  return nodes.filter((node) => !status?.mountedOn?.nodes.includes(node));
}

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { numRuns: 25, seed: 5_541 } : { numRuns: Number(hunt) };

describe("what is told of a claim", () => {
  it("makes the same status in whatever order reports, pods and the claim come", async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ plans, order }) => {
        const [inTime, shuffled] = [await statusAfter(plans, everything(plans)), await statusAfter(plans, order)];

        expect(essence(shuffled)).toEqual(essence(inTime));
      }),
      RUNS,
    );
  });

  it("makes a status that is true: who used it last until when, and nothing unused that is mounted or named", async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ plans, order }) => {
        const status = await statusAfter(plans, order);
        const isMounted = plans.some(({ until }) => until === undefined);
        const isNamed = plans.some(({ end }) => end === "never");

        expect(status?.unused).toBe(!isMounted && !isNamed);
        if (status?.unused !== true) {
          expect(status?.reason).toBe(isMounted ? "Mounted" : "Referenced");
          expect(unnamedNodes(plans, status)).toEqual([]);
          return;
        }
        const ends = plans.map((one) => NOON + readAt(one.node, (one.until ?? 0) + 1));
        expect(status.reason).toBe(plans.length === 0 ? "NeverObservedInUse" : "Unmounted");
        expect(status.lastUse?.releasedAtMs).toBe(plans.length === 0 ? undefined : Math.max(...ends));
        expect(status.sinceMs).toBeGreaterThanOrEqual(Math.max(0, ...ends));
      }),
      RUNS,
    );
  });
});
