import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { type MountScan, type RootRule, scanMountedVolumes } from "../../agent/core/mounted-volumes.ts";
import { initialState, type NodeState } from "../../agent/core/node-state.ts";
import { observe } from "../../agent/core/observe.ts";
import { scanConfirmed } from "../../agent/sources/mount-table.ts";
import { type MountEntry, parseMountInfo } from "../../common/mounts/core/mount-info.ts";
import { createMountInfoFile } from "../../common/mounts/mount-info-file.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { volumeKey } from "../../common/storage/volume-identity.ts";
import { type MountNamespace, openMountNamespace } from "./mount-namespace.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const TOKEN = "pods/agent-1/volumes/kubernetes.io~projected/kube-api-access-x7k2p";
const CSI = "pods/u1/volumes/kubernetes.io~csi/pv-1/mount";
const clock = createSystemClock();
const run = promisify(execFile);

/** Names of folders, as printf writes them. */
const ODD_NAMES = [
  "sp ace",
  "end ",
  "ta\\011b",
  "new\\012line",
  "back\\134slash",
  "end\\134",
  "octal\\134040",
  "hex\\134x41",
  "hash#1",
  "quote\\042",
  "escape\\033[1m",
  "control\\001\\177",
  "voil\\303\\240",
  "no-break\\302\\240space",
  "no utf-8 \\377\\340\\205",
  "ext4 - ext4 x rw",
  "gone (deleted)",
  "gone\\134040(deleted)",
];

const COLUMNS = ["ID", "PARENT", "MAJ:MIN", "FSTYPE", "TARGET", "FSROOT"];

/** What findmnt of util-linux says of each mount below a folder; it is another reader of the same file, without our code. */
async function findmnt({ pid }: MountNamespace, ...format: readonly string[]): Promise<string> {
  const { stdout } = await run("findmnt", ["--task", String(pid), "--output", COLUMNS.join(","), ...format], {
    encoding: "latin1",
    env: { ...process.env, LC_ALL: "C" },
  });
  return stdout;
}

/** In this format each byte that is not plain is written as `\xNN`, the backslash too: nothing is lost. */
async function rawOracle(namespace: MountNamespace): Promise<readonly string[]> {
  const lines = (await findmnt(namespace, "--raw", "--noheadings")).trimEnd().split("\n");
  return lines.map((line) =>
    line
      .split(" ")
      .map((field) =>
        field.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      )
      .join(" | "),
  );
}

const id = v.pipe(v.union([v.string(), v.number()]), v.transform(String));
const json = v.object({
  filesystems: v.array(
    v.object({ id, parent: id, "maj:min": v.string(), fstype: v.string(), target: v.string(), fsroot: v.string() }),
  ),
});

async function jsonOracle(namespace: MountNamespace): Promise<readonly string[]> {
  const { filesystems } = v.parse(json, JSON.parse(await findmnt(namespace, "--json", "--list")));
  return filesystems.map((mount) =>
    [mount.id, mount.parent, mount["maj:min"], mount.fstype, mount.target, mount.fsroot].join(" | "),
  );
}

function asOracle({ mountId, parentId, device, fsType, mountPoint, root }: MountEntry): string {
  return [mountId, parentId, device, fsType, mountPoint, root].join(" | ");
}

/** JSON is text: what findmnt makes of bytes that are none differs from version to version. */
function isText(latin1: string): boolean {
  return Buffer.from(Buffer.from(latin1, "latin1").toString("utf8"), "utf8").toString("latin1") === latin1;
}

async function textOf({ mountInfo }: MountNamespace): Promise<string> {
  return (await createMountInfoFile(mountInfo, { clock }).read()).text;
}

async function look({ mountInfo }: MountNamespace): Promise<MountScan> {
  return scanMountedVolumes(await createMountInfoFile(mountInfo, { clock }).read(), RULE);
}

function summary({ mountedVolumes }: MountScan): readonly string[] {
  return mountedVolumes.map(({ kind, volume, podUid }) => `${kind} ${volumeKey(volume)} ${podUid ?? "-"}`);
}

/** Mounts a tmpfs at each odd name, and a folder of each odd name, which is then deleted, at a plain one. */
async function mountOddly({ run, kubeletRoot }: MountNamespace): Promise<void> {
  for (const [index, name] of ODD_NAMES.entries()) {
    await run(`
      name="$(printf '${name}')" && cd '${kubeletRoot}' && mkdir -p "at/$name" "from/$name" 'to/${index}' &&
      mount -t tmpfs -o size=64k 'odd#source ${index}' "at/$name" &&
      mount --bind "from/$name" 'to/${index}' && rmdir "from/$name"`);
  }
}

