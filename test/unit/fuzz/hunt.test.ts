import { describe, expect, it } from "vitest";
import { parseMountInfo } from "../../../common/mounts/core/mount-info.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeRandom } from "../../fakes/random.ts";
import { startCoverage } from "../../fuzz/coverage.ts";
import { hunt } from "../../fuzz/hunt.ts";
import { mutate } from "../../fuzz/mutate.ts";
import { BrokenPromise, type FuzzTarget, inputOf, LONGEST_INPUT, promise } from "../../fuzz/target.ts";

function targetThat(take: FuzzTarget["take"], seeds: readonly string[] = ['{"a":[1,{"b":"x"}]}\nline']): FuzzTarget {
  return { name: "of-a-test", about: "nothing", seeds, words: ["word"], take };
}

const parts = () => ({ clock: createFakeClock(), random: createFakeRandom(3) });

describe("a hunt", () => {
  it("finds nothing where every promise holds", async () => {
    const { runs, finding } = await hunt(
      targetThat(() => {}),
      parts(),
      { runs: 500 },
    );

    expect(finding).toBeUndefined();
    expect(runs).toBeGreaterThanOrEqual(500);
  });

  it.each([
    {
      name: "a promise that does not hold",
      take: (input: string) => promise(!input.includes("word"), "no word"),
      left: "word",
    },
    { name: "an error that nobody expects", take: (input: string) => void decodeURI(input), left: "%" },
    {
      name: "a promise that breaks later",
      take: async (input: string) => {
        await Promise.resolve();
        promise(!input.includes("\0"), "no zero");
      },
      left: "\0",
    },
  ])("finds $name, and shows it in the shortest input", async ({ take, left }) => {
    const { finding } = await hunt(targetThat(take, ['{"a":[1,{"b":"x"}]}%20']), parts(), { runs: 100_000 });

    expect(finding?.input).toHaveLength(left.length);
    expect(finding?.input).toContain(left);
  });

  it("finds what JSON keeps behind its quotes", async () => {
    const take = (input: string): void => {
      const value: unknown = parsed(input);
      if (typeof value === "object" && value !== null && Reflect.get(value, "a") === null) throw new BrokenPromise("a");
    };

    const { finding } = await hunt(targetThat(take, ['{"a":[1,{"b":"x"}]}']), parts(), { runs: 20_000 });

    expect(finding?.input).toBe('{"a":null}');
  });

  it("keeps what goes another way through the code, and makes more of it", async () => {
    const line = "36 35 98:0 /mnt1 /root/mnt2 rw,noatime master:1 - ext3 /dev/root rw\n";
    const take = (input: string): void => void parseMountInfo(input, "/root");
    const coverage = startCoverage();
    const guided = await hunt(targetThat(take, [line]), { ...parts(), coverage }, { runs: 640 });
    coverage.stop();
    const blind = await hunt(targetThat(take, [line]), parts(), { runs: 640 });

    expect(guided.corpus).toBeGreaterThan(5);
    expect(guided.features).toBeGreaterThan(10);
    expect(blind.corpus).toBe(1);
  });
});

describe("another input", () => {
  it("is never longer than an input may be, and the same for the same seed", () => {
    const inputsOf = (seed: number): readonly string[] => {
      const material = {
        random: createFakeRandom(seed),
        corpus: ["x".repeat(LONGEST_INPUT), "[1,2]"],
        words: ["word"],
      };
      return Array.from({ length: 300 }, (_, at) => mutate(material.corpus[at % 2] ?? "", material));
    };

    const inputs = inputsOf(5);

    expect(inputs.filter((input) => input.length > LONGEST_INPUT)).toEqual([]);
    expect(inputs).toEqual(inputsOf(5));
    expect(new Set(inputs).size).toBeGreaterThan(250);
  });

  it("has no character that is no byte", () => {
    const material = { random: createFakeRandom(9), corpus: [inputOf('{"ä":"🚢"}')], words: [inputOf("ü")] };

    const inputs = Array.from({ length: 500 }, () => mutate(material.corpus[0] ?? "", material));

    expect(inputs.filter((input) => /[^\0-\u00ff]/.test(input))).toEqual([]);
  });
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
