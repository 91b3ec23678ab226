import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { displayPath, findKubeletRoots, parseMountInfo } from "../../../../agent/core/mount-info.ts";
import { formatMountLine } from "../../../fakes/mount-table.ts";

const ROOT = "/var/lib/kubelet";
const HOLD = `${ROOT}/pods/u1/volumes/kubernetes.io~csi/pv-1/mount`;
const latin1 = (text: string): string => Buffer.from(text).toString("latin1");

describe("parseMountInfo", () => {
  it("reads every field of the manual page's example", () => {
    const table = parseMountInfo(
      "36 35 98:0 /mnt1 /mnt2/x rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n",
      "/mnt2",
    );

    expect(table).toEqual({
      damagedLines: 0,
      entries: [{ mountId: 36, parentId: 35, device: "98:0", root: "/mnt1", mountPoint: "/mnt2/x", fsType: "ext3" }],
    });
  });

  it.each([
    { name: "a space", escaped: "\\040", plain: " " },
    { name: "a tab", escaped: "\\011", plain: "\t" },
    { name: "a newline", escaped: "\\012", plain: "\n" },
    { name: "a backslash", escaped: "\\134", plain: "\\" },
    { name: "a hash", escaped: "\\043", plain: "#" },
    { name: "a backslash that stands before digits, decoded once", escaped: "\\134040", plain: "\\040" },
    { name: "a byte that is no ASCII", escaped: "\\303\\240", plain: "\u00c3\u00a0" },
  ])("decodes $name in root and mount point", ({ escaped, plain }) => {
    const line = `36 35 8:1 /a${escaped}b /k/x${escaped}y rw - ext4 /dev/sda1 rw\n`;

    const { entries } = parseMountInfo(line, "/k");

    expect(entries).toMatchObject([{ root: `/a${plain}b`, mountPoint: `/k/x${plain}y` }]);
  });

  it.each([
    { name: "no optional field", optional: [] },
    { name: "one optional field", optional: ["shared:7"] },
    { name: "several optional fields", optional: ["shared:7", "master:3", "propagate_from:2", "unbindable"] },
  ])("takes a line with $name", ({ optional }) => {
    const table = parseMountInfo(formatMountLine({ mountPoint: HOLD, optional, fsType: "xfs" }), ROOT);

    expect(table).toMatchObject({ damagedLines: 0, entries: [{ mountPoint: HOLD, fsType: "xfs" }] });
  });

  it.each([
    { name: "an empty source (before Linux 5.1)", line: { source: "" } },
    { name: "a source with a space", line: { source: "//nas/my share" } },
    { name: "words behind the super options", line: { superOptions: "rw and more" } },
    { name: "a root that was deleted", line: { root: "/data//deleted" } },
    { name: "a root outside of what the reader can reach", line: { root: "/../outside" } },
    { name: "the root of a name space", line: { root: "net:[4026532281]" } },
    { name: "a root with UTF-8 whose byte looks like white space", line: { root: latin1("/voilà/ici") } },
    { name: "a root with a vertical tab", line: { root: "/a\vb" } },
    { name: "an empty root", line: { root: "" } },
  ])("takes a line with $name", ({ line }) => {
    const table = parseMountInfo(formatMountLine({ mountPoint: HOLD, ...line }), ROOT);

    expect(table).toMatchObject({ damagedLines: 0, entries: [{ mountPoint: HOLD, fsType: "ext4" }] });
    expect(table.entries[0]?.root).toBe(line.root ?? "/");
  });

  it.each([
    { name: "the folder itself", mountPoint: ROOT },
    { name: "a place beside it that begins like it", mountPoint: `${ROOT}-old/pods` },
    { name: "a place elsewhere", mountPoint: "/home" },
    { name: "a place elsewhere with the folder in its root", mountPoint: "/backup", root: `${ROOT}/pods` },
    { name: "a place elsewhere whose name is no UTF-8", mountPoint: "/mnt/\xe0\xff" },
  ])("does not count $name", ({ mountPoint, root = "/" }) => {
    const table = parseMountInfo(formatMountLine({ mountPoint, root }), ROOT);

    expect(table).toEqual({ entries: [], damagedLines: 0 });
  });

  it("finds a folder with a space, given with or without a slash at its end", () => {
    const line = formatMountLine({ mountPoint: "/my kubelet/pods/x" });

    expect(parseMountInfo(line, "/my kubelet").entries).toHaveLength(1);
    expect(parseMountInfo(line, "/my kubelet/").entries).toHaveLength(1);
    expect(parseMountInfo(line, "/").entries).toHaveLength(1);
  });

  const good = formatMountLine({ mountPoint: HOLD });
  it.each([
    { name: "an empty table, as every name space has mounts", text: "", damaged: 1 },
    { name: "a last line without its end", text: good.slice(0, -1), damaged: 1, entries: 0 },
    { name: "a last line torn in its numbers", text: `${good}36 3`, damaged: 1, entries: 1 },
    {
      name: "a line below the folder without a separator",
      text: `36 35 8:1 / ${HOLD} rw shared:1\n${good}`,
      damaged: 1,
      entries: 1,
    },
    { name: "a line below the folder without a type", text: `36 35 8:1 / ${HOLD} rw - \n`, damaged: 1 },
    {
      name: "a line below the folder without super options",
      text: `36 35 8:1 / ${HOLD} rw - ext4 /dev/sda1\n`,
      damaged: 1,
    },
    {
      name: "a line below the folder with words for numbers",
      text: `x y 8:1 / ${HOLD} rw - ext4 /dev/sda1 rw\n`,
      damaged: 1,
    },
    {
      name: "a line below the folder with a root of two words",
      text: `36 35 8:1 /a b ${HOLD} rw - ext4 /dev/sda1 rw\n`,
      damaged: 1,
    },
    { name: "a line cut inside the folder's name", text: "36 35 8:1 / /var/li\n", damaged: 1 },
    { name: "a line cut before the mount point", text: "36 35 8:1 /\n", damaged: 1 },
    { name: "an empty line", text: `\n${good}`, damaged: 1, entries: 1 },
    { name: "garbage", text: "\x00\x01garbage\n", damaged: 1 },
  ])("counts $name as damage", ({ text, damaged, entries = 0 }) => {
    const table = parseMountInfo(text, ROOT);

    expect(table.damagedLines).toBe(damaged);
    expect(table.entries).toHaveLength(entries);
  });

  it.each([
    { name: "without a separator", line: "36 35 8:1 / /home rw shared:1\n" },
    { name: "cut behind its mount point", line: "36 35 8:1 / /home \n" },
    { name: "cut in a mount point that the folder does not begin with", line: "36 35 8:1 / /home/us\n" },
    { name: "with a root of two words", line: "36 35 8:1 /a b /home rw - odd none rw\n" },
    { name: "with a mount point that is no path", line: "36 35 8:1 / anywhere rw - odd none rw\n" },
  ])("is not blinded by an odd line elsewhere $name", ({ line }) => {
    const table = parseMountInfo(`${line}${good}`, ROOT);

    expect(table.damagedLines).toBe(0);
    expect(table.entries).toHaveLength(1);
  });

  it("keeps stacked mounts apart", () => {
    const text = [36, 37].map((mountId) => formatMountLine({ mountPoint: HOLD, mountId })).join("");

    const { entries } = parseMountInfo(text, ROOT);

    expect(entries.map(({ mountId }) => mountId)).toEqual([36, 37]);
  });

  const byteString = fc
    .array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 12 })
    .map((bytes) => String.fromCharCode(...bytes));
  const entry = fc.record({
    mountPoint: byteString.map((name) => `/k/${name}`),
    mountId: fc.nat(),
    parentId: fc.nat(),
    device: fc.tuple(fc.nat(4095), fc.nat(99_999)).map(([major, minor]) => `${major}:${minor}`),
    root: byteString.map((name) => `/${name}`),
    fsType: fc.constantFrom("ext4", "fuse.sshfs", "nfs4"),
    source: fc.oneof(fc.constant(""), byteString),
    optional: fc.subarray(["shared:1", "master:2", "unbindable"]),
  });

  it("reads back whatever bytes the kernel writes", () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 5 }), (lines) => {
        const table = parseMountInfo(lines.map(formatMountLine).join(""), "/k");

        const expected = lines.map(({ source: _, optional: __, ...rest }) => rest);
        expect(table).toEqual({ entries: expected, damagedLines: 0 });
      }),
    );
  });

  it("tells of every cut that could hide an entry", () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), fc.nat(400), (lines, at) => {
        const text = lines.map(formatMountLine).join("");
        const cut = text.slice(0, at % text.length);

        const table = parseMountInfo(cut, "/k");

        const isMissing = table.entries.length < cut.split("\n").filter((line) => line !== "").length;
        expect(table.damagedLines > 0 || !isMissing).toBe(true);
        expect(cut === "" || !cut.endsWith("\n") ? table.damagedLines : 1).toBeGreaterThan(0);
      }),
    );
  });

  it("never throws and never invents an entry, whatever it is given", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), fc.string(), (noise, folder) => {
        for (const { mountPoint } of parseMountInfo(`${noise}\n`, `/${folder}`).entries) {
          expect(mountPoint.startsWith("/")).toBe(true);
        }
      }),
    );
  });
});

