import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { csiSocket, registrationSocket } from "../../csi/driver.ts";
import type { FaultOrder } from "../../csi/faults.ts";
import { type RecordLine, readRecord } from "../../csi/record.ts";
import { IDENTITY } from "../../csi/services.ts";
import { createSocketClient } from "./csi-client.ts";
import { type CsiScene, DRIVER, kubeletOf, openCsiScene, STAGING, TARGET } from "./csi-scene.ts";

const OTHER = "pods/u2/volumes/kubernetes.io~csi/pv-1/mount";

/** `umount vol-1 pods/…/mount`, with an error behind it where there was one. */
function summaryOf({ at, driver }: CsiScene): readonly string[] {
  return driver
    .operations()
    .map(({ operation, volume, target, error }) =>
      [operation, volume, target.slice(at("/").length), ...(error === undefined ? [] : [error])].join(" "),
    );
}

function isMet({ kind }: RecordLine): boolean {
  return kind === "fault-met";
}

describe("the driver's own description", () => {
  it("is its name, its node and that volumes are to be staged", async () => {
    const { namespace, owner, node } = await openCsiScene();
    const socket = csiSocket({ kubeletRoot: namespace.kubeletRoot, driver: DRIVER });
    const identity = createSocketClient(socket, IDENTITY);
    owner.defer(() => identity.close());

    const said = [
      await identity.call("GetPluginInfo"),
      await identity.call("GetPluginCapabilities"),
      await identity.call("Probe"),
      await node.call("NodeGetInfo"),
      await node.call("NodeGetCapabilities"),
    ];

    expect(said).toMatchObject([
      { code: "OK", answer: { name: DRIVER, vendor_version: "1", manifest: {} } },
      { code: "OK", answer: { capabilities: [] } },
      { code: "OK", answer: { ready: { value: true } } },
      { code: "OK", answer: { node_id: "node-1" } },
      { code: "OK", answer: { capabilities: [{ rpc: { type: "STAGE_UNSTAGE_VOLUME" } }] } },
    ]);
  });

  it("offers no staging when it was started without", async () => {
    const { node } = await openCsiScene({ hasStaging: false });

    expect(await node.call("NodeGetCapabilities")).toMatchObject({ code: "OK", answer: { capabilities: [] } });
  });

  it("registers with the kubelet's plugin watcher and records the answer", async () => {
    const { registration, driver, namespace } = await openCsiScene();
    const endpoint = csiSocket({ kubeletRoot: namespace.kubeletRoot, driver: DRIVER });

    const info = await registration.call("GetInfo");
    await registration.call("NotifyRegistrationStatus", { plugin_registered: false, error: "no such version" });
    await registration.call("NotifyRegistrationStatus", { plugin_registered: true });
    await driver.registered();

    expect(info.answer).toEqual({ type: "CSIPlugin", name: DRIVER, endpoint, supported_versions: ["1.0.0"] });
    expect(driver.record().filter(({ kind }) => kind === "registration")).toMatchObject([
      { registered: false, error: "no such version" },
      { registered: true, error: "" },
    ]);
  });

  it("answers calls that it does not offer as unimplemented", async () => {
    const { node } = await openCsiScene();

    expect(await node.call("NodeGetVolumeStats", { volume_id: "vol-1" })).toMatchObject({ code: "UNIMPLEMENTED" });
  });
});

