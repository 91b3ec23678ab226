import { MooringError, messageOf } from "../runtime/errors.ts";
import type { KubeParts } from "./client.ts";
import { type Collection, METADATA_LIST } from "./collection.ts";
import { ConsistencyCheck, type Drift, type Lookup } from "./consistency.ts";
import { type Identity, readIdentity } from "./identity.ts";
import { list } from "./list.ts";
import type { Reflector } from "./reflector.ts";
import { isOlder } from "./resource-version.ts";
import type { StoreChange } from "./store.ts";

/** The store to compare with the server, and the reflector that fills it. */
export interface Checked extends Pick<Reflector, "resourceVersion" | "relist"> {
  readonly collection: Collection;
  readonly keys: () => Iterable<string>;
  readonly newest: Lookup;
}

/** Compares a store with its server from time to time. */
export interface ConsistencyChecker {
  /** To be called with each change of the store. */
  readonly onChange: (change: StoreChange<Identity>) => void;
  /** Number of objects in which the store has differed from the server. */
  readonly drift: () => number;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Time between two checks: a random time from this to three times as much. Milliseconds. */
const CHECK_MS = 600_000;
const CHECK_SPREAD_MS = 1_200_000;
/** Objects per page, and the pause after each page: a check need not be fast. A server forgets a list after five minutes. */
const PAGE_SIZE = 500;
const PAGE_PAUSE_MS = 20;
/** A watch delivers everything up to a given moment within about a minute, at the latest with a bookmark. */
const CATCH_UP_MS = 180_000;
const RECHECK_MS = 2_000;
const EXAMPLES = 5;

/**
 * A working watch misses nothing. This check is for unknown faults: client-go, too, has lost deletions (kubernetes#115658), and a wrong
 * store stays wrong until something changes. Differences are counted, logged, and repaired by a new list.
 */
export function createConsistencyChecker(parts: KubeParts, checked: Checked): ConsistencyChecker {
  const { clock, random, logger } = parts;
  let current: ConsistencyCheck | undefined;
  let drifted = 0;

  const repair = (drift: readonly Drift[]): void => {
    drifted += drift.length;
    const examples = drift.slice(0, EXAMPLES).map(({ kind, key }) => `${kind} ${key}`);
    logger.warn({ objects: drift.length, examples }, "store has drifted from the server, listing anew");
    checked.relist();
  };
  const check = async (signal: AbortSignal): Promise<void> => {
    const before = checked.resourceVersion();
    // Without a position a list is due anyway.
    if (before === undefined) return;
    current = new ConsistencyCheck(checked.keys(), checked.newest);
    const listedAt = await compare(parts, { check: current, checked, signal });
    if (isOlder(listedAt, before)) {
      logger.warn({ resourceVersion: before, now: listedAt }, "server has gone back in time, listing anew");
      return checked.relist();
    }
    const drift = await remainingDrift(parts, { check: current, checked, listedAt, signal });
    if (drift.length > 0) return repair(drift);
    logger.debug({ resourceVersion: listedAt }, "store is consistent with the server");
  };

  return {
    onChange: (change) => current?.onChange(change),
    drift: () => drifted,
    run: async (signal) => {
      while (!signal.aborted) {
        await clock.sleep(CHECK_MS + CHECK_SPREAD_MS * random.fraction(), signal);
        if (signal.aborted) return;
        await check(signal).catch((error: unknown) => {
          if (!(error instanceof MooringError)) throw error;
          // The next check will do. If the server cannot be reached, the watch reports it.
          if (!signal.aborted) logger.debug({ err: messageOf(error) }, "consistency not checked");
        });
        current = undefined;
      }
    },
  };
}

interface Checking {
  readonly check: ConsistencyCheck;
  readonly checked: Checked;
  readonly signal: AbortSignal;
}

/** Lists identities page by page, and compares each page as it arrives. */
async function compare({ client, clock }: KubeParts, { check, checked, signal }: Checking): Promise<string> {
  const { collection } = checked;
  const listing = { collection, query: { limit: String(PAGE_SIZE) }, accept: METADATA_LIST, signal };
  const pause = (): Promise<void> => clock.sleep(PAGE_PAUSE_MS, signal);
  const listedAt = await list(client, { ...listing, pause }, (items) =>
    check.compare(items.flatMap((item) => readIdentity(item) ?? [])),
  );
  check.end(listedAt);
  return listedAt;
}

/** What still differs when the store has reached the list's resource version, or should have. */
async function remainingDrift(
  { clock }: KubeParts,
  { check, checked, listedAt, signal }: Checking & { readonly listedAt: string },
): Promise<readonly Drift[]> {
  const until = clock.monotonicMs() + CATCH_UP_MS;
  for (;;) {
    const position = checked.resourceVersion();
    const drift = check.drift();
    // A new list is under way, or has just ended, so there is nothing left to repair.
    if (drift.length === 0 || position === undefined || signal.aborted) return [];
    if (!isOlder(position, listedAt) || clock.monotonicMs() >= until) return drift;
    await clock.sleep(RECHECK_MS, signal);
  }
}
