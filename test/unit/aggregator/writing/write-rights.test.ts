import { afterEach, describe, expect, it } from "vitest";
import { WriteRights } from "../../../../aggregator/writing/write-rights.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

let stops: (() => Promise<void>)[] = [];

function setUp() {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const retried: string[] = [];
  const rights = new WriteRights({ clock, logger, random: createFixedRandom(0.5) }, (key) => void retried.push(key));
  const stopping = new AbortController();
  const running = rights.run(stopping.signal);
  stops.push(async () => {
    stopping.abort();
    await running;
  });
  return { clock, logger, retried, rights };
}

afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

describe("WriteRights", () => {
  it("lets everything through as long as nothing was forbidden", () => {
    const { rights } = setUp();

    expect(rights.holds("shop/a")).toBe(false);
    expect(rights.missing()).toBeUndefined();
  });

  it("holds all claims of a namespace where one was forbidden, says so once, and names the namespace", () => {
    const { rights, logger } = setUp();

    rights.deny("shop/a", "no role");
    rights.deny("shop/b", "no role at all");
    rights.deny("lab/c", "no role at all");

    expect([rights.holds("shop/z"), rights.holds("lab/z"), rights.holds("free/z")]).toEqual([true, true, false]);
    expect(rights.missing()).toEqual({ namespaces: ["shop", "lab"], message: "no role at all" });
    expect(logger.messages()).toEqual(["no right to write claim status"]);
  });

  it("tries one claim at a time, of one namespace after the other, at growing intervals", async () => {
    const { clock, rights, retried } = setUp();
    rights.deny("shop/a", "no");
    rights.deny("lab/b", "no");
    for (const key of ["shop/c", "shop/d"]) rights.holds(key);

    const at: number[] = [];
    for (let second = 1; second <= 180; second += 1) {
      await clock.advance(1_000);
      const probe = retried[at.length];
      if (probe === undefined) continue;
      at.push(second);
      expect(rights.holds(probe)).toBe(false);
      rights.deny(probe, "no");
    }

    expect(retried).toEqual(["shop/a", "lab/b", "shop/c", "lab/b", "shop/d", "lab/b", "shop/a", "lab/b"]);
    expect(at).toEqual([1, 3, 6, 12, 24, 48, 93, 138]);
  });

  it("tries another claim of the namespace when the first one has nothing to write any more", async () => {
    const { clock, rights, retried } = setUp();
    rights.deny("shop/gone", "no");
    rights.holds("shop/data");

    await clock.advance(10_000);

    expect(retried.slice(0, 2)).toEqual(["shop/gone", "shop/data"]);
  });

  it("looks at all that were held again when one is let through", async () => {
    const { clock, logger, rights, retried } = setUp();
    rights.deny("shop/a", "no");
    rights.deny("lab/b", "no");
    rights.holds("shop/c");
    await clock.advance(1_000);

    rights.grant("shop/a");

    expect(retried).toEqual(["shop/a", "lab/b", "shop/c", "shop/a"]);
    expect(rights.missing()).toBeUndefined();
    expect(logger.messages()).toEqual(["no right to write claim status", "claim status may be written again"]);
  });

  it("takes a write in another namespace for no sign", () => {
    const { rights } = setUp();
    rights.deny("shop/a", "no");

    rights.grant("free/z");

    expect(rights.missing()?.namespaces).toEqual(["shop"]);
  });

  it("forgets a namespace in which no claim waits any more", async () => {
    const { clock, rights, retried } = setUp();
    rights.deny("shop/a", "no");
    rights.holds("shop/b");

    rights.release("shop/a");
    const before = rights.missing()?.namespaces;
    await clock.advance(1_000);
    rights.release("shop/b");
    await clock.advance(600_000);

    expect([before, rights.missing()]).toEqual([["shop"], undefined]);
    expect(retried).toEqual(["shop/b"]);
  });
});
