import type { Clock } from "../../common/runtime/clock.ts";
import type { Batch, Listing, Position } from "../core/paging.ts";

/** A page of a list. */
export interface Page {
  /** JSON texts. */
  readonly items: readonly string[];
  /** Where the next page goes on; nothing when there is none. */
  readonly next: Position | undefined;
}

export interface PageRequest {
  readonly after: Position | undefined;
  readonly limit: number;
}

/** Reports and watches wait for a list no longer than this and one entry. Milliseconds. */
const SLICE_MS = 5;
/** To look at the clock takes longer than to pass over an entry. */
const ENTRIES_PER_LOOK = 16;

/**
 * Makes pages in slices, between which everything else goes on, and one page after the other: however many ask, the event loop
 * has to get through one slice at a time.
 */
export class Pager {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** The page, or nothing when the signal was aborted. */
  read(listing: Listing, request: PageRequest): Promise<Page | undefined> {
    const page = this.#last.then(() => this.#read(listing, request));
    // Whoever asked hears of a failure; the next one does not.
    this.#last = page.catch(() => undefined);
    return page;
  }

  async #read(listing: Listing, request: PageRequest): Promise<Page | undefined> {
    const { monotonicMs, sleep } = this.#clock;
    const page = new GrowingPage(listing, request);
    while (!this.#signal.aborted) {
      const until = monotonicMs() + SLICE_MS;
      const done = page.grow(() => monotonicMs() >= until);
      if (done !== undefined) return done;
      await sleep(0, this.#signal);
    }
    return undefined;
  }
}

/** A page between two slices. It keeps no more of the list than a batch of names. */
class GrowingPage {
  readonly #listing: Listing;
  readonly #limit: number;
  readonly #items: string[] = [];
  #batch: Batch;
  #index = 0;
  #looked = 0;
  #last: Position | undefined;

  constructor(listing: Listing, { after, limit }: PageRequest) {
    this.#listing = listing;
    this.#limit = limit;
    this.#batch = listing.batch(after);
  }

  /** Goes on until the time is up; the page when it is done. */
  grow(isTimeUp: () => boolean): Page | undefined {
    for (;;) {
      const entry = this.#batch.entries[this.#index];
      if (entry === undefined) {
        const { reached } = this.#batch;
        if (reached === undefined) return { items: this.#items, next: undefined };
        this.#batch = this.#listing.batch(reached);
        this.#index = 0;
        continue;
      }
      this.#index += 1;
      this.#looked += 1;
      const item = this.#listing.item(entry);
      // One more than asked for shows that there is a next page.
      if (item !== undefined && this.#items.length === this.#limit) return { items: this.#items, next: this.#last };
      if (item !== undefined) {
        this.#items.push(item);
        this.#last = entry;
      }
      if ((item !== undefined || this.#looked % ENTRIES_PER_LOOK === 0) && isTimeUp()) return undefined;
    }
  }
}