describe("a filesystem volume", () => {
  it("is staged, published to two pods, and given back, with a record of each mount and umount", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);

    await kubelet.stage();
    await kubelet.publish(TARGET);
    await kubelet.publish(OTHER);
    writeFileSync(scene.seen(scene.at(`${TARGET}/file`)), "written by one pod");
    const read = readFileSync(scene.seen(scene.at(`${OTHER}/file`)), "utf8");
    const whileUsed = scene.mounted();
    const answers = [await kubelet.unpublish(OTHER), await kubelet.unpublish(TARGET), await kubelet.unstage()];

    expect(read).toBe("written by one pod");
    expect(whileUsed).toEqual([STAGING, TARGET, OTHER]);
    expect(answers.map(({ code }) => code)).toEqual(["OK", "OK", "OK"]);
    expect(scene.mounted()).toEqual([]);
    expect(existsSync(scene.seen(scene.at(TARGET)))).toBe(false);
    expect(summaryOf(scene)).toEqual([
      `mount vol-1 ${STAGING}`,
      `mount vol-1 ${TARGET}`,
      `mount vol-1 ${OTHER}`,
      `umount vol-1 ${OTHER}`,
      `umount vol-1 ${TARGET}`,
      `umount vol-1 ${STAGING}`,
    ]);
    for (const { began, ended } of scene.driver.operations()) {
      expect(ended?.monotonicMs).toBeGreaterThan(began.monotonicMs);
      expect(ended?.wallMs).toBeGreaterThanOrEqual(began.wallMs);
    }
  });

  it("is not made again where the storage has deleted it", async () => {
    const scene = await openCsiScene();

    const staged = await kubeletOf(scene).stage(STAGING, { provisioned: "true" });

    expect(staged).toMatchObject({ code: "NOT_FOUND" });
    expect(scene.mounted()).toEqual([]);
  });

  it("has its content again when it is staged again", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.publish();
    writeFileSync(scene.seen(scene.at(`${TARGET}/file`)), "kept");

    await kubelet.unpublish();
    await kubelet.unstage();
    await kubelet.stage();
    await kubelet.publish();

    expect(readFileSync(scene.seen(scene.at(`${TARGET}/file`)), "utf8")).toBe("kept");
  });

  it("does nothing a second time: calls are repeated, and each mount is made once and undone once", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    const twice = async <T>(ask: () => Promise<T>): Promise<readonly T[]> => [await ask(), await ask()];

    const answers = [
      ...(await twice(() => kubelet.stage())),
      ...(await twice(() => kubelet.publish())),
      ...(await twice(() => kubelet.unpublish())),
      ...(await twice(() => kubelet.unstage())),
    ];

    expect(answers.map(({ code }) => code)).toEqual(Array(8).fill("OK"));
    expect(summaryOf(scene)).toEqual([
      `mount vol-1 ${STAGING}`,
      `mount vol-1 ${TARGET}`,
      `umount vol-1 ${TARGET}`,
      `umount vol-1 ${STAGING}`,
    ]);
  });

  it("is unpublished and unstaged with success where nothing ever was", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene, "never seen");

    expect(await kubelet.unpublish()).toMatchObject({ code: "OK" });
    expect(await kubelet.unstage()).toMatchObject({ code: "OK" });
    expect(summaryOf(scene)).toEqual([]);
  });

  it("is not published before it is staged", async () => {
    const scene = await openCsiScene();

    const answer = await kubeletOf(scene).publish();

    expect(answer).toMatchObject({ code: "FAILED_PRECONDITION" });
    expect(scene.mounted()).toEqual([]);
  });

  it("is published read-only when that is asked", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();

    await kubelet.publish(TARGET, { readonly: true });

    expect(() => writeFileSync(scene.seen(scene.at(`${TARGET}/file`)), "")).toThrow("EROFS");
  });

  it("has a filesystem of its own when its attributes say so", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);

    await kubelet.stage(STAGING, { backing: "tmpfs" });
    await kubelet.publish();

    const mountInfo = readFileSync(scene.namespace.mountInfo, "utf8").split("\n");
    const types = mountInfo.filter((line) => line.includes("/pv-1/mount")).map((line) => line.split(" - ")[1]);
    expect(types).toEqual([expect.stringMatching(/^tmpfs /)]);
    expect(await kubelet.unpublish()).toMatchObject({ code: "OK" });
    expect(await kubelet.unstage()).toMatchObject({ code: "OK" });
    expect(scene.mounted()).toEqual([]);
  });

  it("is mounted where it is published when there is no staging", async () => {
    const scene = await openCsiScene({ hasStaging: false });
    const kubelet = kubeletOf(scene);

    await kubelet.publish(TARGET);
    const published = scene.mounted();
    await kubelet.unpublish();

    expect(published).toEqual([TARGET]);
    expect(summaryOf(scene)).toEqual([`mount vol-1 ${TARGET}`, `umount vol-1 ${TARGET}`]);
  });

  it("may have any characters in its handle", async () => {
    const scene = await openCsiScene();
    const handle = "../../etc/passwd\nü%";
    const kubelet = kubeletOf(scene, handle);

    const answers = [
      await kubelet.stage(),
      await kubelet.publish(),
      await kubelet.unpublish(),
      await kubelet.unstage(),
    ];

    expect(answers.map(({ code }) => code)).toEqual(["OK", "OK", "OK", "OK"]);
    expect(scene.driver.operations().map(({ volume }) => volume)).toEqual(Array(4).fill(handle));
  });

  it("is refused without a handle, with a relative path, and when it is neither mount nor block", async () => {
    const { node, driver } = await openCsiScene();
    const place = { volume_id: "v", staging_target_path: "/x" };

    const answers = [
      await node.call("NodeUnpublishVolume", { target_path: "/x" }),
      await node.call("NodeUnpublishVolume", { volume_id: "v", target_path: "x" }),
      await node.call("NodeStageVolume", { ...place, volume_capability: {} }),
      await node.call("NodeStageVolume", place),
    ];

    expect(answers).toMatchObject([
      { code: "INVALID_ARGUMENT", details: expect.stringContaining("volume_id is missing") },
      { code: "INVALID_ARGUMENT", details: expect.stringContaining("target_path is no absolute path") },
      { code: "INVALID_ARGUMENT", details: expect.stringContaining("volume_capability") },
      { code: "INVALID_ARGUMENT", details: expect.stringContaining("volume_capability") },
    ]);
    const ends = driver.record().filter(({ kind }) => kind === "call-ended");
    expect(ends.map((line) => "code" in line && line.code)).toEqual(Array(4).fill("INVALID_ARGUMENT"));
  });

  it("records the error of a failed umount, and unmounts at the next attempt", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.publish();
    await scene.namespace.run(`cd '${scene.at(TARGET)}'`);

    const busy = await kubelet.unpublish();
    await scene.namespace.run("cd /");
    const free = await kubelet.unpublish();

    expect(busy).toMatchObject({ code: "INTERNAL", details: expect.stringContaining("target is busy") });
    expect(free).toMatchObject({ code: "OK" });
    expect(scene.driver.operations().map(({ operation, error }) => [operation, error !== undefined])).toEqual([
      ["mount", false],
      ["mount", false],
      ["umount", true],
      ["umount", false],
    ]);
  });
});

