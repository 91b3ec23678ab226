import { describe, expect, it } from "vitest";
import { findHolder, mountedAt, wholeTable } from "../../../../../provisioner/keeper/core/holders.ts";

const LOOP = { number: "7:3", name: "loop3" };
const ROOT = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
const KUBELET = "/var/lib/kubelet";
const TOKEN = line("0:50 /", `${KUBELET}/pods/own-1/volumes/kubernetes.io~projected/api-access`, "tmpfs");

/** `deviceAndRoot` as in the table: `7:3 /`. */
function line(deviceAndRoot: string, mountPoint: string, fsType = "ext4"): string {
  return `40 1 ${deviceAndRoot} ${mountPoint} rw shared:1 - ${fsType} /dev/x rw\n`;
}

describe("findHolder", () => {
  it.each([
    { name: "a table without the device", text: ROOT + line("7:30 /", "/mnt") },
    { name: "the node of another device", text: ROOT + line("0:6 /loop30", "/x", "devtmpfs") },
    { name: "all of the folder of devices", text: ROOT + line("0:6 /", "/dev", "devtmpfs") },
    { name: "a file of that name on a disk", text: ROOT + line("8:1 /loop3", "/x") },
  ])("$name shows nothing", ({ text }) => {
    expect(findHolder(text, LOOP, undefined)).toEqual({ kind: "free" });
  });

  it.each([
    { name: "its filesystem", text: line("7:3 /", "/mnt/data"), by: "the mount /mnt/data" },
    { name: "a folder of it", text: line("7:3 /sub", "/mnt/data"), by: "the mount /mnt/data" },
    {
      name: "its filesystem in a pod",
      text: line("7:3 /", `${KUBELET}/pods/3f0a-1/volumes/kubernetes.io~local-volume/pvc-1`),
      by: `pod 3f0a-1 by the mount ${KUBELET}/pods/3f0a-1/volumes/kubernetes.io~local-volume/pvc-1`,
    },
    {
      name: "its filesystem in a pod, after the kubelet's own mount",
      text: `${line("7:3 /", `${KUBELET}/plugins/kubernetes.io/local-volume/mounts/pvc-1`)}${line("7:3 /", `${KUBELET}/pods/3f0a-3/volumes/x/pvc-1`)}`,
      by: `pod 3f0a-3 by the mount ${KUBELET}/pods/3f0a-3/volumes/x/pvc-1`,
    },
    {
      name: "its node, bound for a Block volume",
      text: line("0:6 /loop3", `${KUBELET}/plugins/kubernetes.io~local-volume/volumeDevices/pvc-1/3f0a-2`, "devtmpfs"),
      by: `pod 3f0a-2 by the mount ${KUBELET}/plugins/kubernetes.io~local-volume/volumeDevices/pvc-1/3f0a-2`,
    },
    {
      name: "its node after it was deleted",
      text: line("0:6 /loop3//deleted", "/b", "devtmpfs"),
      by: "the mount /b",
    },
    { name: "its node on a tmpfs", text: line("0:90 /loop3", "/b", "tmpfs"), by: "the mount /b" },
    { name: "it on the root itself", text: line("7:3 /", "/"), by: "the mount /" },
    { name: "it at a path with spaces and ö", text: line("7:3 /", "/a\\040\xc3\xb6"), by: "the mount /a ö" },
    { name: "it beside a damaged line", text: `damaged\n${line("7:3 /", "/mnt")}`, by: "the mount /mnt" },
  ])("a table shows $name", ({ text, by }) => {
    expect(findHolder(ROOT + text, LOOP, undefined)).toEqual({ kind: "held", by });
  });

  it.each([
    { name: "an empty table", text: "" },
    { name: "a line that was cut", text: `${ROOT}40 1 7:` },
    { name: "a line without an end", text: ROOT.trimEnd() },
    { name: "a line without a device", text: `${ROOT}40 1 x / /mnt\n` },
  ])("$name proves nothing", ({ text }) => {
    expect(findHolder(text, LOOP, undefined)).toEqual({
      kind: "unknown",
      why: expect.stringContaining("cannot be read"),
    });
  });

  it.each([
    { name: "proves what it does not show when it shows the own pod's token", text: TOKEN, finding: { kind: "free" } },
    {
      name: "proves nothing without it",
      text: "",
      finding: { kind: "unknown", why: expect.stringContaining("own pod") },
    },
    {
      name: "shows what it shows in any case",
      text: line("7:3 /", "/mnt"),
      finding: { kind: "held", by: "the mount /mnt" },
    },
  ])("a table $name", ({ text, finding }) => {
    expect(findHolder(ROOT + text, LOOP, "own-1")).toEqual(finding);
  });
});

describe("mountedAt", () => {
  const table = wholeTable(
    ROOT + line("8:17 /", "/pools/fast") + line("8:33 /x", "/pools/fast") + line("8:1 /ö", "/p\xc3\xb6"),
  );

  it.each([
    { name: "the upper of two mounts", path: "/pools/fast", mount: { device: "8:33", root: "/x" } },
    { name: "a path in other letters", path: "/pö", mount: { device: "8:1" } },
  ])("finds $name", ({ path, mount }) => {
    expect(mountedAt(table, path)).toMatchObject(mount);
  });

  it.each(["/pools", "/pools/fast/x", "/pools/fas"])("finds nothing at %s", (path) => {
    expect(mountedAt(table, path)).toBeUndefined();
  });
});
