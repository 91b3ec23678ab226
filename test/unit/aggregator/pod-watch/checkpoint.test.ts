import { describe, expect, it } from "vitest";
import { Checkpoint } from "../../../../aggregator/pod-watch/checkpoint.ts";

/** A backlog of numbered things, of which so many were told and so many were dealt with. */
function setUp() {
  const backlog = {
    told: 0,
    done: 0,
    mark: () => {
      const { told } = backlog;
      return () => backlog.done >= told;
    },
  };
  return { backlog, dealtWith: new Checkpoint<string>(backlog) };
}

describe("what can be said once all that was told is dealt with", () => {
  it.each([
    { name: "at rest is how it is now", looks: [[0, 0, "a"]], said: ["a"] },
    {
      name: "is how it was when what was told by then is done, however much was told since",
      looks: [
        [2, 0, "a"],
        [9, 1, "b"],
        [9, 2, "c"],
        [12, 8, "d"],
        [12, 9, "e"],
      ],
      said: [undefined, undefined, "a", undefined, "c"],
    },
  ] as const)("$name", ({ looks, said }) => {
    const { backlog, dealtWith } = setUp();

    const answers = looks.map(([told, done, present]) => {
      Object.assign(backlog, { told, done });
      return dealtWith.newest(present);
    });

    expect(answers).toEqual(said);
  });

  it("begins anew when what was told before is another matter", () => {
    const { backlog, dealtWith } = setUp();
    backlog.told = 2;
    dealtWith.newest("a");
    dealtWith.reset();
    Object.assign(backlog, { told: 3, done: 2 });

    const first = dealtWith.newest("b");
    backlog.told = 4;
    backlog.done = 3;

    expect([first, dealtWith.newest("c")]).toEqual([undefined, "b"]);
  });
});
