import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type MountScan, scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import { displayPath, parseMountInfo } from "../../../../common/mounts/core/mount-info.ts";
import { volumeKey } from "../../../../common/storage/volume-identity.ts";

const FOLDER = new URL("../../../fixtures/mount-tables/", import.meta.url);
const AGENT = "0b7cbb4e-4f2c-4a4d-9a0e-1f6a3d7b5c01";
const WEB = "3c2f7f0e-90d1-4e7c-8a53-6f1f0a1c2d02";
const DB = "5a8e1b6c-7d2f-4b0a-b7c4-9e0d3f4a5b03";
const STATIC = "9f86d081884c7d659a2feaa0c55ad015";
const NOT_THERE = "own pod's token mount is not in the table";

const tables: readonly {
  readonly file: string;
  readonly root: string;
  readonly incomplete?: string;
  readonly mountedVolumes: readonly string[];
}[] = [
  {
    file: "kubernetes-node.txt",
    root: "/var/lib/kubelet",
    mountedVolumes: [
      "staging handle/ebs.csi.aws.com/HASH -",
      `pod name/pvc-aws ${WEB}`,
      `subpath name/pvc-aws ${WEB}`,
      `subpath name/pvc-aws ${WEB}`,
      "staging handle/rook-ceph.rbd.csi.ceph.com/HASH -",
      `pod name/pvc-ceph ${DB}`,
      "staging name/pvc-raw -",
      `block name/pvc-raw ${DB}`,
      `block name/pvc-raw ${DB}`,
      `pod name/local-a ${DB}`,
      "staging name/local-b -",
      `pod name/local-b ${DB}`,
      `block name/local-c ${DB}`,
      `pod name/nfs-home ${WEB}`,
      "staging device/iscsi/iface-default/10.0.0.1:3260-iqn.2003-01.io.example:disk-lun-1 -",
      `pod name/iscsi-1 ${STATIC}`,
      `block device/fc/50060e801049cfd1-lun-0 ${STATIC}`,
      `pod name/certs ${WEB}`,
    ],
  },
  {
    file: "node-in-a-container.txt",
    root: "/var/lib/kubelet",
    mountedVolumes: [`pod name/pvc-local-path ${WEB}`, `subpath name/pvc-local-path ${WEB}`],
  },
  {
    file: "old-kernel.txt",
    root: "/var/lib/kubelet",
    mountedVolumes: [
      "staging name/pvc-old -",
      `pod name/pvc-old ${WEB}`,
      "staging device/aws-ebs/mounts/aws/eu-central-1a/vol-0a1b -",
      `pod name/pvc-ebs ${WEB}`,
      "staging device/vsphere-volume/mounts/[disks 1] kubevols/a.vmdk -",
      `pod name/gluster-1 ${DB}`,
      `pod name/nfs-gone ${DB}`,
    ],
  },
  {
    file: "odd-names.txt",
    root: "/srv/k8s data/\u00ff\u00e0 voil\u00c3\u00a0\\n#1",
    mountedVolumes: [
      `pod name/pv-1 ${WEB}`,
      `pod name/pv-2 ${WEB}`,
      `pod name/pv-2 ${WEB}`,
      "staging device/rbd/mounts/p\u00f6ol image -",
    ],
  },
  { file: "desktop.txt", root: "/var/lib/kubelet", incomplete: NOT_THERE, mountedVolumes: [] },
  { file: "recorded-vm.txt", root: "/var/lib/kubelet", incomplete: NOT_THERE, mountedVolumes: [] },
];

function textOf(file: string): string {
  return readFileSync(new URL(file, FOLDER), "latin1");
}

function scan(text: string): MountScan {
  return scanMountedVolumes({ text, beganAt: 1, endedAt: 2 }, { by: "own-pod", podUid: AGENT, override: undefined });
}

function summary({ mountedVolumes }: MountScan): readonly string[] {
  return mountedVolumes.map(({ kind, volume, podUid }) =>
    `${kind} ${volumeKey(volume)} ${podUid ?? "-"}`.replace(/[0-9a-f]{64}/, "HASH"),
  );
}

describe("a whole mount table", () => {
  it.each(tables)("shows what it shows: $file", ({ file, root, incomplete, mountedVolumes }) => {
    const result = scan(textOf(file));

    expect(displayPath(result.kubeletRoot)).toBe(displayPath(root));
    expect(result.incomplete).toBe(incomplete);
    expect(summary(result)).toEqual(mountedVolumes);
  });

  it.each(tables)("can be read to its last line: $file", ({ file }) => {
    const text = textOf(file);

    const { entries, damagedLines } = parseMountInfo(text, "/");

    expect(damagedLines).toBe(0);
    expect(entries).toHaveLength(text.split("\n").length - 1);
  });

  it("has a row here for each file", () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith(".txt"));

    expect(files.toSorted()).toEqual(tables.map(({ file }) => file).toSorted());
  });

  it.each(tables)("that is cut is damaged, or shows all that was left of it: $file", ({ file, root }) => {
    const text = textOf(file);
    const whole = parseMountInfo(text, root).entries;

    for (let length = 0; length < text.length; length += 1) {
      const cut = parseMountInfo(text.slice(0, length), root);
      const isBetweenLines = text[length - 1] === "\n";
      expect(cut.damagedLines > 0).toBe(!isBetweenLines);
      expect(cut.entries).toEqual(whole.slice(0, cut.entries.length));
    }
  });

  it.each(tables)("with a line that is cut is damaged, or lacks no mount point: $file", ({ file, root }) => {
    const lines = textOf(file).split("\n").slice(0, -1);
    const pointsIn = (text: string) => parseMountInfo(text, root);

    for (const line of lines) {
      const whole = pointsIn(`${line}\n`).entries.map(({ mountPoint }) => mountPoint);
      for (let length = 0; length < line.length; length += 1) {
        const cut = pointsIn(`${line.slice(0, length)}\n`);
        const shown = cut.entries.map(({ mountPoint }) => mountPoint);
        expect(cut.damagedLines > 0 || shown.join() === whole.join()).toBe(true);
      }
    }
  });
});