describe("findKubeletRoots", () => {
  const token = (root: string): string => `${root}/pods/agent-1/volumes/kubernetes.io~projected/kube-api-access-abcde`;

  it.each([
    { name: "the default root", root: "/var/lib/kubelet" },
    { name: "another root", root: "/data/k3s/kubelet" },
    { name: "a root with a space", root: "/my data/kubelet" },
    { name: "the root directory", root: "/" },
  ])("learns $name from the own pod's token", ({ root }) => {
    const mountPoint = token(root === "/" ? "" : root);
    const text = `${formatMountLine({ mountPoint: "/" })}${formatMountLine({ mountPoint, fsType: "tmpfs" })}`;

    expect(findKubeletRoots(text, "agent-1")).toEqual([root]);
  });

  it.each([
    { name: "an empty table", text: "" },
    { name: "another pod's token", text: formatMountLine({ mountPoint: token("/k").replace("agent-1", "agent-2") }) },
    {
      name: "a pod whose UID ends alike",
      text: formatMountLine({ mountPoint: token("/k").replace("agent-1", "x-agent-1") }),
    },
    {
      name: "another volume of the own pod",
      text: formatMountLine({ mountPoint: "/k/pods/agent-1/volumes/kubernetes.io~empty-dir/tmp" }),
    },
    { name: "the token in the root field", text: formatMountLine({ mountPoint: "/x", root: token("/k") }) },
    { name: "the token in the source field", text: formatMountLine({ mountPoint: "/x", source: token("/k") }) },
    { name: "a line without numbers", text: `x ${token("/k")} rw - tmpfs tmpfs rw\n` },
  ])("learns nothing from $name", ({ text }) => {
    expect(findKubeletRoots(text, "agent-1")).toEqual([]);
  });

  it("names each root once when the token shows below several", () => {
    const text = ["/var/lib/kubelet", "/mnt/copy", "/var/lib/kubelet"]
      .map((root) => formatMountLine({ mountPoint: token(root) }))
      .join("");

    expect(findKubeletRoots(text, "agent-1")).toEqual(["/var/lib/kubelet", "/mnt/copy"]);
  });
});

describe("displayPath", () => {
  it("shows bytes as the text that they are", () => {
    expect(displayPath(latin1("/voilà"))).toBe("/voilà");
  });
});
