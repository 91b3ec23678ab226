import { type Chances, Docket, type PromiseName } from "../judge/docket.ts";
import type { Published } from "../judge/published.ts";
import type { Case, Use } from "../judge/record.ts";
import { judgeMeanwhile, judgeRest } from "../judge/rest.ts";
import { judgeWrite, UNREAD_MS } from "../judge/writes.ts";
import { common, earliestEnd, lastOf, wordsAt, writesOf } from "./judged.ts";
import type { ClaimHistory, CrashRecord, Lives, Span, TrueUse } from "./record.ts";

/** A mount has to be told when all who tell it have been up for so long. Milliseconds. */
const TOLD_MS = 6_000;

/** One thing that is wrong. */
export interface Finding {
  readonly claim: string;
  readonly promise: PromiseName;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  readonly text: string;
}

/** What the judge says of a campaign. */
export interface Verdict {
  /** In the order of time. */
  readonly findings: readonly Finding[];
  readonly chances: Readonly<Record<string, Chances>>;
}

export function judge(record: CrashRecord): Verdict {
  const court = new Court(record);
  for (const history of record.claims) {
    court.judgeWrites(history);
    court.judgeMounts(history);
    for (const { claim, atMs } of record.checkpoints)
      if (claim === "all" || claim === history.claim) court.judgeEnds(history, atMs);
  }
  return court.verdict;
}

/** What is wrong with what stands there once all has been told: the last use is over, and named, unless nobody could see it. */
export function lostAt(
  record: CrashRecord,
  { claim, atMs }: { readonly claim: string; readonly atMs: number },
): Verdict {
  const court = new Court(record);
  for (const history of record.claims) if (history.claim === claim) court.judgeEnds(history, atMs);
  return court.verdict;
}

/** Brings a campaign before the one judge. */
class Court {
  readonly #record: CrashRecord;
  readonly #docket = new Docket();
  readonly #findings: Finding[] = [];

  constructor(record: CrashRecord) {
    this.#record = record;
  }

