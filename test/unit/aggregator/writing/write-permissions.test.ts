import { describe, expect, it } from "vitest";
import { WritePermissions } from "../../../../aggregator/writing/write-permissions.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

function setUp() {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const retried: string[] = [];
  const retry = (keys: Iterable<string>): void => void retried.push(...keys);
  const permissions = new WritePermissions({ clock, logger, random: createFixedRandom(0.5), retry });
  return { clock, logger, retried, permissions };
}

describe("WritePermissions", () => {
  it("lets the claims of a namespace where one was forbidden wait for that one, says so once, and names the namespace", () => {
    const { permissions, logger } = setUp();

    permissions.deny("shop/a", "no role");
    permissions.deny("shop/b", "no role at all");
    permissions.deny("lab/c", "no role at all");

    const rests = ["shop/a", "shop/b", "shop/z", "lab/c", "free/z"].map((key) => permissions.restBefore(key));
    expect(rests).toEqual([1_000, undefined, undefined, 1_000, 0]);
    expect(permissions.missing()).toEqual({ namespaces: ["shop", "lab"], message: "no role at all" });
    expect(logger.messages()).toEqual(["no permission to write claim status"]);
  });

  it("tries one claim of each namespace at growing intervals, once a minute in the end", () => {
    const { clock, permissions } = setUp();
    permissions.deny("lab/b", "no");

    const rests = Array.from({ length: 8 }, () => {
      permissions.deny("shop/a", "no");
      const restMs = permissions.restBefore("shop/a") ?? Number.NaN;
      clock.pass(restMs);
      return restMs;
    });

    expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(permissions.restBefore("lab/b")).toBeLessThanOrEqual(0);
  });

  it("tries the next claim of the namespace when the first one has nothing to write any more, when its turn comes", () => {
    const { clock, permissions, retried } = setUp();
    permissions.deny("shop/gone", "no");
    permissions.restBefore("shop/data");
    clock.pass(400);

    permissions.release("shop/gone");

    expect(retried).toEqual(["shop/data"]);
    expect(permissions.restBefore("shop/data")).toBe(600);
  });

  it("lets all that waited try when one of their namespace is let through, and says so when nothing is missing any more", () => {
    const { logger, permissions, retried } = setUp();
    permissions.deny("shop/a", "no");
    permissions.deny("lab/b", "no");
    permissions.restBefore("shop/c");
    permissions.grant("shop/a");
    const first = retried.splice(0);
    const before = logger.messages();

    permissions.grant("lab/b");

    expect([first, retried]).toEqual([["shop/a", "shop/c"], ["lab/b"]]);
    expect(permissions.missing()).toBeUndefined();
    expect(before).toEqual(["no permission to write claim status"]);
    expect(logger.messages()).toEqual(["no permission to write claim status", "claim status may be written again"]);
  });

  it("forgets a namespace in which no claim waits any more", () => {
    const { permissions, retried } = setUp();
    permissions.deny("shop/a", "no");
    permissions.restBefore("shop/b");

    permissions.release("shop/a");
    const before = permissions.missing()?.namespaces;
    permissions.release("shop/b");

    expect([before, permissions.missing()]).toEqual([["shop"], undefined]);
    expect(retried).toEqual(["shop/b"]);
  });
});
