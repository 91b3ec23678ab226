import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { type MountNamespace, openMountNamespace } from "../../../integration/mount-namespace.ts";
import { type MountOracle, startMountOracle } from "../../oracle/harness.ts";
import { detachmentsAt } from "../../oracle/record.ts";
import { type Owner, openOwner } from "../../process/owner.ts";

const LOCAL = "pods/u1/volumes/kubernetes.io~local-volume/pv-1";
const SUBPATH = "pods/u1/volume-subpaths/pv-1/main/0";

interface Scene {
  readonly owner: Owner;
  readonly namespace: MountNamespace;
  readonly oracle: MountOracle;
  readonly at: (place: string) => string;
  /** Kind and place of what was recorded below the kubelet's root. */
  readonly story: () => readonly string[];
}

/** A namespace with a mount that was there before anybody watched. */
async function openScene(): Promise<Scene> {
  const namespace = await openMountNamespace();
  const owner = await openOwner();
  onTestFinished(() => owner.close());
  await namespace.mount("before");
  const oracle = await startMountOracle(owner, { name: "node-1", pid: namespace.pid });
  const at = (place: string): string => `${namespace.kubeletRoot}/${place}`;
  return {
    owner,
    namespace,
    oracle,
    at,
    story: () =>
      oracle.lines().flatMap((line) => {
        if (!("mountPoint" in line) || !line.mountPoint.startsWith(at(""))) return [];
        return [`${line.kind} ${line.mountPoint.slice(at("").length)}`];
      }),
  };
}

describe("the mount oracle", () => {
  it("records each mount and unmount with its path, also of earlier mounts", async () => {
    const { namespace, oracle, at, story } = await openScene();

    await namespace.mount(LOCAL);
    await namespace.run(`mkdir -p '${at(SUBPATH)}' && mount --bind '${at(LOCAL)}' '${at(SUBPATH)}'`);
    await oracle.until("the mounts", () => story().includes(`attached ${SUBPATH}`));
    await namespace.unmount(SUBPATH);
    await namespace.unmount(LOCAL);
    await namespace.unmount("before");
    await oracle.until("the last", (line) => line.kind === "detached" && line.mountPoint === at("before"));

    expect(story()).toEqual([
      "present before",
      `attached ${LOCAL}`,
      `attached ${SUBPATH}`,
      `detached ${SUBPATH}`,
      `detached ${LOCAL}`,
      "detached before",
    ]);
    expect(oracle.lines().find((line) => "mountPoint" in line && line.mountPoint === at(LOCAL))).toMatchObject({
      fsType: "tmpfs",
      root: "/",
    });
  });

  it("spans each unmount: it began before the command ended, and ended after the command began", async () => {
    const { owner, namespace, oracle, at, story } = await openScene();
    const attachedAt = (place: string): number => story().filter((line) => line === `attached ${place}`).length;
    const commands: { readonly beganMs: number; readonly endedMs: number }[] = [];
    for (const round of Array(20).keys()) {
      await namespace.mount(LOCAL);
      await oracle.until("the mount", () => attachedAt(LOCAL) === round + 1);
      const beganMs = owner.clock.monotonicMs();
      await namespace.unmount(LOCAL);
      commands.push({ beganMs, endedMs: owner.clock.monotonicMs() });
    }
    await oracle.until("all", () => detachmentsAt(oracle.lines(), at(LOCAL)).length === 20);

    const spans = detachmentsAt(oracle.lines(), at(LOCAL));

    expect(spans).toHaveLength(20);
    for (const [index, { after, by }] of spans.entries()) {
      const { beganMs, endedMs } = commands[index] ?? { beganMs: Number.NaN, endedMs: Number.NaN };
      expect(after.monotonicMs).toBeLessThanOrEqual(endedMs);
      expect(by.monotonicMs).toBeGreaterThanOrEqual(beganMs);
      expect(by.monotonicMs).toBeGreaterThanOrEqual(after.monotonicMs);
    }
  });

  it("sees an immediate unmount and mount at one path, where two reads of the table would show no change", async () => {
    const { namespace, oracle, at, story } = await openScene();
    await namespace.mount(LOCAL);
    await oracle.until("the mount", () => story().includes(`attached ${LOCAL}`));

    await namespace.run(`umount '${at(LOCAL)}' && mount -t tmpfs -o size=64k tmpfs '${at(LOCAL)}'`);
    await oracle.until("both", () => story().filter((line) => line === `attached ${LOCAL}`).length === 2);

    expect(story().slice(1)).toEqual([`attached ${LOCAL}`, `detached ${LOCAL}`, `attached ${LOCAL}`]);
  });

  it("misses no mount in a storm of them, however short they are", async () => {
    const { namespace, oracle, at, story } = await openScene();
    await namespace.run(`mkdir -p '${at("storm")}'`);

    await namespace.run(
      `i=0; while [ $i -lt 200 ]; do mount -t tmpfs none '${at("storm")}' && umount '${at("storm")}' || exit 1; i=$((i+1)); done`,
    );
    const counted = (): number => {
      const missed = oracle.lines().filter(({ kind }) => kind === "missed").length;
      return missed + story().filter((line) => line === "detached storm").length;
    };
    await oracle.until("all", () => counted() >= 200);

    expect(counted()).toBe(200);
  });

  it("follows a mount that is moved to another place", async () => {
    const { namespace, oracle, at, story } = await openScene();
    await namespace.mount(LOCAL);
    await oracle.until("the mount", () => story().includes(`attached ${LOCAL}`));

    await namespace.run(`mkdir -p '${at("there")}' && mount --move '${at(LOCAL)}' '${at("there")}'`);
    await oracle.until("the move", () => story().includes("attached there"));

    expect(story().slice(1)).toEqual([`attached ${LOCAL}`, `detached ${LOCAL}`, "attached there"]);
  });

  it("sees nothing of other namespaces, and reports the end of its own, which it does not delay", async () => {
    const { namespace, oracle, story, at } = await openScene();
    const other = await openMountNamespace();
    await other.mount(LOCAL);

    await namespace.run("exec >/dev/null; kill -9 $$").catch(() => {});
    await oracle.until("the end", ({ kind }) => kind === "gone");

    expect(await oracle.child.exited).toEqual({ code: 0, signal: null });
    expect(story()).toEqual(["present before", "detached before"]);
    expect(readFileSync(other.mountInfo, "utf8")).toContain(LOCAL);
    expect(oracle.lines().some((line) => "mountPoint" in line && line.mountPoint === at(LOCAL))).toBe(false);
  });

  it("ends when it is asked to, within its breath", async () => {
    const { oracle } = await openScene();

    await oracle.child.stop();

    expect(oracle.lines().at(-1)).toMatchObject({ kind: "stopped" });
  });
});
