import { describe, expect, it } from "vitest";
import type { Listing, Position } from "../../../../aggregator/core/paging.ts";
import { type Page, Pager } from "../../../../aggregator/sources/list-pager.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";

const BATCH = 10;

interface Script {
  readonly isAsked: (number: number) => boolean;
  readonly onItem: () => void;
}

/** The numbers below `count` as a list; those for which `isAsked` holds belong to what was asked for. */
function numbers(count: number, { isAsked = () => true, onItem = () => {} }: Partial<Script> = {}): Listing {
  const key = (index: number): Position => ({ key: String(index).padStart(6, "0") });
  return {
    batch: (after) => {
      const begin = after === undefined ? 0 : Number(after.key) + 1;
      const entries = Array.from({ length: Math.max(0, Math.min(BATCH, count - begin)) }, (_, index) =>
        key(begin + index),
      );
      return { entries, reached: entries.length < BATCH ? undefined : entries.at(-1) };
    },
    item: (entry) => {
      onItem();
      return isAsked(Number(entry.key)) ? entry.key : undefined;
    },
  };
}

function pagerOn() {
  const clock = createFakeClock();
  const stop = new AbortController();
  return { clock, stop, pager: new Pager(clock, stop.signal) };
}

async function allPages(listing: Listing, limit: number): Promise<readonly Page[]> {
  const { pager } = pagerOn();
  const pages: Page[] = [];
  let after: Position | undefined;
  do {
    const page = await pager.read(listing, { after, limit });
    if (page === undefined) throw new Error("it was stopped");
    pages.push(page);
    after = page.next;
  } while (after !== undefined);
  return pages;
}

describe("Pager", () => {
  it.each([
    { name: "a list of nothing", count: 0, limit: 5, sizes: [0] },
    { name: "a list that is shorter than a page", count: 3, limit: 5, sizes: [3] },
    { name: "a list that fills its pages exactly, without an empty one behind", count: 10, limit: 5, sizes: [5, 5] },
    { name: "a list that begins one more page", count: 11, limit: 5, sizes: [5, 5, 1] },
    { name: "pages of one", count: 3, limit: 1, sizes: [1, 1, 1] },
    { name: "a page of several batches", count: 57, limit: 50, sizes: [50, 7] },
  ])("makes the pages of $name", async ({ count, limit, sizes }) => {
    const pages = await allPages(numbers(count), limit);

    expect(pages.map(({ items }) => items.length)).toEqual(sizes);
    expect(pages.flatMap(({ items }) => items)).toEqual(
      Array.from({ length: count }, (_, index) => String(index).padStart(6, "0")),
    );
  });

  it("fills a page with what was asked for, wherever that is", async () => {
    const pages = await allPages(numbers(1_000, { isAsked: (number) => number % 300 === 7 }), 2);

    expect(pages.map(({ items }) => items)).toEqual([
      ["000007", "000307"],
      ["000607", "000907"],
    ]);
  });

  it("lets others go on after a few milliseconds of work", async () => {
    const { clock, pager } = pagerOn();
    let worked = 0;
    const listing = numbers(100, {
      onItem: () => {
        worked += 1;
        clock.pass(1);
      },
    });

    const page = pager.read(listing, { after: undefined, limit: 100 });
    await settle();
    const before = worked;
    await clock.advance(10_000);

    expect(before).toBeLessThanOrEqual(6);
    expect((await page)?.items).toHaveLength(100);
  });

  it("lets others go on while nothing is found", async () => {
    const { clock, pager } = pagerOn();
    let looked = 0;
    const onItem = (): void => {
      looked += 1;
      clock.pass(1);
    };

    const page = pager.read(numbers(1_000, { isAsked: () => false, onItem }), { after: undefined, limit: 5 });
    await settle();
    const before = looked;
    await clock.advance(10_000);

    expect(before).toBeLessThanOrEqual(20);
    expect(await page).toEqual({ items: [], next: undefined });
  });

  it("makes one page after the other", async () => {
    const { clock, pager } = pagerOn();
    const order: string[] = [];
    const busy = (name: string): Listing =>
      numbers(20, {
        onItem: () => {
          order.push(name);
          clock.pass(1);
        },
      });

    const pages = Promise.all(["a", "b"].map((name) => pager.read(busy(name), { after: undefined, limit: 50 })));
    await clock.advance(10_000);
    await pages;

    expect(order.join("")).toBe("a".repeat(20) + "b".repeat(20));
  });

  it("makes the next page although one has failed", async () => {
    const { pager } = pagerOn();
    const broken: Listing = {
      batch: () => {
        throw new TypeError("a bug");
      },
      item: () => undefined,
    };

    const failed = pager.read(broken, { after: undefined, limit: 1 });
    const next = pager.read(numbers(1), { after: undefined, limit: 1 });

    await expect(failed).rejects.toThrow("a bug");
    expect((await next)?.items).toEqual(["000000"]);
  });

  it("gives up when it is stopped", async () => {
    const { clock, stop, pager } = pagerOn();
    const page = pager.read(numbers(1_000, { onItem: () => clock.pass(1) }), { after: undefined, limit: 1_000 });
    await settle();

    stop.abort();

    expect(await page).toBeUndefined();
  });
});
