import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKeeperClient } from "../../provisioner/sinks/keeper-client.ts";
import { CLAIMS, ProvisionerStage } from "../integration/provisioner-stage.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { type KeeperNode, loopsOf, settingOf, startKeeperNode } from "./keeper/keeper-node.ts";

const MiB = 2 ** 20;

let owner: Owner;
let signals: Disposable;
let stage: ProvisionerStage;
let node: KeeperNode;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = new ProvisionerStage(owner, await borrowControlPlane(owner, ["kube-controller-manager", "kube-scheduler"]));
  await stage.prepare(["real"]);
  await stage.createClass("fast", { parameters: { pool: "fast" } });
  node = await startKeeperNode(owner, { filesystem: "ext4" });
  const keeper = createKeeperClient({ clock: owner.clock }, { socket: node.socket, deadlineMs: 60_000 });
  await stage.start("real", keeper);
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Makes a claim and a pod for it, and answers its volume once that is published: the link comes last, after image and device. */
async function publish(name: string, storage = "64Mi"): Promise<string> {
  const { metadata } = await stage.createClaim(name, { storageClassName: "fast", storage });
  const volume = `pvc-${metadata.uid}`;
  await stage.createPod(name);
  await stage.bound(name);
  await stage.until("published", async () => {
    expect(node.linkOf(volume)).toBeDefined();
  });
  return volume;
}

function sizeOf(device: string): number {
  return Number(settingOf(device, "size")) * 512;
}

async function release(name: string): Promise<void> {
  await stage.removePod(name);
  await stage.api.remove(`${CLAIMS}/${name}`);
}

describe("a volume on a real disk", () => {
  it("is a loop device of the requested size at the path that the kubelet uses", async () => {
    const volume = await publish("size");

    const [device = "", ...more] = loopsOf(volume);

    expect(more).toEqual([]);
    expect(sizeOf(device)).toBe(64 * MiB);
    expect(node.linkOf(volume)).toBe(device);
    await release("size");
    await stage.volumeGone(volume);
    expect([node.files().filter((file) => file.startsWith(volume)), loopsOf(volume), node.linkOf(volume)]).toEqual([
      [],
      [],
      undefined,
    ]);
  });

  it("stays while it is mounted, keeps what is in it, and goes after the unmount", async () => {
    const volume = await publish("mounted");
    const link = `/run/mooring/volumes/${volume}`;
    await node.shell(
      `mkfs.ext4 -q ${link} && mkdir -p /run/pod && mount ${link} /run/pod && echo kept > /run/pod/file`,
    );

    await release("mounted");
    await stage.event(volume, "VolumeFailedDelete");

    expect(node.files()).toContain(`${volume}.img`);
    expect(await node.print("cat /run/pod/file")).toContain("kept");
    await node.shell("umount /run/pod");
    await stage.volumeGone(volume);
    expect(node.files().filter((file) => file.startsWith(volume))).toEqual([]);
  });

  it("grows with its claim while it is attached", async () => {
    const volume = await publish("larger");

    await stage.api.patch(`${CLAIMS}/larger`, { spec: { resources: { requests: { storage: "96Mi" } } } });
    await stage.claimThat(
      "larger",
      "told of it",
      ({ status }) => status.allocatedResourceStatuses.storage !== undefined,
    );

    expect(loopsOf(volume).map(sizeOf)).toEqual([96 * MiB]);
    expect((await stage.volume(volume))?.spec.capacity).toEqual({ storage: "96Mi" });
    await release("larger");
    await stage.volumeGone(volume);
  });

  it("is made by a keeper that was killed and started again", async () => {
    await node.restart();

    const volume = await publish("after");

    expect(loopsOf(volume)).toHaveLength(1);
    await release("after");
    await stage.volumeGone(volume);
  });
});
