import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openMountNamespace } from "../../../integration/mount-namespace.ts";
import { listLoops } from "../../process/loop-devices.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { closeOnSignals } from "../../process/run-owned.ts";
import { waitUntil } from "../../process/wait.ts";

let owner: Owner;
let signals: Disposable;
let parent: string;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  // In no folder of a run that goes on: what is in one is that run's.
  parent = mkdtempSync("/tmp/scratch-");
  owner.defer(() => rmSync(parent, { recursive: true }));
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** What a killed run with a node leaves: a mount namespace that is gone, in which a disk was mounted, and a volume on the disk. */
async function leaveVolume(name: string): Promise<string> {
  const folder = join(parent, name);
  await mkdir(folder);
  const { bootId, pidNamespace } = owner.table;
  const dead = { pid: process.pid, startTicks: 1, bootId, pidNamespace };
  await writeFile(join(folder, "owner.json"), JSON.stringify(dead));
  const ends: (() => Promise<void> | void)[] = [];
  const node = await openMountNamespace((end) => void ends.unshift(end), folder);
  const disk = join(folder, "disk");
  await node.run(
    `truncate -s 16M '${disk}' && mkfs.ext4 -q '${disk}' && mkdir '${disk}s' && mount -o loop '${disk}' '${disk}s'`,
  );
  await node.run(`truncate -s 1M '${disk}s/volume' && losetup --find '${disk}s/volume'`);
  for (const end of ends) await end();
  return folder;
}

function loopsOf(name: string): readonly string[] {
  const all = listLoops();
  const disks = all.filter(({ file }) => file.includes(name));
  const upon = all.filter((one) => disks.some(({ number }) => one.fileIdentity.startsWith(`${number} `)));
  return [...disks, ...upon].map(({ file }) => file);
}

describe("the next run", () => {
  it.each([
    { name: "mooring-lEft01", what: "with the folder of the killed one", isFolderGone: false },
    { name: "mooring-lEft02", what: "whose folder went before", isFolderGone: true },
  ])(
    "gives back the loop devices of a killed one's disk and of the volume on it, $what",
    async ({ name, isFolderGone }) => {
      const folder = await leaveVolume(name);
      if (isFolderGone) rmSync(folder, { recursive: true });
      const left = loopsOf(name);

      const next = await openOwner({ parent, say: () => {} });
      await next.close();

      expect(left).toHaveLength(2);
      const check = async (): Promise<void> => expect(loopsOf(name)).toEqual([]);
      await waitUntil(owner, { what: "no loop device", limitMs: 10_000, check });
    },
  );
});
