import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSystemRandom } from "../../../../../common/runtime/random.ts";
import { type Lock, withLock } from "../../../control-plane/build-lock.ts";
import { identify } from "../../../process/identity.ts";
import { waitUntil } from "../../../process/wait.ts";
import { createInstantClock } from "../process/instant-clock.ts";
import { scratchFolder, scratchOwner } from "../process/scratch.ts";

function lockIn(folder: string, what = "gets etcd"): Lock {
  return { path: join(folder, "cache", "lock"), what, random: createSystemRandom() };
}

describe("withLock", () => {
  it("records this process while the work lasts and nothing after it", async () => {
    const { owner } = await scratchOwner();
    const lock = lockIn(scratchFolder());

    const recorded: unknown = await withLock(owner, lock, async () => JSON.parse(readFileSync(lock.path, "utf8")));

    expect(recorded).toEqual({ ...identify(owner.table, process.pid), what: "gets etcd" });
    expect(readdirSync(dirname(lock.path))).toEqual([]);
  });

  it("is free again when the work fails", async () => {
    const { owner } = await scratchOwner();
    const lock = lockIn(scratchFolder());

    await expect(withLock(owner, lock, () => Promise.reject(new Error("no disk")))).rejects.toThrow("no disk");

    expect(existsSync(lock.path)).toBe(false);
  });

  it("makes the second wait for the first, and print for what", async () => {
    const folder = scratchFolder();
    const first = await scratchOwner();
    const second = await scratchOwner(createInstantClock());
    const order: string[] = [];
    const free = Promise.withResolvers<void>();
    const holding = withLock(first.owner, lockIn(folder, "gets kube-apiserver"), async () => {
      await free.promise;
      order.push("first");
    });

    const waiting = withLock(second.owner, lockIn(folder), async () => void order.push("second"));
    const check = async (): Promise<void> => expect(second.said).not.toEqual([]);
    await waitUntil(first.owner, { what: "a word", limitMs: 5_000, check });
    free.resolve();
    await Promise.all([holding, waiting]);

    expect(order).toEqual(["first", "second"]);
    expect(second.said[0]).toBe(
      `waiting for process ${process.pid}, which gets kube-apiserver (${join(folder, "cache", "lock")})`,
    );
  });

  it.each([
    { name: "a lock whose holder is dead is taken over", entry: { startTicks: 1 } },
    { name: "a lock of another boot is taken over", entry: { bootId: "another" } },
    { name: "a lock that is not legible is taken over", entry: { pid: "?" } },
  ])("$name", async ({ entry }) => {
    const { owner, said } = await scratchOwner();
    const lock = lockIn(scratchFolder());
    await withLock(owner, lock, async () => {});
    writeFileSync(lock.path, JSON.stringify({ ...identify(owner.table, process.pid), what: "x", ...entry }));

    const result = await withLock(owner, lock, async () => "done");

    expect(result).toBe("done");
    expect(said).toEqual([]);
    expect(readdirSync(dirname(lock.path))).toEqual([]);
  });

  it("stops waiting when the run ends", async () => {
    const folder = scratchFolder();
    const first = await scratchOwner();
    const second = await scratchOwner();
    const free = Promise.withResolvers<void>();
    const holding = withLock(first.owner, lockIn(folder), () => free.promise);

    const refused = expect(withLock(second.owner, lockIn(folder), async () => {})).rejects.toThrow("the run is over");
    await second.owner.close();
    await refused;
    free.resolve();

    await holding;
  });

  it("goes with a run that ends in the middle of the work", async () => {
    const { owner } = await scratchOwner();
    const lock = lockIn(scratchFolder());
    const never = Promise.withResolvers<void>();
    void withLock(owner, lock, () => never.promise);

    await owner.close();

    expect(existsSync(lock.path)).toBe(false);
  });
});