describe("a mount table with odd names", () => {
  it("is read as findmnt reads it, entry by entry", async () => {
    const namespace = await openMountNamespace();
    await mountOddly(namespace);
    const isBelow = (line: string): boolean => line.includes(` | ${namespace.kubeletRoot}/`);

    const { entries, damagedLines } = parseMountInfo(await textOf(namespace), namespace.kubeletRoot);
    const read = entries.map(asOracle);

    expect(damagedLines).toBe(0);
    expect(read).toHaveLength(2 * ODD_NAMES.length);
    expect(read).toEqual((await rawOracle(namespace)).filter(isBelow));
    const texts = read.filter(isText);
    expect(texts).toHaveLength(read.length - 2);
    expect(texts).toEqual((await jsonOracle(namespace)).filter(isBelow).filter(isText));
    expect(entries.filter(({ root }) => root.endsWith("//deleted"))).toHaveLength(ODD_NAMES.length);
  });

  it.each(ODD_NAMES)("shows holds below a kubelet root that is called '%s'", async (name) => {
    const { run, kubeletRoot, ...namespace } = await openMountNamespace();
    const places = [TOKEN, CSI, "plugins/kubernetes.io/fc/5006-lun-0"].map((place) => `"$root/${place}"`);
    await run(`root='${kubeletRoot}'/"$(printf '${name}')" && mkdir -p ${places.join(" ")}`);

    for (const place of places) await run(`mount -t tmpfs -o size=64k tmpfs ${place}`);
    const scan = await look({ run, kubeletRoot, ...namespace });

    expect(scan.incomplete).toBeUndefined();
    expect(summary(scan)).toEqual(["pod name/pv-1 u1", "staging device/fc/5006-lun-0 -"]);
  });
});

describe("mounts on mounts and on files", () => {
  it("shows each of three stacked mounts as findmnt does, upper on lower, and loses them one by one", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(TOKEN);
    for (const _ of [1, 2, 3]) await namespace.mount(CSI);

    for (const depth of [3, 2, 1, 0]) {
      const { mountedVolumes } = await look(namespace);
      const stack = mountedVolumes.map(({ mount }) => mount);
      const oracle = (await rawOracle(namespace)).filter((line) => line.includes(CSI));
      expect(stack.map(asOracle)).toEqual(oracle);
      expect(stack).toHaveLength(depth);
      expect(stack.slice(1).map(({ parentId }) => parentId)).toEqual(stack.slice(0, -1).map(({ mountId }) => mountId));
      if (depth > 0) await namespace.unmount(CSI);
    }
  });

  it("shows the block volumes that are binds of a device or of a file, the file deleted", async () => {
    const namespace = await openMountNamespace();
    const { run, kubeletRoot, mount } = namespace;
    const devices = "plugins/kubernetes.io/csi/volumeDevices";
    await mount(TOKEN);
    await run(`cd '${kubeletRoot}' && mkdir -p ${devices}/publish/pv-1 ${devices}/pv-1/dev ${devices}/staging/pv-1`);
    await run(`cd ${devices} && : >publish/pv-1/u1 && : >pv-1/dev/u1 && : >staging/pv-1/vol-1 && : >image`);

    await run("mount --bind image staging/pv-1/vol-1 && mount --bind /dev/null publish/pv-1/u1");
    await run("mount --bind image pv-1/dev/u1 && rm image");
    const scan = await look(namespace);

    expect(summary(scan)).toEqual(["staging name/pv-1 -", "block name/pv-1 u1", "block name/pv-1 u1"]);
    expect(scan.mountedVolumes.map(({ mount: entry }) => asOracle(entry))).toEqual(
      (await rawOracle(namespace)).filter((line) => line.includes(devices)),
    );
  });
});

describe("the right table", () => {
  it("is that of the other mount namespace: this one shows nothing of it", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(TOKEN);
    await namespace.mount(CSI);

    const outside = await look({ ...namespace, mountInfo: "/proc/self/mountinfo" });
    const inside = await look(namespace);

    expect(outside).toMatchObject({ incomplete: "own pod's token mount is not in the table", mountedVolumes: [] });
    expect(inside).toMatchObject({ incomplete: undefined, mountedVolumes: [{ kind: "pod" }] });
  });

  it("unmount records nothing as long as the agent's own token is not in it", async () => {
    const namespace = await openMountNamespace();
    const source = createMountInfoFile(namespace.mountInfo, { clock });
    const next = async (state: NodeState): Promise<NodeState> => {
      const scan = await scanConfirmed(source, state, RULE);
      return observe(state, { scan, podsResourceVersion: undefined, pods: new Map() }).state;
    };
    await namespace.mount(TOKEN);
    await namespace.mount(CSI);
    const known = await next(initialState("boot-1"));

    await namespace.unmount(TOKEN);
    await namespace.unmount(CSI);
    const blind = await next(known);
    await namespace.mount(TOKEN);
    const seeing = await next(blind);

    expect(blind).toMatchObject({ unmountRecords: [], scan: known.scan });
    expect(blind.mountedVolumes.size).toBe(1);
    expect(seeing.unmountRecords).toMatchObject([{ podUid: "u1", after: known.scan?.beganAt }]);
    expect(seeing.mountedVolumes.size).toBe(0);
  });
});
