import type { Verb } from "./asked.ts";
import type { RequestRecord } from "./exchange.ts";
import { type Gap, gapsOf, insistenceProblems, type Pace, pacingProblems, writeProblems } from "./pacing.ts";
import type { Scene, Side } from "./scene.ts";
import type { World } from "./world.ts";

/** What a scene is judged by. */
export interface Measure {
  readonly pace: Pace;
  /** How many faults can have hit a follower. */
  readonly faults: number;
}

/**
 * How often a follower may ask, for each fault that can have hit it: a list with its pages, a question for its place and a watch after it,
 * and several tries while the server is away. A client that asks without a pause asks a hundred times as often.
 */
const REQUESTS_PER_FAULT = 10;
/** How often one object may be written in vain in a row: the waits between these take minutes. Each ends when the object changes. */
const WRITES_IN_A_ROW = 30;
/** Pings tell within 45 s (common/kube/undici-transport.ts); on a fast clock the event loop takes a part of that, too. */
const LONGEST_FROZEN_MS = 120_000;
const WATCHES: readonly Verb[] = ["watch", "stream"];

/** What the followers of a scene do not know yet, and watches that are missing or too many: one line each. */
export async function lateOf({ direct }: World, { seed, sides, controller }: Scene): Promise<readonly string[]> {
  const followers = sides.flatMap((side) => side.followers);
  const behind = await Promise.all(
    followers.map(async (follower) =>
      (await follower.behind(direct))?.map((line) => `${follower.collection}: ${line}`),
    ),
  );
  const late = [...behind, await controller.behind(direct)].flatMap((lines) => lines ?? ["no list to compare with"]);
  return [...late, ...sides.flatMap(watchProblems)].map((line) => `seed ${seed}: late: ${line}`);
}

/** What was wrong with all that a scene's followers said, held and asked for, one line each. */
export async function problemsOf({ direct }: World, scene: Scene, measure: Measure): Promise<readonly string[]> {
  const { seed, sides, controller } = scene;
  const told = await Promise.all(
    sides.flatMap(({ followers }) =>
      followers.map(async (follower) => {
        const problems = await follower.problems(direct);
        return problems.map((problem) => `${follower.collection}: ${problem}`);
      }),
    ),
  );
  const asked = sides.flatMap((side) => [
    ...requestProblems(side, measure),
    ...scanProblems(side),
    ...writeProblems(side.proxy.requests(), WRITES_IN_A_ROW),
    ...peerProblems(side),
  ]);
  return [...told.flat(), ...asked, ...controller.problems].map((problem) => `seed ${seed}: ${problem}`);
}

/** The gaps after failed requests of everything that is followed through a proxy. */
export function gapsOfSide(side: Side, pace: Pace): readonly Gap[] {
  return byCollection(side).flatMap(({ records }) => gapsOf(records, pace));
}

/** Each collection has one open watch: one that was left open would be a leak. */
function watchProblems(side: Side): readonly string[] {
  return byCollection(side).flatMap(({ name, records }) => {
    const open = records.filter(({ endedAt, verb }) => endedAt === undefined && WATCHES.includes(verb));
    return open.length === 1 ? [] : [`${name} has ${open.length} open watches`];
  });
}

function requestProblems(side: Side, { pace, faults }: Measure): readonly string[] {
  const most = REQUESTS_PER_FAULT * (1 + faults);
  return byCollection(side).flatMap(({ name, records }) => {
    const problems = [...pacingProblems(gapsOf(records, pace), pace), ...insistenceProblems(records)];
    if (records.length > most) problems.push(`was asked for ${records.length} times, more than ${most}`);
    return problems.map((problem) => `${name}: ${problem}`);
  });
}

/** Who lists from the cache of the server never has it read etcd. */
function scanProblems({ proxy, followers }: Side): readonly string[] {
  return followers.flatMap(({ collection, followed }) => {
    const scans = proxy.requests().filter((one) => one.isScan && one.collection === collection);
    const isCached = followed.listsFrom === "cache";
    return isCached && scans.length > 0 ? [`${collection}: had etcd read ${scans.length} times`] : [];
  });
}

function peerProblems({ proxy, pings }: Side): readonly string[] {
  const kept = pings ? proxy.frozenMs().filter((ms) => ms > LONGEST_FROZEN_MS) : [];
  return kept.map((ms) => `a connection without a peer was kept for ${Math.round(ms / 1000)} s`);
}

function byCollection({
  proxy,
  collections,
}: Side): readonly { readonly name: string; readonly records: readonly RequestRecord[] }[] {
  const records = Map.groupBy(proxy.requests(), ({ collection }) => collection);
  return collections.map((name) => ({ name, records: records.get(name) ?? [] }));
}
