import { describe, expect, it } from "vitest";
import { describeExit } from "../../../process/child.ts";
import { identify } from "../../../process/identity.ts";
import { waitUntil } from "../../../process/wait.ts";
import { createInstantClock } from "./instant-clock.ts";
import { scratchOwner } from "./scratch.ts";

function shell(script: string): { name: string; command: string; args: readonly string[] } {
  return { name: "script", command: "sh", args: ["-c", script] };
}

describe("a child", () => {
  it("writes its output to its log file", async () => {
    const { owner } = await scratchOwner();
    const child = owner.child(shell("echo one; echo two >&2"));

    await child.start();
    await child.exited;

    expect(child.tail()).toBe("one\ntwo");
    expect(child.tail(1)).toBe("two");
  });

  it("hands over its lines when they are asked for", async () => {
    const { owner } = await scratchOwner();
    const lines: string[] = [];
    const child = owner.child({ ...shell("echo one; printf two"), onLine: (line) => lines.push(line) });

    await child.start();
    await child.exited;

    expect(lines).toEqual(["one", "two"]);
  });

  it("reports that there is no such program", async () => {
    const { owner } = await scratchOwner();
    const child = owner.child({ name: "nothing", command: "no-such-program", args: [] });

    await expect(child.start()).rejects.toThrow("no program no-such-program here");
  });

  it("ends by SIGTERM when it is stopped", async () => {
    const { owner } = await scratchOwner();
    const child = owner.child(shell("exec sleep 60"));
    await child.start();

    await child.stop();

    expect(await child.exited).toEqual({ code: null, signal: "SIGTERM" });
    expect(child.pid).toBeUndefined();
  });

  it("is killed when it does not heed SIGTERM within the limit", async () => {
    const { owner } = await scratchOwner(createInstantClock());
    const lines: string[] = [];
    const child = owner.child({
      ...shell("trap '' TERM; echo deaf; while :; do sleep 60; done"),
      onLine: (line) => lines.push(line),
    });
    await child.start();
    await waitUntil(owner, { what: "script", limitMs: 1e9, check: async () => expect(lines).toEqual(["deaf"]) });

    await child.stop();

    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it.each([
    { name: "takes its own children along", script: "sleep 60 & echo $!; wait" },
    { name: "takes along even those that left its group", script: "setsid sh -c 'echo $$; exec sleep 60' & wait" },
  ])("$name", async ({ script }) => {
    const { owner } = await scratchOwner();
    const lines: string[] = [];
    const child = owner.child({ ...shell(script), onLine: (line) => lines.push(line) });
    await child.start();
    await waitUntil(owner, { what: "script", limitMs: 5_000, check: async () => expect(lines).toHaveLength(1) });
    const grandchild = Number(lines[0]);

    await owner.close();

    expect(identify(owner.table, grandchild)).toBeUndefined();
  });

  it("is another process after a restart", async () => {
    const { owner } = await scratchOwner();
    const child = owner.child(shell("exec sleep 60"));
    await child.start();
    const before = child.pid;

    await child.restart();

    expect(child.pid).toBeDefined();
    expect(child.pid).not.toBe(before);
  });

  it("does not start once the run is over", async () => {
    const { owner } = await scratchOwner();
    const child = owner.child(shell("exec sleep 60"));
    await owner.close();

    await expect(child.start()).rejects.toThrow("script does not start: the run is over");
  });
});

describe("waitUntil", () => {
  const never = (): Promise<void> => Promise.reject(new Error("refused"));

  it("fails with the last lines when the process ends before it is ready", async () => {
    const { owner } = await scratchOwner();
    const child = owner.child(shell("echo wrong flag; exit 3"));
    await child.start();

    const waiting = waitUntil(owner, { what: "server", limitMs: 60_000, child, check: never, everyMs: 1 });

    await expect(waiting).rejects.toThrow(/server ended with code 3 before it was ready\n.*\nwrong flag$/s);
  });

  it("fails with the reason when the limit has passed", async () => {
    const { owner } = await scratchOwner(createInstantClock());

    const waiting = waitUntil(owner, { what: "server", limitMs: 2_000, check: never });

    await expect(waiting).rejects.toThrow("server is not ready after 2 s: refused");
  });

  it("ends with the run", async () => {
    const { owner } = await scratchOwner();
    const waiting = waitUntil(owner, { what: "server", limitMs: 60_000, check: never });
    const refused = expect(waiting).rejects.toThrow("server is not waited for: the run is over");

    await owner.close();

    await refused;
  });
});

describe("describeExit", () => {
  it.each([
    { name: "an exit code is named", exit: { code: 2, signal: null }, text: "code 2" },
    { name: "a signal is named", exit: { code: null, signal: "SIGKILL" }, text: "signal SIGKILL" },
  ] as const)("$name", ({ exit, text }) => {
    expect(describeExit(exit)).toBe(text);
  });
});
