import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { dryRun } from "../../../agent/dry-run.ts";
import type { createMountNotifier } from "../../../agent/sources/mount-notifier.ts";
import type { createNodeFacts } from "../../../agent/sources/node-facts.ts";
import type { NodeFacts } from "../../../common/storage/node-facts.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeMountNotifier } from "../../fakes/mount-notifier.ts";
import { csiMountPoint, formatMountLine } from "../../fakes/mount-table.ts";

/** A folder like `/proc/1` with a mount table, and a kubelet's root with nothing in it. */
function machine() {
  const folder = mkdtempSync(join(tmpdir(), "dry-run-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const kubeletRoot = join(folder, "kubelet");
  mkdirSync(kubeletRoot);
  mkdirSync(join(folder, "1"));
  const table = formatMountLine({ mountPoint: csiMountPoint("u1", "pv-1", kubeletRoot) });
  writeFileSync(join(folder, "1", "mountinfo"), table);
  writeFileSync(join(folder, "copy"), table);
  return { mountInfo: join(folder, "1", "mountinfo"), copy: join(folder, "copy"), kubeletRoot, folder };
}

function partsWith(mountNamespace: NodeFacts["mountNamespace"], mountNotifier?: typeof createMountNotifier) {
  const clock = createFakeClock();
  const nodeFacts: typeof createNodeFacts = () => ({
    read: async () => ({ facts: { mountNamespace }, bootId: "boot-1", bootedAt: undefined }),
  });
  return {
    clock,
    nodeFacts,
    mountNotifier: mountNotifier ?? (() => createFakeMountNotifier(clock)),
    platform: "linux",
  };
}

async function json(
  { mountInfo, kubeletRoot }: { readonly mountInfo: string; readonly kubeletRoot: string },
  parts: ReturnType<typeof partsWith>,
) {
  const result = await dryRun({ mountInfo, kubeletRoot, bootId: "/boot_id", output: "json" }, parts);
  return JSON.parse(result.text);
}

describe("a dry run", () => {
  it("puts together what the sources say", async () => {
    const { mountInfo, kubeletRoot } = machine();

    const { text, code } = await dryRun(
      { mountInfo, kubeletRoot, bootId: "/boot_id", output: "table" },
      partsWith("own"),
    );

    expect(code).toBe(0);
    expect(text).toContain(`1 volume mount below ${kubeletRoot} in ${mountInfo}: 1 pod.`);
    expect(text).toContain("Changes       noticed at once");
  });

  it.each([
    { name: "a root that is there", namespace: "own" as const, root: "kubelet", exists: true },
    { name: "a root that is not there", namespace: "own" as const, root: "other", exists: false },
    { name: "a root in another mount namespace", namespace: "other" as const, root: "kubelet", exists: null },
    { name: "a root of who knows which namespace", namespace: undefined, root: "kubelet", exists: null },
  ])("says of $name whether it exists: $exists", async ({ namespace, root, exists }) => {
    const { mountInfo, folder } = machine();

    const { kubeletRoot } = await json({ mountInfo, kubeletRoot: join(folder, root) }, partsWith(namespace));

    expect(kubeletRoot).toMatchObject({ isGiven: true, exists });
  });

  it("says why the table cannot be polled", async () => {
    const mountNotifier: typeof createMountNotifier = (_, { clock, logger }) => {
      logger.warn({ err: "no libc" }, "mount table cannot be polled, reading it by timer");
      return { ...createFakeMountNotifier(createFakeClock(clock.rate)), mode: "timer" };
    };

    const { changes, remarks } = await json(machine(), partsWith("own", mountNotifier));

    expect(changes.noticedBy).toBe("timer");
    expect(remarks).toEqual([expect.stringContaining("(no libc)")]);
  });

  it("takes a copy of a table for what it is, whatever mount IDs it has in common with ours", async () => {
    const { copy, kubeletRoot } = machine();

    const { mountTable, changes, counts } = await json({ mountInfo: copy, kubeletRoot }, partsWith("own"));

    expect(mountTable).toMatchObject({ process: null, mountNamespace: null });
    expect(changes.noticedBy).toBe("nothing");
    expect(counts.pod).toBe(1);
  });

  it.each([
    { name: "there is no table", table: "/no/such/table", platform: "linux", words: "there is no such file" },
    { name: "it is a folder", table: "/", platform: "linux", words: "EISDIR" },
    { name: "the system has none", table: "/no/such/table", platform: "darwin", words: "this is darwin" },
  ])("ends with 1 and a sentence when $name", async ({ table, platform, words }) => {
    const config = { mountInfo: table, kubeletRoot: undefined, bootId: "/boot_id", output: "json" as const };

    const { text, code } = await dryRun(config, { ...partsWith("own"), platform });

    expect(code).toBe(1);
    expect(text).toContain(`cannot read the mount table ${table}`);
    expect(text).toContain(words);
  });
});
