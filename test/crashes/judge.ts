import { type Chances, Docket, type PromiseName } from "../judge/docket.ts";
import type { Published } from "../judge/published.ts";
import type { Case, Use } from "../judge/record.ts";
import { judgeMeanwhile, judgeRest } from "../judge/rest.ts";
import { judgeWrite, KNOWN_WITHIN_MS } from "../judge/writes.ts";
import type { ClaimHistory, CrashRecord, Span, TrueUse, Uptimes } from "./record.ts";
import { common, earliestEnd, lastOf, publishedAt, writesOf } from "./states.ts";

/** A mount has to be published once its agent, a leader and the API server have been up for this long. Milliseconds. */
const REPORTED_WITHIN_MS = 6_000;

/** A broken promise. */
export interface Finding {
  readonly claim: string;
  readonly promise: PromiseName;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  readonly text: string;
}

/** The judge's result for a campaign. */
export interface Verdict {
  /** Ordered by time. */
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

/** Checks the status of a claim once its last use should be published: the use is over and named, unless no process could observe it. */
export function lostAt(
  record: CrashRecord,
  { claim, atMs }: { readonly claim: string; readonly atMs: number },
): Verdict {
  const court = new Court(record);
  for (const history of record.claims) if (history.claim === claim) court.judgeEnds(history, atMs);
  return court.verdict;
}

/** Has the judge check a campaign. */
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

  /** Judges each write when it is stored. */
  judgeWrites(history: ClaimHistory): void {
    const writes = writesOf(history.states);
    const claim = this.#caseOf(history);
    for (const [index, { seenMs, published: now }] of writes.entries()) {
      const before = writes[index - 1];
      const times = {
        knownBeforeMs: (before?.seenMs ?? 0) - KNOWN_WITHIN_MS,
        sentMs: seenMs,
        knownUntilMs: seenMs - KNOWN_WITHIN_MS,
        presentMs: seenMs,
      };
      this.#at(history.claim, seenMs, () =>
        judgeWrite(this.#docket, claim, { now, before: before?.published, ...times }),
      );
    }
  }

  /** Judges mounts while their agent, a leader and the API server are up: a mount may be published late, and stays published. */
  judgeMounts({ claim, states }: ClaimHistory): void {
    const { uptimes, uses } = this.#record;
    for (const use of uses.filter((one) => one.claim === claim)) {
      const mounted = [{ fromMs: use.mounted.toMs, toMs: earliestEnd(use) }];
      for (const { fromMs, toMs } of common(
        mounted,
        uptimes.agents[use.node] ?? [],
        uptimes.leaders,
        uptimes.apiServer,
      )) {
        const publicationMs = fromMs + REPORTED_WITHIN_MS;
        const later = states.filter(({ seenMs }) => seenMs > publicationMs && seenMs < toMs);
        const all =
          publicationMs < toMs ? [publishedAt(states, publicationMs), ...later.map(({ published }) => published)] : [];
        this.#at(claim, publicationMs, () => this.#judgeMount(use, all));
      }
    }
  }

  #judgeMount(use: TrueUse, all: readonly (Published | undefined)[]): void {
    const known = {
      ...usedBy(use, { states: [], uptimes: this.#record.uptimes }),
      promisedEnd: undefined,
      isKnown: true,
    };
    // A mount that is never published is one finding, not one for each write.
    const worst = all.find((published) => published?.isUnused === true) ?? all[0];
    if (all.length > 0) judgeMeanwhile(this.#docket, { ...UNUSED_CASE, name: use.claim, uses: [known] }, worst);
  }

  /** At a checkpoint, every claim that was used and is no longer in use has to show that. */
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
    const now = publishedAt(history.states, atMs);
    this.#at(history.claim, atMs, () => judgeRest(this.#docket, this.#caseOf(history, over), { now, scene }));
  }

  #caseOf({ claim, states }: ClaimHistory, uses = this.#record.uses.filter((use) => use.claim === claim)): Case {
    const { uptimes } = this.#record;
    const namedBy = uses.map(({ podUid }) => podUid);
    return { ...UNUSED_CASE, name: claim, uses: uses.map((use) => usedBy(use, { states, uptimes })), namedBy };
  }

  #at(claim: string, atMs: number, act: () => void): void {
    const { broken } = this.#docket;
    const begin = broken.length;
    act();
    this.#findings.push(...broken.slice(begin).map(({ promise, detail: text }) => ({ claim, promise, atMs, text })));
  }
}

/** Claims are created once, before the campaign begins. */
const UNUSED_CASE: Case = {
  name: "",
  made: { afterMs: 0, byMs: 0 },
  uses: [],
  namedBy: [],
  lookalikes: [],
  dispute: undefined,
};

interface Observations {
  readonly states: ClaimHistory["states"];
  readonly uptimes: Uptimes;
}

function usedBy(use: TrueUse, seen: Observations): Use {
  const { node, pod, podUid, mounted, unmounted } = use;
  // Before a leader first answers its agent, no stamp of the node has a time of the API server before it.
  const isScanned = (wasScanned(use, seen.uptimes) && wasAnswered(use, seen.uptimes)) || undefined;
  const ended = unmounted && { afterMs: unmounted.fromMs, byMs: unmounted.toMs };
  return {
    ...{ node, pod, podUid, isShown: true, isScanned, isKnown: false, ended, promisedEnd: ended },
    ...{ beganMs: mounted.toMs, endedMs: unmounted?.fromMs, excuse: undefined, unobserved: undefined },
    unnamed: wasObserved(use, seen) ? undefined : "unobserved: no agent and no replica saw it",
  };
}

/** Its agent could scan the mount, or a replica that lived until the publication could watch the pod. */
function wasObserved(use: TrueUse, { states, uptimes }: Observations): boolean {
  // An agent stores what it has scanned; a replica that is killed first loses what it has watched.
  if (wasScanned(use, uptimes)) return true;
  const there = { fromMs: use.mounted.toMs, toMs: use.removedMs ?? Number.POSITIVE_INFINITY };
  const publicationMs =
    writesOf(states).find(({ published }) => published.isUnused && published.sinceMs >= earliestEnd(use))?.seenMs ?? 0;
  const survivors = uptimes.aggregators.filter(({ toMs }) => toMs >= publicationMs);
  // A replica sees pods through the API server only.
  return isLongEnough(there, survivors, uptimes.apiServer);
}

function wasScanned(use: TrueUse, { agents }: Uptimes): boolean {
  return isLongEnough({ fromMs: use.mounted.toMs, toMs: earliestEnd(use) }, agents[use.node] ?? []);
}

/** A leader could answer its agent at some time before the use ended: the agent keeps the time of the API server in the answer. */
function wasAnswered(use: TrueUse, { agents, leaders, apiServer }: Uptimes): boolean {
  return isLongEnough({ fromMs: 0, toMs: earliestEnd(use) }, agents[use.node] ?? [], leaders, apiServer);
}

/** All of them were up together for two seconds of it. */
function isLongEnough(span: Span, ...uptimes: readonly (readonly Span[])[]): boolean {
  return common([span], ...uptimes).some(({ fromMs, toMs }) => toMs - fromMs >= KNOWN_WITHIN_MS);
}
