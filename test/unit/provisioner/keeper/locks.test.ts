import { describe, expect, it } from "vitest";
import { Locks } from "../../../../provisioner/keeper/locks.ts";

/** Begins tasks that note their begin and end, and end when the test says so. */
function recorder(locks: Locks) {
  const seen: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (key: string, name: string): Promise<void> =>
    locks.run(key, async () => {
      seen.push(`+${name}`);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      seen.push(`-${name}`);
    });
  return { seen, begin, end: (name: string) => ends.get(name)?.() };
}

/** Until everything that can go on has. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

describe("Locks", () => {
  it("runs tasks of one key one after the other, in their order, and those of another beside them", async () => {
    const { seen, begin, end } = recorder(new Locks());

    const all = [begin("a", "a1"), begin("a", "a2"), begin("b", "b1"), begin("a", "a3")];
    await settle();
    expect(seen).toEqual(["+a1", "+b1"]);
    for (const name of ["a1", "a2", "a3", "b1"]) {
      end(name);
      await settle();
    }
    await Promise.all(all);

    expect(seen).toEqual(["+a1", "+b1", "-a1", "+a2", "-a2", "+a3", "-a3", "-b1"]);
  });

  it("counts the tasks of a key that have not ended, and none once they have", async () => {
    const locks = new Locks();
    const { begin, end } = recorder(locks);

    const all = [begin("a", "a1"), begin("a", "a2")];
    await settle();
    const lengths = [locks.length("a"), locks.length("b")];
    end("a1");
    await settle();
    lengths.push(locks.length("a"));
    end("a2");
    await Promise.all(all);

    expect([...lengths, locks.length("a")]).toEqual([2, 0, 1, 0]);
  });

  it("continues after a failed task, whose caller gets the failure", async () => {
    const locks = new Locks();

    const failed = locks.run("a", () => Promise.reject(new Error("no")));
    const next = locks.run("a", () => Promise.resolve(2));

    await expect(failed).rejects.toThrow("no");
    expect(await next).toBe(2);
  });
});
