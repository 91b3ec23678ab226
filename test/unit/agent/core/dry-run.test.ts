import { describe, expect, it } from "vitest";
import { explainUnreadable, processOf, remarksOn } from "../../../../agent/core/dry-run.ts";
import { surveyTable } from "../../../../agent/core/table-survey.ts";
import { csiMountPoint } from "../../../fakes/mount-table.ts";
import { findingsOf } from "./findings.ts";

const { node, survey } = findingsOf();

describe("processOf", () => {
  it.each([
    { path: "/proc/1/mountinfo", process: "1" },
    { path: "/node/proc/1/mountinfo", process: "1" },
    { path: "/proc/4711/mountinfo", process: "4711" },
    { path: "/proc/self/mountinfo", process: "self" },
    { path: "/proc/thread-self/mountinfo", process: "thread-self" },
    { path: "/tmp/mountinfo", process: undefined },
    { path: "/proc/1/mounts", process: undefined },
  ])("$path is the table of $process", ({ path, process }) => {
    expect(processOf(path)).toBe(process);
  });
});

describe("remarksOn", () => {
  it("is empty on an ordinary node", () => {
    expect(remarksOn(findingsOf([csiMountPoint("u1", "pv-1")]))).toEqual([]);
  });

  it.each([
    {
      name: "the table of another process",
      change: { mountInfo: "/proc/4711/mountinfo" },
      remark: "not that of PID 1 but of process 4711",
    },
    {
      name: "this process's own table",
      change: { mountInfo: "/proc/self/mountinfo" },
      remark: "not that of PID 1 but of this process",
    },
    {
      name: "a copy of a table",
      change: { mountInfo: "/tmp/table", changes: { by: "nothing" as const } },
      remark: "/tmp/table is a file, not a mount table of the kernel",
    },
    {
      name: "another mount namespace",
      change: { node: { ...node, facts: { mountNamespace: "other" as const } } },
      remark: "another mount namespace than this process's own",
    },
    {
      name: "the table of a container",
      change: { survey: { ...survey, rootFsType: "overlay" } },
      remark: "perhaps this is the table of a container",
    },
    { name: "damage", change: { survey: surveyTable("cut") }, remark: "Lines that could not be read: 1." },
    {
      name: "a missing kubelet root",
      change: { root: { isGiven: false, exists: false } },
      remark: "/var/lib/kubelet does not exist on this machine.",
    },
    {
      name: "a table that cannot be polled",
      change: { changes: { by: "timer" as const, why: "no libc" } },
      remark: "An agent could not poll this table (no libc): it would read it by timer.",
    },
    {
      name: "a clock that can be slewed",
      change: { clock: { source: "monotonic" as const, driftPpm: 100_000 } },
      remark: "shorten each idle time by a tenth",
    },
    {
      name: "a kernel whose reads can lack lines",
      change: { node: { ...node, facts: { kernel: "5.4.0" } } },
      remark: "Linux 5.4.0 may leave out lines",
    },
  ])("mentions $name", ({ change, remark }) => {
    expect(remarksOn(findingsOf([], change))).toEqual([expect.stringContaining(remark)]);
  });

  it.each([
    { root: "/data/kubelet", flag: "--kubelet-root /data/kubelet" },
    { root: "/my kubelet", flag: "--kubelet-root '/my kubelet'" },
    { root: "/it's", flag: "--kubelet-root '/it'\\''s'" },
  ])("suggests the root $root below which pods have their volumes", ({ root, flag }) => {
    const remarks = remarksOn(findingsOf([csiMountPoint("u1", "pv-1", root), csiMountPoint("u1", "pv-2", root)]));

    expect(remarks).toEqual([`Volumes of pods are mounted below ${root}, too (2): to look there, use ${flag}`]);
  });
});

describe("explainUnreadable", () => {
  it.each([
    {
      code: "EACCES",
      mountInfo: "/proc/1/mountinfo",
      platform: "linux",
      words: ["permission denied", "hidepid", "root"],
    },
    { code: "EPERM", mountInfo: "/proc/1/mountinfo", platform: "linux", words: ["permission denied"] },
    {
      code: "ENOENT",
      mountInfo: "/proc/1/mountinfo",
      platform: "linux",
      words: ["no such file", "hidepid", "not mounted"],
    },
    { code: "ENOENT", mountInfo: "/tmp/copy", platform: "linux", words: ["/tmp/copy: there is no such file."] },
    { code: "EISDIR", mountInfo: "/tmp", platform: "linux", words: ["/tmp: EISDIR."] },
    { code: undefined, mountInfo: "/tmp", platform: "linux", words: ["unknown reason"] },
    {
      code: "ENOENT",
      mountInfo: "/proc/1/mountinfo",
      platform: "darwin",
      words: ["this is darwin", "only Linux has one"],
    },
  ])("says of $code at $mountInfo on $platform what to do", ({ words, ...failure }) => {
    const text = explainUnreadable(failure);

    expect(text).toMatch(/^cannot read the mount table \//);
    for (const word of words) expect(text).toContain(word);
  });
});
