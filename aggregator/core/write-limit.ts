/** How many writes may be under way at once, as far as the answers of the API server tell. Times on a monotonic clock. */
export interface WriteLimit {
  /** Grows by fractions; its whole part counts. */
  readonly limit: number;
  /** Nothing has held it back yet: it doubles with each round of answers. */
  readonly isStarting: boolean;
  /** The shortest answer of late, and how long answers take now. Milliseconds; nothing before the first. */
  readonly shortestMs: number | undefined;
  readonly typicalMs: number | undefined;
  /** When the limit was last cut: what was begun before that tells nothing new. */
  readonly cutAtMs: number;
  /** The limit that was too much then; nothing before the first cut. */
  readonly ceiling: number | undefined;
  /** No write is begun before this. */
  readonly pausedUntilMs: number;
  /** Writes that failed since the last one that did not. */
  readonly failures: number;
}

/** What came of one write. */
export interface WriteAnswer {
  /** `overloaded`: 429, 503, 504 or no answer in time. `failed`: any other failure of the server or the way to it. */
  readonly kind: "done" | "overloaded" | "failed";
  readonly begunAtMs: number;
  readonly endedAtMs: number;
  /** As many were under way as the limit allows: only then does an answer tell whether more would do. */
  readonly wasFull: boolean;
  /** What the server asked for. Milliseconds. */
  readonly retryAfterMs: number;
}

/**
 * Most writes at once. An API server takes 100 streams on a connection and 200 mutating requests in all (its defaults): others
 * must find room beside us, and 64 in flight make 640 writes a second even where each takes 100 ms.
 */
export const MOST_WRITES = 64;

/** One write at a time always goes: without an answer nothing would be learnt. A few at the start are no burst to any server. */
const LEAST_WRITES = 1;
const FIRST_WRITES = 4;

/** Where so few at once are slow, others are the reason: fewer would not make answers quick, and refusals count without this. */
const LEAST_WHILE_SLOW = FIRST_WRITES;

/** Answers that take so much longer than the shortest show a queue in the server: more at once would only make it longer. */
const QUEUE_FACTOR = 2;
/** What garbage collection and the network add on their own. */
const QUEUE_SLACK_MS = 25;

/** A tenth: about the last ten answers count. */
const TYPICAL_WEIGHT = 0.1;
/** The shortest is slowly forgotten, or a server that became slower for good would hold us back for ever. */
const SHORTEST_WEIGHT = 0.002;

/**
 * For so long the limit stays below the one that was too much: a refusal comes with a wait of a second, most often, and to find out
 * anew all the time would leave the server idle for most of it.
 */
const CEILING_MS = 30_000;

/** When not one of a whole round of writes succeeds, there is a pause, too, that doubles. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

export const FIRST_LIMIT: WriteLimit = {
  limit: FIRST_WRITES,
  isStarting: true,
  shortestMs: undefined,
  typicalMs: undefined,
  cutAtMs: Number.NEGATIVE_INFINITY,
  ceiling: undefined,
  pausedUntilMs: Number.NEGATIVE_INFINITY,
  failures: 0,
};

/** The limit after one more answer: it grows with success as long as answers stay quick, and is halved when the server is overloaded. */
export function nextLimit(known: WriteLimit, answer: WriteAnswer): WriteLimit {
  return answer.kind === "done" ? afterSuccess(known, answer) : afterFailure(known, answer);
}

function afterSuccess(known: WriteLimit, { begunAtMs, endedAtMs, wasFull }: WriteAnswer): WriteLimit {
  const tookMs = endedAtMs - begunAtMs;
  const typicalMs = moved(known.typicalMs ?? tookMs, tookMs, TYPICAL_WEIGHT);
  const shortestMs = Math.min(tookMs, moved(known.shortestMs ?? tookMs, tookMs, SHORTEST_WEIGHT));
  const measured = { ...known, typicalMs, shortestMs, failures: 0 };
  if (!wasFull) return measured;
  if (typicalMs > QUEUE_FACTOR * shortestMs + QUEUE_SLACK_MS) {
    const shrunk = Math.max(LEAST_WHILE_SLOW, known.limit - 1 / known.limit);
    return { ...measured, isStarting: false, limit: Math.min(known.limit, shrunk) };
  }
  const grown = Math.min(known.limit + (known.isStarting ? 1 : 1 / known.limit), mostOf(known, endedAtMs));
  return { ...measured, limit: bounded(Math.max(known.limit, grown)) };
}

function mostOf({ ceiling, cutAtMs }: WriteLimit, nowMs: number): number {
  return ceiling === undefined || nowMs - cutAtMs > CEILING_MS ? MOST_WRITES : ceiling - 1;
}

function afterFailure(known: WriteLimit, { kind, begunAtMs, endedAtMs, retryAfterMs }: WriteAnswer): WriteLimit {
  const failures = known.failures + 1;
  const pauseMs = Math.max(retryAfterMs, pauseAfter(failures - Math.floor(known.limit)));
  const pausedUntilMs = Math.max(known.pausedUntilMs, endedAtMs + pauseMs);
  // The others of the same round fail for the same reason.
  if (kind !== "overloaded" || begunAtMs <= known.cutAtMs) return { ...known, failures, pausedUntilMs };
  const ceiling = Math.floor(known.limit);
  const limit = bounded(known.limit / 2);
  return { ...known, limit, ceiling, isStarting: false, cutAtMs: endedAtMs, failures, pausedUntilMs };
}

/** `beyond`: how many more failed than were begun together. */
function pauseAfter(beyond: number): number {
  return beyond < 0 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(beyond, 30));
}

function bounded(limit: number): number {
  return Math.min(MOST_WRITES, Math.max(LEAST_WRITES, limit));
}

function moved(from: number, to: number, weight: number): number {
  return from + (to - from) * weight;
}
