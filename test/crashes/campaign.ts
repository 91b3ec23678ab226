import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { Killer } from "./killer.ts";
import { LINES } from "./lines.ts";
import type { PlannedRound } from "./plan.ts";
import { untilPublished } from "./publication.ts";
import type { Checkpoint, CrashRecord, Kill, TrueUse } from "./record.ts";
import { lastOf } from "./states.ts";
import { type WorkParts, work } from "./worker.ts";
import type { CrashWorld } from "./world.ts";

const UP_LIMIT_MS = 60_000;
/** Time for wrong writes after the last expected one. Milliseconds. */
const REST_MS = 2_000;

/** Called after each round. */
export type OnRound = (record: CrashRecord) => void;

/** Runs uses and kills as planned, round after round. Between rounds all processes run, and every claim's last use has to be published. */
export async function runCampaign(
  owner: Owner,
  {
    world,
    rounds,
    onRound = () => {},
  }: {
    readonly world: CrashWorld;
    readonly rounds: readonly PlannedRound[];
    readonly onRound?: OnRound;
  },
): Promise<CrashRecord> {
  const uses = new Map<string, TrueUse>();
  const checkpoints: Checkpoint[] = [];
  const kills: Kill[] = [];
  const onKill = (kill: Kill): void => {
    world.leadership.noteKill(kill.name);
    kills.push(kill);
  };
  const killer = new Killer(owner, { findVictim: world.findVictim, onKill });
  const notes = {
    noteUse: (use: TrueUse): void => void uses.set(use.podUid, use),
    noteCheckpoint: (checkpoint: Checkpoint): void => void checkpoints.push(checkpoint),
    nextPod: podNames(),
  };
  const record = (): CrashRecord => ({
    uses: [...uses.values()],
    claims: world.log.histories(),
    uptimes: world.uptimes(),
    checkpoints,
    kills,
  });
  for (const round of rounds) {
    await runRound({ owner, world, killer, record, ...notes }, round);
    await settle({ owner, world, record });
    if (owner.signal.aborted) break;
    checkpoints.push({ atMs: owner.clock.wallMs(), claim: "all" });
    onRound(record());
  }
  return record();
}

async function runRound(parts: WorkParts, round: PlannedRound): Promise<void> {
  await Promise.all(LINES.map((line) => work(parts, line, round.get(line.name) ?? [])));
  await parts.killer.settled();
}

/** Waits until all processes are up and every claim's last use is published, or the limit has passed. */
async function settle({ owner, world, record }: Pick<WorkParts, "owner" | "world" | "record">): Promise<void> {
  const { uses } = record();
  const { clock, signal } = owner;
  await Promise.all(world.processes.map((target) => target.up()));
  const leads = async (): Promise<void> => {
    if (world.leadership.leader === undefined) throw new TypeError("no replica leads");
  };
  await waitUntil(owner, { what: "a leader", limitMs: UP_LIMIT_MS, check: leads });
  const last = [...new Set(uses.map(({ claim }) => claim))].flatMap(
    (claim) => lastOf(uses.filter((use) => use.claim === claim)) ?? [],
  );
  await untilPublished({ owner, record }, last);
  await clock.sleep(REST_MS, signal);
}

function podNames(): () => string {
  let made = 0;
  return () => {
    made += 1;
    return `pod-${made}`;
  };
}
