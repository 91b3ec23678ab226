import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeAll, describe, expect, it } from "vitest";
import { SharedTexts } from "../../../../common/kube/shared-texts.ts";

let collectGarbage: () => void;
beforeAll(() => {
  setFlagsFromString("--expose-gc");
  collectGarbage = runInNewContext("gc");
});

/** What is in use. Other tests have run in this process, and what they left goes in several steps. */
function usedBytes(): number {
  let used = process.memoryUsage().heapUsed;
  for (let turn = 0; turn < 10; turn += 1) {
    collectGarbage();
    const now = process.memoryUsage().heapUsed;
    if (turn > 0 && now >= used) break;
    used = now;
  }
  return used;
}

/** What is left of a value's making, in bytes. */
function costOf(make: () => unknown): number {
  const before = usedBytes();
  const made = make();
  const after = usedBytes();
  return made === undefined ? Number.NaN : after - before;
}

/** Objects as they come from an API server: pairs that say the same, each with strings of its own. */
function pairs(seed: string): readonly unknown[] {
  const text = JSON.stringify(
    Array.from({ length: 20_000 }, (_, index) => ({ uid: `${seed}-a0b1-c2d3-e4f5-${Math.floor(index / 2)}` })),
  );
  return JSON.parse(text);
}

describe("shared texts", () => {
  it("take the memory of one", () => {
    const texts = new SharedTexts();
    const apart = costOf(() => pairs("11111111"));

    const shared = costOf(() => {
      const objects = pairs("22222222");
      texts.share(objects);
      return objects;
    });

    // A text takes 48 bytes, its object 32 and its place in the array 8: half of the texts are gone.
    expect(shared / apart).toBeLessThan(0.8);
  });

  it("are released once nothing uses them", () => {
    const texts = new SharedTexts();

    const left = costOf(() => {
      texts.share(pairs("33333333"));
      return texts;
    });

    expect(left).toBeLessThan(200_000);
  });

  it.each([
    { name: "nothing", value: undefined },
    { name: "null", value: null },
    { name: "a number", value: 7 },
    {
      name: "a text in a list in an object",
      value: { list: ["a text that is long enough", { deep: "__proto__ and others" }] },
    },
    { name: "the name of what every object has", value: ["hasOwnProperty", "__proto__-----"] },
  ])("leave $name as it is", ({ value }) => {
    const before = structuredClone(value);

    new SharedTexts().share(value);

    expect(value).toEqual(before);
  });
});