describe("a driver with faults", () => {
  const unpublish = { call: "NodeUnpublishVolume", volume: "vol-1" } as const;

  it("hangs until it is released, for the volume that was named and no other", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.publish();
    const fault = scene.driver.misbehave({ ...unpublish, effect: { kind: "hang" } });

    const answer = kubelet.unpublish();
    await scene.driver.until("the hang", isMet);
    const other = await kubeletOf(scene, "vol-2").unpublish(OTHER);
    const whileHanging = scene.mounted();
    fault.release();
    const late = await answer;

    expect(other).toMatchObject({ code: "OK" });
    expect(whileHanging).toEqual([STAGING, TARGET]);
    expect(late).toMatchObject({ code: "OK" });
    expect(scene.mounted()).toEqual([STAGING]);
    const told = scene.driver.record().flatMap((line) => (line.kind === "faults" ? [line.faults] : []));
    expect(told).toMatchObject([[{ id: fault.id, call: "NodeUnpublishVolume", effect: { kind: "hang" } }], []]);
    expect(scene.driver.record().find(({ kind }) => kind === "hang-ended")).toMatchObject({ because: "released" });
  });

  it("hangs for the time that was named, and only then begins to unmount", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.publish();
    scene.driver.misbehave({ ...unpublish, effect: { kind: "hang", forMs: 300 } });

    await kubelet.unpublish();

    const lines = scene.driver.record();
    const began = lines.find((line) => line.kind === "call-began" && line.call === "NodeUnpublishVolume");
    const unmounted = scene.driver.operations().at(-1);
    expect(unmounted?.operation).toBe("umount");
    expect((unmounted?.began.monotonicMs ?? 0) - (began?.at.monotonicMs ?? 0)).toBeGreaterThanOrEqual(300);
  });

  it("does nothing in a call whose caller gave up", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.publish();
    const fault = scene.driver.misbehave({ ...unpublish, effect: { kind: "hang" } });

    const given = await kubelet.unpublish(TARGET, 300);
    await scene.driver.until("the end", (line) => line.kind === "hang-ended" && line.because === "given-up");
    const still = scene.mounted();
    fault.release();
    const again = await kubelet.unpublish();

    expect(given).toMatchObject({ code: "CANCELLED" });
    expect(still).toEqual([STAGING, TARGET]);
    expect(again).toMatchObject({ code: "OK" });
  });

  it("turns a second call for a place away while the first hangs there", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    const fault = scene.driver.misbehave({ call: "NodePublishVolume", effect: { kind: "hang" } });
    const first = kubelet.publish();
    await scene.driver.until("the hang", isMet);

    const second = await kubelet.publish();
    fault.release();

    expect(second).toMatchObject({ code: "ABORTED" });
    expect(await first).toMatchObject({ code: "OK" });
  });

  it.each<{ name: string; order: Pick<FaultOrder, "when" | "effect">; code: string; mounted: string[]; again: string }>(
    [
      {
        name: "fails before it has done anything",
        order: { effect: { kind: "fail", code: "UNAVAILABLE" } },
        code: "UNAVAILABLE",
        mounted: [STAGING, TARGET],
        again: "OK",
      },
      {
        name: "fails although it has unmounted",
        order: { when: "after", effect: { kind: "fail", code: "INTERNAL" } },
        code: "INTERNAL",
        mounted: [STAGING],
        again: "OK",
      },
      {
        name: "reports an unmount that it did not make",
        order: { effect: { kind: "pretend" } },
        code: "OK",
        mounted: [STAGING, TARGET],
        again: "OK",
      },
    ],
  )("$name", async ({ order, code, mounted, again }) => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.publish();
    const fault = scene.driver.misbehave({ ...unpublish, ...order });

    const answer = await kubelet.unpublish();
    const left = scene.mounted();
    fault.release();
    const next = await kubelet.unpublish();

    expect(answer.code).toBe(code);
    expect(left).toEqual(mounted);
    expect(next.code).toBe(again);
    expect(scene.mounted()).toEqual([STAGING]);
  });

  it("leaves the staging mount behind", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    const fault = scene.driver.misbehave({ call: "NodeUnstageVolume", volume: "vol-1", effect: { kind: "pretend" } });

    const pretended = await kubelet.unstage();
    const leaked = scene.mounted();
    fault.release();
    await kubelet.unstage();

    expect(pretended).toMatchObject({ code: "OK" });
    expect(leaked).toEqual([STAGING]);
    expect(scene.mounted()).toEqual([]);
  });
});

