import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { attachLoop } from "../../csi/loop-devices.ts";
import { listLoops } from "../../process/loop-devices.ts";
import { kubeletOf, openCsiScene } from "../cluster/csi-scene.ts";

const STAGING = "plugins/kubernetes.io/csi/volumeDevices/staging/pv-1";
const TARGET = "plugins/kubernetes.io/csi/volumeDevices/publish/pv-1/u1";

const BLOCK = { block: {}, access_mode: { mode: "SINGLE_NODE_WRITER" } };

describe("a block volume", () => {
  it("is a loop device whose node is staged and published, and the device goes with it", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene, "disk-1", BLOCK);
    const ours = (): number => listLoops().filter(({ file }) => file.includes(scene.owner.folder)).length;

    await kubelet.stage(STAGING);
    await kubelet.stage(STAGING);
    const published = await kubelet.publish(TARGET, { stagedAt: STAGING });
    const stat = statSync(scene.seen(scene.at(TARGET)));
    const whileUsed = { mounted: scene.mounted(), loops: ours() };
    const answers = [await kubelet.unpublish(TARGET), await kubelet.unstage(STAGING)];

    expect(published).toMatchObject({ code: "OK" });
    expect(stat.isBlockDevice()).toBe(true);
    expect(whileUsed).toEqual({ mounted: [`${STAGING}/volume-disk-1`, TARGET], loops: 1 });
    expect(answers.map(({ code }) => code)).toEqual(["OK", "OK"]);
    expect(scene.mounted()).toEqual([]);
    expect(existsSync(scene.seen(scene.at(TARGET)))).toBe(false);
    expect(ours()).toBe(0);
  });

  it("leaves no loop device behind when the run ends while it is in use, nor one that a kubelet put upon it", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene, "disk-1", BLOCK);
    await kubelet.stage(STAGING);
    await kubelet.publish(TARGET, { stagedAt: STAGING });
    const before = new Set(listLoops().map(({ device }) => device));
    await scene.namespace.run(`losetup --find '${scene.at(TARGET)}'`);
    const upper = listLoops().filter(({ device }) => !before.has(device));

    await scene.end();

    expect(upper).toHaveLength(1);
    const left = listLoops().filter(
      ({ device, file }) => device === upper[0]?.device || file.includes(scene.owner.folder),
    );
    expect(left).toEqual([]);
  });
});

describe("loop devices that a killed run left behind", () => {
  it("are given back by the next driver that starts", async () => {
    const folder = mkdtempSync(join(tmpdir(), "scratch-"));
    const image = join(folder, "mooring-csi-volumes/csi.gone/volume-x/image");
    mkdirSync(dirname(image), { recursive: true });
    writeFileSync(image, Buffer.alloc(1024 * 1024));
    const device = await attachLoop(image);
    rmSync(folder, { recursive: true });

    await openCsiScene();

    expect(listLoops().filter((one) => one.device === device && one.file.includes("csi.gone"))).toEqual([]);
  });
});

describe("a driver with faults", () => {
  it("leaves the staging mount of a block volume behind", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene, "disk-1", BLOCK);
    await kubelet.stage(STAGING);
    const fault = scene.driver.misbehave({ call: "NodeUnstageVolume", volume: "disk-1", effect: { kind: "pretend" } });

    const pretended = await kubelet.unstage(STAGING);
    const leaked = scene.mounted();
    fault.release();
    await kubelet.unstage(STAGING);

    expect(pretended).toMatchObject({ code: "OK" });
    expect(leaked).toEqual([`${STAGING}/volume-disk-1`]);
    expect(scene.mounted()).toEqual([]);
  });
});
