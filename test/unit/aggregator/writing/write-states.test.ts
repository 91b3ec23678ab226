import { describe, expect, it } from "vitest";
import { WriteStates } from "../../../../aggregator/writing/write-states.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { claimWith, statusWith } from "../world.ts";

const write = { kind: "apply", status: statusWith(), upstream: "none", isRepair: false, canWait: false } as const;

function setUp(): WriteStates {
  return new WriteStates({ clock: createFakeClock(), random: createFixedRandom(0.5) }, 5_000);
}

describe("WriteStates", () => {
  it("forgets a claim that is gone, and not the one that has its name by now", () => {
    const states = setUp();
    states.refuse(claimWith(), "Forbidden");

    states.forget(claimWith({ uid: "claim-0" }));
    const isNews = states.refuse(claimWith(), "Forbidden");
    states.forget(claimWith());

    expect([isNews, states.refuse(claimWith(), "Forbidden")]).toEqual([false, true]);
    expect(states.refuse(claimWith({ uid: "claim-2" }), "Forbidden")).toBe(true);
  });

  it("remembers the writes of the last 20,000 claims that were written", () => {
    const states = setUp();
    const claims = Array.from({ length: 20_001 }, (_, index) => claimWith({ uid: `claim-${index}` }));
    for (const claim of claims) states.written({ claim, write });

    const rests = [claims[0], claims[1], claims.at(-1)].map((claim) => claim && states.restBefore({ claim, write }));

    expect(rests).toEqual([0, 1_000, 1_000]);
  });
});
