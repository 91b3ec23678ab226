import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { accepted } from "../../rig/control-plane/api.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { quantile, seconds } from "../affinity/figures.ts";
import { makeClaim } from "../scenarios/claims.ts";
import { untilCondition, untilMounted } from "../scenarios/failures/conditions.ts";
import { killProgram, leadingAggregator, leaseHolder, type MooringPod } from "../scenarios/failures/mooring.ts";
import { deletePod, makePod, runPod } from "../scenarios/pods.ts";
import { openStage, type Stage } from "../scenarios/stage.ts";
import { runForAll } from "./run.ts";

const ROUNDS = 10;
const ROUND_MS = 180_000;
const HEAD = ["leader", "until", "times", "p50", "p99", "slowest"] as const;

/** From the leader's end, milliseconds. */
interface Round {
  /** Another one has the Lease. */
  readonly leads: number;
  /** A claim that a pod began to use right then is said to be used. */
  readonly used: number;
  /** A claim whose last pod was deleted right then is said to be unused. */
  readonly unused: number;
}

interface End {
  readonly how: string;
  readonly end: (leader: MooringPod) => Promise<unknown>;
  /** Half of the rounds are within so many milliseconds. */
  readonly aimMs: number;
  /** All of them are. */
  readonly limitMs: number;
}

const ENDS: readonly End[] = [
  { how: "killed (SIGKILL)", end: (leader) => killProgram(stage, leader), aimMs: 20_000, limitMs: 20_000 },
  { how: "told to end", end: (leader) => remove(leader), aimMs: 3_000, limitMs: 5_000 },
];

let stage: Stage;
const rows: (readonly string[])[] = [];

runForAll(
  async (owner) => {
    stage = await openStage(owner);
    await makeClaim(stage, "ends", { kind: "local", node: "node-1" });
    await makeClaim(stage, "begins", { kind: "local", node: "node-2" });
  },
  () => [HEAD, ...rows],
);

describe.each(ENDS)("a leader that is $how", ({ how, end, aimMs, limitMs }) => {
  it(`is followed by the other replica, in ${ROUNDS} rounds`, { timeout: ROUNDS * ROUND_MS }, async () => {
    const rounds: Round[] = [];
    while (rounds.length < ROUNDS) rounds.push(await playRound(`${aimMs}-${rounds.length}`, end));

    const until = {
      "another one leads": "leads",
      "a use is written": "used",
      "an unmount is written": "unused",
    } as const;
    for (const [what, key] of Object.entries(until))
      rows.push(
        rowOf(
          how,
          what,
          rounds.map((round) => round[key]),
        ),
      );
    const leads = rounds.map((round) => round.leads);
    expect(quantile(leads, 0.5)).toBeLessThan(aimMs);
    expect(Math.max(...leads)).toBeLessThan(limitMs);
  });
});

function rowOf(how: string, what: string, times: readonly number[]): readonly string[] {
  return [how, what, String(times.length), ...[0.5, 0.99, 1].map((share) => seconds(quantile(times, share)))];
}

/** Ends the leader while one pod goes and another one comes, and sees who reports it. */
async function playRound(name: string, end: End["end"]): Promise<Round> {
  await stage.until("two replicas", requireTwoReplicas, ROUND_MS);
  const goes = await runPod(stage, { name: `goes-${name}`, node: "node-1", claim: "ends" });
  await untilMounted(stage, "ends");
  await untilCondition(stage, "begins", { by: "mooring", status: "True" });
  const [leader, holder] = [await leadingAggregator(stage), await leaseHolder(stage)];
  const beganMs = stage.owner.clock.wallMs();
  const since = (ms: number): number => ms - beganMs;

  const [comes] = await Promise.all([
    makePod(stage, { name: `comes-${name}`, node: "node-2", claim: "begins" }),
    deletePod(stage, goes),
    end(leader),
  ]);

  const leads = await untilLedByAnother(holder);
  const [used, unused] = [
    await untilPublished("begins", "False", beganMs),
    await untilPublished("ends", "True", beganMs),
  ];
  await deletePod(stage, comes);
  // A container that is killed again and again is started later and later.
  await remove(leader);
  return { leads: since(leads), used: since(used), unused: since(unused) };
}

/** Asks for a pod's deletion as kubectl does, whose own start would count, and does not wait; one that is gone is fine. */
async function remove({ namespace, name }: MooringPod): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const answer = await stage.cluster.plane.api({ method: "DELETE", path });
  if (answer.status !== 404) await accepted(Promise.resolve(answer), `the deletion of ${name}`);
}

async function untilLedByAnother(holder: string): Promise<number> {
  await stage.until("another leader", async () => {
    const now = await leaseHolder(stage);
    if (now === holder || now === "") throw new HarnessError(`"${now}" leads`);
  });
  return stage.owner.clock.wallMs();
}

/** When a claim was first seen to be called so after a moment. */
async function untilPublished(claim: string, status: "True" | "False", afterMs: number): Promise<number> {
  const find = (): number | undefined =>
    stage.log
      .states(claim)
      .find(
        ({ seenMs, statuses }) =>
          seenMs > afterMs && statuses !== "gone" && statuses.mooring?.isUnused === (status === "True"),
      )?.seenMs;
  await stage.until(
    `${claim} ${status}`,
    () => {
      if (find() === undefined) throw new HarnessError("nothing new is said");
    },
    ROUND_MS,
  );
  return find() ?? Number.NaN;
}

const replicas = v.object({
  items: v.array(
    v.object({
      metadata: v.object({ deletionTimestamp: v.optional(v.string()) }),
      status: v.object({ containerStatuses: v.optional(v.array(v.object({ ready: v.boolean() })), []) }),
    }),
  ),
});

async function requireTwoReplicas(): Promise<void> {
  const { items } = v.parse(replicas, await stage.api.get("/api/v1/namespaces/mooring/pods"));
  const ready = items.filter(({ status }) => status.containerStatuses.some(({ ready }) => ready));
  if (
    items.length !== 2 ||
    ready.length !== 2 ||
    items.some(({ metadata }) => metadata.deletionTimestamp !== undefined)
  )
    throw new HarnessError(`${ready.length} of ${items.length} pods are ready`);
}
