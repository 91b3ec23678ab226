import { describe, expect, it } from "vitest";
import { inNamespaces, runCommand } from "../../../node/commands.ts";

describe("runCommand", () => {
  it("returns what the program printed", async () => {
    expect(await runCommand({ command: "cat", args: [] }, "one\ntwo\n")).toBe("one\ntwo\n");
  });

  it("does not mind a program that does not read its input", async () => {
    expect(await runCommand({ command: "true", args: [] }, "x".repeat(1_000_000))).toBe("");
  });

  it("reports the output of a failed program, and its input", async () => {
    const failing = runCommand({ command: "sh", args: ["-c", "echo no such link >&2; exit 2"] }, "link set x up");

    await expect(failing).rejects.toThrow(/no such link\ninput:\nlink set x up$/);
  });

  it("reports when there is no such program", async () => {
    await expect(runCommand({ command: "no-such-program-here", args: [] })).rejects.toThrow(
      "no-such-program-here ENOENT",
    );
  });
});

describe("inNamespaces", () => {
  it("keeps the program's arguments apart from its own", () => {
    expect(inNamespaces(7, ["net", "mount"], { command: "ip", args: ["--json", "link"] })).toEqual({
      command: "nsenter",
      args: ["--target", "7", "--net", "--mount", "--", "ip", "--json", "link"],
    });
  });
});
