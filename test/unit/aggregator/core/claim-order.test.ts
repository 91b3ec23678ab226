import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClaimOrder } from "../../../../aggregator/core/claim-order.ts";
import type { Batch, Position } from "../../../../aggregator/core/paging.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, statusWith } from "../world.ts";

/** `shop/a` is in use or not watched, `shop/a@3` has been unused since the third minute after noon. */
function claimOf(text: string): Claim {
  const [key = "", minute] = text.split("@");
  const [namespace = "", name = ""] = key.split("/");
  const status = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON + Number(minute) * 60_000 });
  return claimWith({ key, namespace, name, status: minute === undefined ? undefined : status });
}

class Claims {
  readonly #claims = new Map<string, Claim>();
  readonly order = new ClaimOrder((key) => this.#claims.get(key));

  constructor(texts: readonly string[]) {
    for (const text of texts) this.put(text);
  }

  put(text: string): void {
    const claim = claimOf(text);
    const previous = this.#claims.get(claim.key);
    this.#claims.set(claim.key, claim);
    this.order.put(claim, previous);
  }

  remove(key: string): void {
    const last = this.#claims.get(key);
    this.#claims.delete(key);
    if (last !== undefined) this.order.remove(last);
  }
}

/** All entries, batch after batch; `meanwhile` is done after each. */
function walk(read: (after: Position | undefined) => Batch, meanwhile: (turn: number) => void = () => {}): string[] {
  const keys: string[] = [];
  let after: Position | undefined;
  for (let turn = 0; ; turn += 1) {
    const { entries, reached } = read(after);
    keys.push(...entries.map(({ key }) => key));
    if (reached === undefined) return keys;
    after = reached;
    meanwhile(turn);
  }
}

function numbered(count: number, suffix: (index: number) => string = () => ""): string[] {
  return Array.from({ length: count }, (_, index) => `ns/c${String(index).padStart(4, "0")}${suffix(index)}`);
}

describe("the order by key", () => {
  it("is that of the API server's lists: by the code units of namespace/name", () => {
    const { order } = new Claims(["shop/b", "shop-2/a", "shop/a", "Zoo/a"]);

    expect(walk((after) => order.byKey(after, undefined))).toEqual(["Zoo/a", "shop-2/a", "shop/a", "shop/b"]);
  });

  it("has one namespace alone, not those that only begin like it", () => {
    const { order } = new Claims(["shop/b", "shop-2/a", "shop/a", "shop2/a", "a/shop"]);

    expect(walk((after) => order.byKey(after, "shop"))).toEqual(["shop/a", "shop/b"]);
  });

  it("goes on behind an entry that is gone", () => {
    const claims = new Claims(["a/a", "a/b", "a/c"]);
    claims.remove("a/b");

    expect(claims.order.byKey({ key: "a/b" }, undefined).entries).toEqual([{ key: "a/c" }]);
  });

  it("forgets what is removed and keeps what is changed", () => {
    const claims = new Claims(["a/a", "a/b@1", "a/c@2"]);
    claims.remove("a/c");
    claims.put("a/b");

    expect(walk((after) => claims.order.byKey(after, undefined))).toEqual(["a/a", "a/b"]);
    expect(walk((after) => claims.order.byIdleTime(after))).toEqual(["a/a", "a/b"]);
  });
});

describe("the order by idle time", () => {
  it("has the longest unused first, then all others by key", () => {
    const { order } = new Claims(["b/used", "a/young@9", "a/used", "z/old@1", "c/same@5", "b/same@5"]);

    const keys = walk((after) => order.byIdleTime(after));

    expect(keys).toEqual(["z/old", "b/same", "c/same", "a/young", "a/used", "b/used"]);
  });

  it("has a claim once whose time has moved", () => {
    const claims = new Claims(["a/a@1", "a/b@2"]);
    claims.put("a/a@3");

    expect(walk((after) => claims.order.byIdleTime(after))).toEqual(["a/b", "a/a"]);
  });

  it("has many in use behind many unused", () => {
    const { order } = new Claims(numbered(2_400, (index) => (index % 2 === 0 ? `@${index}` : "")));

    const keys = walk((after) => order.byIdleTime(after));

    expect(keys).toHaveLength(2_400);
    expect(new Set(keys).size).toBe(2_400);
  });
});

describe("a walk while claims come, change and go", () => {
  const { MOORING_PROPERTY_RUNS: hunt } = process.env;
  const runs = hunt === undefined ? { seed: 5541, numRuns: 25 } : { numRuns: Number(hunt) };
  const suffix = fc.constantFrom("", "@1", "@500", "@2000");
  const change = fc.record({ turn: fc.nat(5), index: fc.nat(1_999), suffix, isRemoved: fc.boolean() });

  it.each([
    { name: "by key", read: (order: ClaimOrder) => (after: Position | undefined) => order.byKey(after, undefined) },
    { name: "by idle time", read: (order: ClaimOrder) => (after: Position | undefined) => order.byIdleTime(after) },
  ])("$name has every claim that stays as it is exactly once", ({ read }) => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
        const texts = numbered(1_500, (index) => (index % 3 === 0 ? "" : `@${index}`));
        const claims = new Claims(texts);
        const touched = new Set<string>();

        const keys = walk(read(claims.order), (turn) => {
          for (const one of changes.filter((candidate) => candidate.turn === turn)) {
            const key = `ns/c${String(one.index).padStart(4, "0")}`;
            touched.add(key);
            if (one.isRemoved) claims.remove(key);
            else claims.put(`${key}${one.suffix}`);
          }
        });

        const unchanged = texts.map((text) => claimOf(text).key).filter((key) => !touched.has(key));
        const seen = keys.filter((key) => !touched.has(key));
        expect(seen.toSorted()).toEqual(unchanged);
      }),
      runs,
    );
  });
});
