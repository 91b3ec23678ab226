import { describe, expect, it } from "vitest";
import { HomelessReleases } from "../../../aggregator/homeless-releases.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { nodeRelease } from "./world.ts";

const QUARTER_HOUR = 900_000;
const release = nodeRelease();

/** A node's releases, and watches of claims and volumes that have told up to these resource versions. */
function waiting() {
  const clock = createFakeClock();
  const reached: { versions: readonly string[] | undefined } = { versions: ["100", "200"] };
  const homeless = new HomelessReleases({ clock, cluster: { bindingsReached: () => reached.versions } });
  const overAfter = (ms: number, versions: readonly string[] | undefined, releases = [release]) => {
    clock.pass(ms);
    reached.versions = versions;
    return homeless.over("n1", releases).map(({ id }) => id);
  };
  return { homeless, overAfter };
}

describe("HomelessReleases", () => {
  it.each<{ readonly name: string; readonly told: readonly string[] | undefined; readonly over: readonly string[] }>([
    { name: "is given up when claims and volumes were told of after it", told: ["101", "201"], over: ["release-1"] },
    { name: "is kept as long as no more was told of claims", told: ["100", "201"], over: [] },
    { name: "is kept as long as no more was told of volumes", told: ["101", "200"], over: [] },
    { name: "is kept as long as they have to be listed anew", told: undefined, over: [] },
  ])("a release whose time is over $name", ({ told, over }) => {
    const { overAfter } = waiting();
    overAfter(0, ["90", "190"]);

    const atItsEnd = overAfter(QUARTER_HOUR, ["100", "200"]);
    const after = overAfter(60_000, told);

    expect([atItsEnd, after]).toEqual([[], over]);
  });

  it("what was told within the time is not enough: a watch may have hung since", () => {
    const { overAfter } = waiting();
    overAfter(0, ["90", "190"]);
    overAfter(QUARTER_HOUR - 1, ["100", "200"]);

    expect(overAfter(1, ["100", "200"])).toEqual([]);
  });

  it("the time begins when this process hears of it, however long ago the use ended", () => {
    const { overAfter } = waiting();
    const old = nodeRelease({ byMs: 0 });

    const found = [overAfter(0, ["1", "1"], [old]), overAfter(QUARTER_HOUR - 1, ["2", "2"], [old])];

    expect([...found, overAfter(60_000, ["3", "3"], [old]), overAfter(60_000, ["4", "4"], [old])]).toEqual([
      [],
      [],
      [],
      ["release-1"],
    ]);
  });

  it("a release that had a home meanwhile begins anew", () => {
    const { overAfter } = waiting();
    overAfter(0, ["1", "1"]);
    overAfter(QUARTER_HOUR, ["2", "2"]);
    overAfter(1, ["3", "3"], []);

    expect(overAfter(1, ["4", "4"])).toEqual([]);
  });

  it("remembers nothing of what is given up, nor of a node that is forgotten", () => {
    const { homeless, overAfter } = waiting();
    overAfter(0, ["1", "1"]);
    homeless.over("n2", [nodeRelease({ id: "release-2", node: "n2" })]);

    const before = homeless.size;
    homeless.forget("n2");
    overAfter(QUARTER_HOUR, ["2", "2"]);
    overAfter(60_000, ["3", "3"]);

    expect([before, homeless.size]).toEqual([2, 0]);
  });
});
