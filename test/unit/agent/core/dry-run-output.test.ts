import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { asJson, asText } from "../../../../agent/core/dry-run-output.ts";
import { csiMountPoint } from "../../../fakes/mount-table.ts";
import { findingsOf } from "./findings.ts";

const HASH = "0123456789abcdef".repeat(4);
const MOUNTS = [
  csiMountPoint("u1", "pv-1"),
  `/var/lib/kubelet/plugins/kubernetes.io/csi/ebs.csi.aws.com/${HASH}/globalmount`,
  csiMountPoint("u2", "pv-9", "/data/kubelet"),
];
const nothingKnown = { facts: {}, bootId: undefined, bootedAt: undefined };

/** The names of all fields, those below a list's first item included. */
function fieldsOf(value: unknown, path = ""): readonly string[] {
  if (Array.isArray(value)) return fieldsOf(value[0], `${path}[]`);
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, inner]) => fieldsOf(inner, path === "" ? name : `${path}.${name}`));
}

describe("the dry run as text", () => {
  it("says what node this is, which table was read, how changes would be noticed, and what is mounted", () => {
    const text = asText(findingsOf(MOUNTS));

    expect(text.split("\n")).toEqual([
      "Node          kernel 6.18.4, x64, Debian GNU/Linux 13, cgroup v2, SELinux off, AppArmor on",
      "Boot          2580be93-546d-4fa5-bbe7-10ad19d8fba4, since 2026-11-21T09:59:43Z",
      "Mount table   /proc/1/mountinfo, 4 lines, of this process's own mount namespace",
      "Kubelet root  /var/lib/kubelet (default), exists",
      "Changes       noticed at once, by poll(2); clock monotonic-raw, drift at most 200 ppm",
      "Absence       not proven: outside a pod: nothing proves that this is the kubelet's mount table",
      "",
      "KIND     VOLUME                         POD UID  TYPE  MOUNT POINT",
      "pod      pv-1                           u1       ext4  /var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/pv-1/mount",
      `staging  ebs.csi.aws.com 0123456789ab…  -        ext4  ${MOUNTS[1]}`,
      "",
      "2 volume mounts below /var/lib/kubelet in /proc/1/mountinfo: 1 pod, 1 staging.",
      "",
      "- Volumes of pods are mounted below /data/kubelet, too (1): to look there, use --kubelet-root /data/kubelet",
    ]);
  });

  it("says so where nothing is known", () => {
    const text = asText(
      findingsOf([], {
        node: nothingKnown,
        root: { isGiven: true, exists: undefined },
        changes: { by: "timer", why: "no libc" },
        clock: { source: "monotonic", driftPpm: 100_000 },
      }),
    );

    expect(text.split("\n").slice(0, 8)).toEqual([
      "Node          unknown",
      "Boot          unknown",
      "Mount table   /proc/1/mountinfo, 1 line, mount namespace unknown",
      "Kubelet root  /var/lib/kubelet (given), cannot be looked at from here",
      "Changes       noticed by timer; clock monotonic, drift at most 100000 ppm",
      "Absence       not proven: outside a pod: nothing proves that this is the kubelet's mount table",
      "",
      "0 volume mounts below /var/lib/kubelet in /proc/1/mountinfo.",
    ]);
  });

  it("does not let a mount point steer the terminal", () => {
    const text = asText(findingsOf([csiMountPoint("u1", "pv-1", "/evil\u001b[2J")]));

    expect(text).toContain("below /evil?[2J, too");
    expect(text).not.toContain("\u001b");
  });

  it("shows a path of other bytes as the text that they are", () => {
    const text = asText(findingsOf([csiMountPoint("u1", "pv-1", Buffer.from("/données").toString("latin1"))]));

    expect(text).toContain("below /données, too");
  });
});

describe("the dry run as JSON", () => {
  it("has the same content", () => {
    const value = JSON.parse(asJson(findingsOf(MOUNTS)));

    expect(value).toEqual({
      apiVersion: "agent.mooring.dev/v1",
      kind: "DryRun",
      node: {
        ...{ kernel: "6.18.4", architecture: "x64", distribution: "Debian GNU/Linux 13", containerRuntime: null },
        ...{ cgroup: "v2", selinux: false, apparmor: true },
        ...{ bootId: "2580be93-546d-4fa5-bbe7-10ad19d8fba4", bootedAt: "2026-11-21T09:59:43Z" },
      },
      mountTable: { path: "/proc/1/mountinfo", process: "1", mountNamespace: "own", lines: 4, damagedLines: 0 },
      kubeletRoot: {
        path: "/var/lib/kubelet",
        isGiven: false,
        exists: true,
        others: [{ path: "/data/kubelet", mounts: 1 }],
      },
      changes: { noticedBy: "poll", clock: "monotonic-raw", driftPpm: 200 },
      absence: {
        isProven: false,
        why: "outside a pod: nothing proves that this is the kubelet's mount table",
      },
      counts: { pod: 1, subpath: 0, block: 0, staging: 1 },
      mountedVolumes: [
        { kind: "pod", volume: { by: "name", name: "pv-1" }, podUid: "u1", mountPoint: MOUNTS[0], fsType: "ext4" },
        {
          kind: "staging",
          volume: { by: "handle", driver: "ebs.csi.aws.com", handleHash: HASH },
          podUid: null,
          mountPoint: MOUNTS[1],
          fsType: "ext4",
        },
      ],
      remarks: [expect.stringContaining("--kubelet-root /data/kubelet")],
    });
  });

  it("has every field also where nothing is known", () => {
    const known = fieldsOf(JSON.parse(asJson(findingsOf())));

    const unknown = JSON.parse(asJson(findingsOf([], { node: nothingKnown, changes: { by: "nothing" } })));

    expect(fieldsOf(unknown)).toEqual(known);
    expect(unknown.node.kernel).toBeNull();
  });

  it("has each of its fields described in docs/dry-run.md", () => {
    const document = readFileSync(new URL("../../../../docs/dry-run.md", import.meta.url), "utf8");
    const described = [...document.matchAll(/`([\w.[\]]+)`/g)].map(([, field]) => field);

    const fields = fieldsOf(JSON.parse(asJson(findingsOf(MOUNTS)))).map((field) =>
      field.replace(/volume\..*/, "volume"),
    );

    expect(fields.filter((field) => !described.includes(field.replace(/\[\]$/, "")))).toEqual([]);
  });
});
