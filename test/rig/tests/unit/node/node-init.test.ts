import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { nodeInitScript, quote } from "../../../node/node-init.ts";

const init = { hostname: "node-1", root: "/tmp/r", disk: "/tmp/d", bootId: "/tmp/b", shared: [], sysctls: {} };

function linesOf(change: Partial<Parameters<typeof nodeInitScript>[0]>): readonly string[] {
  return nodeInitScript({ ...init, ...change }).split("\n");
}

describe("quote", () => {
  it.each([
    { name: "spaces", text: "a b" },
    { name: "quotes", text: `it's "so"` },
    { name: "what a shell would replace", text: "$HOME `id` \\ *" },
    { name: "a line end", text: "a\nb" },
  ])("keeps $name through a shell", ({ text }) => {
    expect(execFileSync("sh", ["-c", `printf %s ${quote(text)}`]).toString()).toBe(text);
  });
});

describe("nodeInitScript", () => {
  it("cuts the node off from the machine's mounts before it mounts anything", () => {
    const mounts = linesOf({}).filter((line) => line.startsWith("mount "));

    expect(mounts[0]).toBe("mount --make-rprivate /");
  });

  it("propagates mounts to containers only after the machine's file system is hidden", () => {
    const lines = linesOf({});

    expect(lines.indexOf("mount --make-rshared /")).toBeGreaterThan(lines.indexOf("umount --lazy old"));
  });

  it.each([
    { name: "a folder below one that the node has of its own is mounted in", folder: "/tmp/run", mounted: true },
    { name: "a folder that the node sees anyway is not mounted twice", folder: "/home/dev/mooring", mounted: false },
    { name: "a folder of a similar name is seen anyway", folder: "/tmpfiles/a", mounted: false },
  ])("$name", ({ folder, mounted }) => {
    expect(linesOf({ shared: [folder] }).includes(`mount --bind '${folder}' .'${folder}'`)).toBe(mounted);
  });

  it("gives kubelet files for the kernel settings that it would change for the whole machine", () => {
    const lines = linesOf({ sysctls: { "vm/overcommit_memory": "1" } });

    expect(lines).toContain("echo '1' > run/sysctl/0");
    expect(lines.some((line) => line.includes("mount --bind run/sysctl/0 proc/sys/vm/overcommit_memory"))).toBe(true);
  });

  it("is a script that a shell can read", () => {
    const script = nodeInitScript({ ...init, shared: ["/tmp/it's"], hostname: "a b" });

    expect(() => execFileSync("sh", ["-n", "-c", script])).not.toThrow();
  });
});
