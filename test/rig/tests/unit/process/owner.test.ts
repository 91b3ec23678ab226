import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../../../../common/runtime/clock.ts";
import { eventually } from "../../../../fakes/clock.ts";
import { identify, systemProcessTable } from "../../../process/identity.ts";
import { Owner, requireLinux } from "../../../process/owner.ts";
import { createRunFolder, ownerOf } from "../../../process/run-folder.ts";
import { scratchFolder, scratchOwner } from "./scratch.ts";

describe("an owner", () => {
  it("records this process in its folder", async () => {
    const { owner } = await scratchOwner();

    expect(ownerOf(owner.folder)).toEqual(identify(systemProcessTable(), process.pid));
  });

  it("undoes what was deferred, the last first, and removes its folder", async () => {
    const { owner } = await scratchOwner();
    const undone: string[] = [];
    owner.defer(() => void undone.push("first"));
    owner.defer(async () => void undone.push("second"));

    await owner.close();

    expect(undone).toEqual(["second", "first"]);
    expect(existsSync(owner.folder)).toBe(false);
  });

  it("closes once however often it is asked", async () => {
    const { owner } = await scratchOwner();
    const undone: string[] = [];
    owner.defer(() => void undone.push("only"));

    await Promise.all([owner.close(), owner.close()]);

    expect(undone).toEqual(["only"]);
  });

  it("continues the cleanup when one step fails, and reports that", async () => {
    const table = systemProcessTable();
    const parent = scratchFolder();
    const sweep = { parent, table, clock: createSystemClock(), say: () => {} };
    const owner = new Owner(sweep, createRunFolder(parent, table, process.pid));
    const undone: string[] = [];
    owner.defer(() => void undone.push("first"));
    owner.defer(() => Promise.reject(new Error("cannot undo")));

    await expect(owner.close()).rejects.toThrow("cannot undo");

    expect(undone).toEqual(["first"]);
    expect(existsSync(owner.folder)).toBe(false);
  });

  it("kills its children and removes its folder when there is no time to wait", async () => {
    const { owner } = await scratchOwner();
    const child = owner.child({ name: "sleeper", command: "sleep", args: ["60"] });
    await child.start();

    const identity = identify(owner.table, child.pid ?? -1);
    owner.closeNow();

    expect(identity).toBeDefined();
    expect(identify(owner.table, identity?.pid ?? -1)).toBeUndefined();
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(existsSync(owner.folder)).toBe(false);
  });

  it("gives a child that is to be killed at the end no time to end by itself", async () => {
    const { owner } = await scratchOwner();
    const ends = 'trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done';
    const [toBeKilled, toBeAsked] = [true, false].map((isKilledAtEnd) => {
      const logFile = join(owner.folder, `${isKilledAtEnd}.log`);
      return owner.child({ name: "child", command: "sh", args: ["-c", ends], logFile, isKilledAtEnd });
    });
    for (const child of [toBeKilled, toBeAsked]) {
      await child?.start();
      await eventually(() => child?.tail() === "ready");
    }

    await owner.close();

    expect(await toBeKilled?.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(await toBeAsked?.exited).toEqual({ code: 0, signal: null });
  });

  it("ends its waits when it is over", async () => {
    const { owner } = await scratchOwner();

    await owner.close();

    expect(owner.signal.aborted).toBe(true);
  });
});

describe("requireLinux", () => {
  it("lets Linux pass", () => {
    expect(() => requireLinux("linux")).not.toThrow();
  });

  it("prints what to do on another system", () => {
    expect(() => requireLinux("darwin")).toThrow(
      "does not run on darwin: use a Linux machine, a virtual machine or WSL 2",
    );
  });
});
