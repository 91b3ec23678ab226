import { describe, expect, it } from "vitest";
import { NEVER_A_CLAIM } from "../../../../../common/mounts/core/kubelet-path.ts";
import {
  displayPath,
  findKubeletRoots,
  needsAgreement,
  parseMountInfo,
} from "../../../../../common/mounts/core/mount-info.ts";
import { formatMountLine } from "../../../../fakes/mount-table.ts";

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
  ])("parses a line with $name", ({ optional }) => {
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
  ])("parses a line with $name", ({ line }) => {
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

  it.each([
    { name: "its space", folder: "/my kubelet", written: "/my\\040kubelet" },
    { name: "its hash", folder: "/k#1", written: "/k\\0431" },
    { name: "each of its letters", folder: "/ab", written: "/\\141\\142" },
    { name: "a byte that is no ASCII", folder: "/\u00e0", written: "/\\340" },
  ])("finds the folder where the kernel escapes $name, and sees where that was cut", ({ folder, written }) => {
    const line = `36 35 8:1 / ${written}/pods/x rw - ext4 /dev/sda1 rw\n`;

    expect(parseMountInfo(line, folder)).toMatchObject({
      damagedLines: 0,
      entries: [{ mountPoint: `${folder}/pods/x` }],
    });
    for (let length = 1; length <= written.length; length += 1) {
      expect(parseMountInfo(`36 35 8:1 / ${written.slice(0, length)}\n`, folder).damagedLines).toBe(1);
    }
    expect(parseMountInfo(line.replace("36", "x"), folder).damagedLines).toBe(1);
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
    {
      name: "a line below the folder with an empty type",
      text: `36 35 8:1 / ${HOLD} rw -  /dev/sda1 rw\n`,
      damaged: 1,
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
    { name: "a line of spaces", text: `   \n${good}`, damaged: 1, entries: 1 },
    { name: "garbage", text: "\x00\x01garbage\n", damaged: 1 },
    { name: "nothing but bytes that are zero", text: `${"\0".repeat(64)}\n`, damaged: 1 },
    { name: "UTF-16", text: [...good].join("\0"), damaged: 1 },
    { name: "a table without any end of line", text: good.replaceAll("\n", ""), damaged: 1 },
    { name: "a table with the ends of lines of another system", text: good.replaceAll("\n", "\r"), damaged: 1 },
    { name: "a mark of the byte order", text: `\xef\xbb\xbf${good}`, damaged: 1 },
    { name: "tabs for spaces", text: good.replaceAll(" ", "\t"), damaged: 1 },
    { name: "two spaces for one", text: good.replace("36 35", "36  35"), damaged: 1 },
    { name: "a space before the line", text: ` ${good}`, damaged: 1 },
    { name: "a negative ID", text: good.replace("36", "-36"), damaged: 1 },
    { name: "a line without IDs", text: good.replace("36 35 ", ""), damaged: 1 },
    { name: "a line without a device", text: good.replace("8:1 ", ""), damaged: 1 },
    { name: "a device that is no pair", text: good.replace("8:1", "801"), damaged: 1 },
    { name: "a line without a root", text: good.replace("/ /", "/"), damaged: 1 },
    { name: "a line without options", text: `36 35 8:1 / ${HOLD} - ext4 /dev/sda1 rw\n`, damaged: 1 },
    { name: "a line whose head is missing", text: good.slice(8), damaged: 1 },
    { name: "a line that the next one runs into", text: `36 35 8:1 / ${good}`, damaged: 1 },
    { name: "a separator that is glued to its neighbour", text: good.replace(" - ", " -"), damaged: 1 },
    { name: "a line cut behind its separator", text: `${good.slice(0, good.indexOf(" - ") + 2)}\n`, damaged: 1 },
    { name: "a line cut inside the mount point", text: `${good.slice(0, good.indexOf("pv-1"))}\n`, damaged: 1 },
    {
      name: "each line that is",
      text: `36 35 8:1 / ${HOLD}\n${good}36 35 8:1 / ${HOLD} rw\n`,
      damaged: 2,
      entries: 1,
    },
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
    { name: "with words for numbers", line: "x y z / /home rw - odd none rw\n" },
    { name: "cut in a place that is called like the folder with more", line: `36 35 8:1 / ${ROOT}-old/po\n` },
  ])("stays undamaged by an odd line elsewhere $name", ({ line }) => {
    const table = parseMountInfo(`${line}${good}`, ROOT);

    expect(table.damagedLines).toBe(0);
    expect(table.entries).toHaveLength(1);
  });

  it("keeps stacked mounts apart", () => {
    const text = [36, 37].map((mountId) => formatMountLine({ mountPoint: HOLD, mountId })).join("");

    const { entries } = parseMountInfo(text, ROOT);

    expect(entries.map(({ mountId }) => mountId)).toEqual([36, 37]);
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
  ])("finds no root in $name", ({ text }) => {
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

describe("needsAgreement", () => {
  it.each([
    { release: "5.8.0", needs: false },
    { release: "5.8", needs: false },
    { release: "5.8-rc7", needs: false },
    { release: "5.10.0-28-amd64", needs: false },
    { release: "5.15.153.1-microsoft-standard-WSL2", needs: false },
    { release: "6.1.0+deb12", needs: false },
    { release: "6.18.44", needs: false },
    { release: "10.0.1", needs: false },
    { release: "5.7.19", needs: true },
    { release: "5.4.0-1103-aws", needs: true },
    { release: "4.18.0-553.el8_10.x86_64", needs: true },
    { release: "4.4.0", needs: true },
    { release: "3.10.0-1160.el7.x86_64", needs: true },
    { release: "2.6.40+6.1.0", needs: true },
    { release: "5", needs: true },
    { release: "6", needs: true },
    { release: "", needs: true },
    { release: "v6.1.0", needs: true },
    { release: " 6.1.0", needs: true },
    { release: "unknown", needs: true },
    { release: "-5.10", needs: true },
    { release: "5.x", needs: true },
  ])("is $needs for kernel '$release'", ({ release, needs }) => {
    expect(needsAgreement(release)).toBe(needs);
  });
});

describe("a line that was cut, with whole lines behind it", () => {
  const elsewhere = formatMountLine({ mountPoint: "/mnt/elsewhere" });

  it.each([
    { name: "within its IDs", cut: "36" },
    { name: "before its device", cut: "36 35 " },
    { name: "within its device", cut: "36 35 8:" },
    { name: "before its root", cut: "36 35 8:1 " },
    { name: "within its root", cut: "36 35 8:1 /a" },
    { name: "before its mount point", cut: "36 35 8:1 /a " },
    { name: "within a mount point that may lie below the kubelet's root", cut: "36 35 8:1 / /var/lib/kub" },
    { name: "at the begin of its mount point", cut: "36 35 8:1 / /" },
    { name: "within an escape of such a mount point", cut: "36 35 8:1 / /var\\05" },
    { name: "behind such a mount point", cut: `36 35 8:1 / ${HOLD} rw` },
  ])("$name, is damaged", ({ cut }) => {
    const table = parseMountInfo(`${elsewhere}${cut}\n${elsewhere}${elsewhere}`, ROOT, NEVER_A_CLAIM);

    expect(table).toEqual({ damagedLines: 1, entries: [] });
  });

  it("hides none of those behind it", () => {
    const whole = formatMountLine({ mountPoint: HOLD });

    const table = parseMountInfo(`${elsewhere}36 35 8:1 / /var/lib/kub\n${whole}${elsewhere}`, ROOT, NEVER_A_CLAIM);

    expect(table).toMatchObject({ damagedLines: 1, entries: [{ mountPoint: HOLD }] });
  });

  it("within a mount point that cannot lie below the kubelet's root is no damage", () => {
    const table = parseMountInfo(`${elsewhere}36 35 8:1 / /mnt/else\n${elsewhere}`, ROOT, NEVER_A_CLAIM);

    expect(table).toEqual({ damagedLines: 0, entries: [] });
  });
});