describe("a driver that is killed", () => {
  it("continues after a restart with its mounts, its faults and the whole record", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.publish();
    const fault = scene.driver.misbehave({ call: "NodeUnstageVolume", effect: { kind: "fail", code: "UNAVAILABLE" } });

    await scene.driver.child.kill();
    const dead = await kubelet.unpublish();
    const left = scene.mounted();
    await scene.driver.start();
    const answers = [await answered(() => kubelet.unpublish()), await kubelet.unstage()];
    fault.release();
    answers.push(await kubelet.unstage());

    expect(dead.code).toBe("UNAVAILABLE");
    expect(left).toEqual([STAGING, TARGET]);
    expect(answers.map(({ code }) => code)).toEqual(["OK", "UNAVAILABLE", "OK"]);
    expect(scene.mounted()).toEqual([]);
    expect(summaryOf(scene)).toEqual([
      `mount vol-1 ${STAGING}`,
      `mount vol-1 ${TARGET}`,
      `umount vol-1 ${TARGET}`,
      `umount vol-1 ${STAGING}`,
    ]);
    expect(scene.driver.record().filter(({ kind }) => kind === "driver-started")).toHaveLength(2);
  });

  it("leaves a call without an end in the record when it is killed in the middle", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    scene.driver.misbehave({ call: "NodePublishVolume", effect: { kind: "hang" } });
    const cut = kubelet.publish();
    await scene.driver.until("the hang", isMet);

    await scene.driver.child.kill();

    expect((await cut).code).toBe("UNAVAILABLE");
    const calls = scene.driver.record().filter((line) => "call" in line && line.call === "NodePublishVolume");
    expect(calls.map(({ kind }) => kind)).toEqual(["call-began"]);
  });

  it("ends in order when it is asked to, and takes its sockets along", async () => {
    const scene = await openCsiScene();
    const place = { kubeletRoot: scene.namespace.kubeletRoot, driver: DRIVER };
    const sockets = [csiSocket(place), registrationSocket(place)];
    const before = sockets.map((socket) => existsSync(socket));

    await scene.driver.child.stop();

    expect(before).toEqual([true, true]);
    expect(sockets.map((socket) => existsSync(socket))).toEqual([false, false]);
    expect(scene.driver.record().at(-1)).toMatchObject({ kind: "driver-stopped" });
  });

  it("removes its files and its mounts' content with the run", async () => {
    const scene = await openCsiScene();
    const kubelet = kubeletOf(scene);
    await kubelet.stage();
    await kubelet.unstage();

    await scene.end();

    expect(existsSync(scene.owner.folder)).toBe(false);
    expect(readRecord(`${scene.owner.folder}/csi/${DRIVER}/node-1.jsonl`)).toEqual([]);
  });
});

/** A client's connection is made anew a moment after the server is back; until then it says that there is none. */
async function answered(ask: () => Promise<{ readonly code: string }>): Promise<{ readonly code: string }> {
  for (;;) {
    const answer = await ask();
    if (answer.code !== "UNAVAILABLE") return answer;
  }
}
