import type { Published } from "../judge/published.ts";
import type { CrashRecord, TrueUse } from "./record.ts";
import { clockTime } from "./states.ts";

/** Everything that happened to a claim and around it, one line each, ordered by time. */
export function storyOf(claim: string, { uses, claims, kills, uptimes, checkpoints }: CrashRecord): readonly string[] {
  const states = claims.find((history) => history.claim === claim)?.states ?? [];
  const moments = [
    ...uses.filter((use) => use.claim === claim).flatMap(momentsOf),
    ...states.map(({ seenMs, published }) => ({ atMs: seenMs, text: `     STORED ${textOf(published)}` })),
    ...kills.map(({ atMs, victim, name }) => ({ atMs, text: `  kill -9 of the ${victim} (${name})` })),
    ...uptimes.leaders.map(({ fromMs }) => ({ atMs: fromMs, text: "  a leader is up" })),
    ...Object.entries(uptimes.agents).flatMap(([node, spans]) =>
      spans.map(({ fromMs }) => ({ atMs: fromMs, text: `  the agent of ${node} is up` })),
    ),
    ...checkpoints
      .filter((one) => one.claim === "all" || one.claim === claim)
      .map(({ atMs }) => ({ atMs, text: "  CHECKPOINT" })),
  ];
  return moments.toSorted((one, other) => one.atMs - other.atMs).map(({ atMs, text }) => `${clockTime(atMs)} ${text}`);
}

function momentsOf(use: TrueUse): readonly { readonly atMs: number; readonly text: string }[] {
  const { pod, podUid, node, askedMs, mounted, unmounted, removedMs } = use;
  return [
    { atMs: askedMs, text: `${pod} is created on ${node} (${podUid})` },
    { atMs: mounted.toMs, text: `${pod} MOUNTED on ${node}` },
    ...(unmounted === undefined
      ? []
      : [{ atMs: unmounted.toMs, text: `${pod} UNMOUNTED on ${node}, not before ${clockTime(unmounted.fromMs)}` }]),
    ...(removedMs === undefined ? [] : [{ atMs: removedMs, text: `${pod} is gone` }]),
  ];
}

function textOf(published: Published | undefined): string {
  if (published === undefined) return "nothing";
  const { isUnused, reason, sinceMs, lastUse, message } = published;
  const use =
    lastUse === undefined
      ? "no last use"
      : `last use by ${lastUse.podUid} until ${clockTime(lastUse.endedByMs)} -${lastUse.uncertaintyMs} ms`;
  return `${isUnused ? "True" : "False"} ${reason} since ${clockTime(sinceMs)}, ${use}: ${message}`;
}