  get verdict(): Verdict {
    const findings = this.#findings.toSorted((one, other) => one.atMs - other.atMs);
    return { findings, chances: this.#docket.chances };
  }

  /** Each write when it was stored. */
  judgeWrites(history: ClaimHistory): void {
    const writes = writesOf(history.states);
    const claim = this.#caseOf(history);
    for (const [index, { seenMs, words: now }] of writes.entries()) {
      const before = writes[index - 1];
      const times = { beforeMs: before?.seenMs ?? 0, sentMs: seenMs, heardMs: seenMs - UNREAD_MS, presentMs: seenMs };
      this.#at(history.claim, seenMs, () => judgeWrite(this.#docket, claim, { now, before: before?.words, ...times }));
    }
  }

  /** A mount is told as long as its agent, a leader and the API server are up: not at once, but never unsaid again. */
  judgeMounts({ claim, states }: ClaimHistory): void {
    const { lives, uses } = this.#record;
    for (const use of uses.filter((one) => one.claim === claim)) {
      const mounted = [{ fromMs: use.mounted.toMs, toMs: earliestEnd(use) }];
      for (const { fromMs, toMs } of common(mounted, lives.agents[use.node] ?? [], lives.leaders, lives.apiServer)) {
        const toldMs = fromMs + TOLD_MS;
        const later = states.filter(({ seenMs }) => seenMs > toldMs && seenMs < toMs);
        const all = toldMs < toMs ? [wordsAt(states, toldMs), ...later.map(({ words }) => words)] : [];
        this.#at(claim, toldMs, () => this.#judgeMount(use, all));
      }
    }
  }

  #judgeMount(use: TrueUse, all: readonly (Published | undefined)[]): void {
    const known = { ...usedBy(use, { states: [], lives: this.#record.lives }), promisedEnd: undefined, isKnown: true };
    // One that is not told is one fault, however often it is not.
    const worst = all.find((words) => words?.isUnused === true) ?? all[0];
    if (all.length > 0) judgeMeanwhile(this.#docket, { ...NOBODYS, name: use.claim, uses: [known] }, worst);
  }

  /** Every claim that was used and is not in use says so at a checkpoint. */
  judgeEnds(history: ClaimHistory, atMs: number): void {
    const uses = this.#record.uses.filter(({ claim }) => claim === history.claim);
    const over = uses.filter(({ unmounted }) => unmounted !== undefined && unmounted.toMs <= atMs);
    const last = lastOf(over)?.unmounted;
    const goesOn = uses.some(
      ({ askedMs, removedMs = Number.POSITIVE_INFINITY }) => askedMs <= atMs && removedMs > atMs,
    );
    if (last === undefined || goesOn) return;
    const moment = { afterMs: last.fromMs, byMs: last.toMs };
    const scene = {
      ...{ mounts: [], references: [], stagedOn: [], last: moment },
      mayBeLateMs: undefined,
      isLastNamed: true,
    };
    const now = wordsAt(history.states, atMs);
    this.#at(history.claim, atMs, () => judgeRest(this.#docket, this.#caseOf(history, over), { now, scene }));
  }

  #caseOf({ claim, states }: ClaimHistory, uses = this.#record.uses.filter((use) => use.claim === claim)): Case {
    const { lives } = this.#record;
    const namedBy = uses.map(({ podUid }) => podUid);
    return { ...NOBODYS, name: claim, uses: uses.map((use) => usedBy(use, { states, lives })), namedBy };
  }

  #at(claim: string, atMs: number, act: () => void): void {
    const { broken } = this.#docket;
    const begin = broken.length;
    act();
    this.#findings.push(...broken.slice(begin).map(({ promise, detail: text }) => ({ claim, promise, atMs, text })));
  }
}

/** Claims are made before a campaign begins, and once. */
const NOBODYS: Case = {
  name: "",
  made: { afterMs: 0, byMs: 0 },
  uses: [],
  namedBy: [],
  lookalikes: [],
  dispute: undefined,
};

interface Seen {
  readonly states: ClaimHistory["states"];
  readonly lives: Lives;
}

function usedBy(use: TrueUse, seen: Seen): Use {
  const { node, pod, podUid, mounted, unmounted } = use;
  const isScanned = wasScanned(use, seen.lives) || undefined;
  const ended = unmounted && { afterMs: unmounted.fromMs, byMs: unmounted.toMs };
  return {
    ...{ node, pod, podUid, isShown: true, isScanned, isKnown: false, ended, promisedEnd: ended },
    ...{ beganMs: mounted.toMs, endedMs: unmounted?.fromMs, excuse: undefined, unseen: undefined },
    forgotten: wasSeen(use, seen) ? undefined : "nobody could see it",
  };
}

/** Its agent could see the mount, or a replica that lived until that was told could see the pod. */
function wasSeen(use: TrueUse, { states, lives }: Seen): boolean {
  // An agent writes down what it has seen; a replica that is killed before it has told takes it along.
  if (wasScanned(use, lives)) return true;
  const there = { fromMs: use.mounted.toMs, toMs: use.removedMs ?? Number.POSITIVE_INFINITY };
  const toldMs = writesOf(states).find(({ words }) => words.isUnused && words.sinceMs >= earliestEnd(use))?.seenMs ?? 0;
  const survivors = lives.aggregators.filter(({ toMs }) => toMs >= toldMs);
  // Nobody but the API server tells it of pods.
  return isLongEnough(there, survivors, lives.apiServer);
}

function wasScanned(use: TrueUse, { agents }: Lives): boolean {
  return isLongEnough({ fromMs: use.mounted.toMs, toMs: earliestEnd(use) }, agents[use.node] ?? []);
}

/** All of them were up for two seconds of it. */
function isLongEnough(span: Span, ...lives: readonly (readonly Span[])[]): boolean {
  return common([span], ...lives).some(({ fromMs, toMs }) => toMs - fromMs >= UNREAD_MS);
}
