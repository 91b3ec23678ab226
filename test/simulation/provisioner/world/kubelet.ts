import type { SimApi } from "../../engine/api/api.ts";
import { textAt } from "../../engine/api/json.ts";
import type { ApiObject } from "../../engine/api/objects.ts";
import type { Scheduler } from "../../engine/scheduler.ts";
import type { Dice } from "../../world/dice.ts";
import type { Inode } from "../node/disk.ts";
import type { Mount, NodeKernel } from "../node/kernel.ts";
import { claimNameOf, claimRef, isFor, NAMESPACE, setStatus, volumeRef } from "./controllers.ts";
import type { Judge } from "./judge.ts";
import { LINKS, type ProvisionerNode } from "./node.ts";

interface KubeletParts {
  readonly api: SimApi;
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly judge: Judge;
  readonly node: ProvisionerNode;
  readonly bytesOf: (quantity: string) => number;
}

/** A pod whose volume is mounted, or being mounted. */
interface Running {
  readonly kernel: NodeKernel;
  readonly volume: string;
  readonly claim: string;
  mounts: Mount[];
  undo: (() => void)[];
  isEnding: boolean;
}

/** The kubelet's part of `local` volumes: it finds the device, formats a blank one, mounts it, and undoes that after the pod's end. */
export class LocalKubelet {
  /** It does nothing until then, in true time. */
  hangsUntilMs = 0;
  /** Another mount namespace gets a copy of each mount, and keeps it for a while. */
  copiesMounts = false;
  /** Pods that should end. */
  readonly ending = new Set<string>();
  readonly #parts: KubeletParts;
  readonly #pods = new Map<string, Running>();
  #due = false;

  constructor(parts: KubeletParts) {
    this.#parts = parts;
  }

  /** Syncs its pods soon. */
  syncSoon(ms = 100): void {
    if (this.#due) return;
    this.#due = true;
    const { scheduler, dice } = this.#parts;
    scheduler.after(Math.max(dice.between(1, ms), this.hangsUntilMs - scheduler.nowMs()), () => {
      this.#due = false;
      if (scheduler.nowMs() < this.hangsUntilMs) this.syncSoon();
      else this.#sync();
    });
  }

  #sync(): void {
    const { api, node } = this.#parts;
    if (!node.machine.isUp()) return;
    const pods = api.list("pods").filter((pod) => textAt(pod, "spec", "nodeName") === node.name);
    const isThere = (uid: string): boolean => pods.some(({ metadata }) => metadata.uid === uid);
    for (const [uid, running] of this.#pods) {
      if (running.kernel !== node.kernel) this.#pods.delete(uid);
      else if (this.ending.has(uid) || !isThere(uid)) this.#end(uid, running);
    }
    for (const pod of pods.filter(({ metadata }) => !this.#pods.has(metadata.uid))) {
      if (this.ending.has(pod.metadata.uid)) this.#forget(pod);
      else this.#begin(pod);
    }
    for (const { claim } of [...this.#pods.values()].filter(({ isEnding }) => !isEnding)) this.#grow(claim);
  }

  #forget({ metadata }: ApiObject): void {
    this.#parts.api.delete({ resource: "pods", namespace: NAMESPACE, name: metadata.name });
  }

  #begin(pod: ApiObject): void {
    const { api, node } = this.#parts;
    const claim = api.get(claimRef(claimNameOf(pod)));
    const volume = api.get(volumeRef(textAt(claim, "spec", "volumeName")));
    if (claim === undefined || volume === undefined || textAt(claim, "status", "phase") !== "Bound") return;
    if (!isFor(volume, node.name) || textAt(volume, "spec", "claimRef", "uid") !== claim.metadata.uid) return;
    const running: Running = {
      kernel: node.kernel,
      volume: volume.metadata.name,
      claim: claim.metadata.name,
      mounts: [],
      undo: [],
      isEnding: false,
    };
    const { uid } = pod.metadata;
    this.#pods.set(uid, running);
    const isBlock = textAt(volume, "spec", "volumeMode") === "Block";
    const capacityBytes = this.#parts.bytesOf(textAt(volume, "spec", "capacity", "storage"));
    const steps = isBlock ? this.#blockSteps(uid, running) : this.#mountSteps(uid, { running, capacityBytes });
    this.#next(uid, { running, steps });
  }

  /** Runs one step after the other. A failed step ends the attempt, and the next attempt starts over. */
  #next(uid: string, { running, steps }: { readonly running: Running; readonly steps: readonly (() => void)[] }): void {
    const { scheduler, dice, node, judge } = this.#parts;
    const [step, ...rest] = steps;
    if (step === undefined) return;
    const wait = Math.max(
      dice.chance(0.1) ? dice.between(1, 4_000) : dice.between(0, 30),
      this.hangsUntilMs - scheduler.nowMs(),
    );
    scheduler.after(wait, () => {
      if (!node.machine.isUp() || running.kernel !== node.kernel || running.isEnding) return;
      try {
        step();
        this.#next(uid, { running, steps: rest });
      } catch {
        judge.count("failed mounts");
        this.#undo(running);
        this.#pods.delete(uid);
        this.syncSoon(3_000);
      }
    });
  }

  /** Each step follows the link again, as blkid, mkfs and mount do. */
  #mountSteps(
    uid: string,
    { running, capacityBytes }: { readonly running: Running; readonly capacityBytes: number },
  ): readonly (() => void)[] {
    const { judge } = this.#parts;
    const { kernel, volume } = running;
    let isBlank = false;
    const point = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~local-volume/${volume}`;
    return [
      () => {
        isBlank = this.#device(running).inode.now.writtenFor === undefined;
      },
      () => {
        const { number, inode } = this.#device(running);
        if (!isBlank) return;
        kernel.close(kernel.openLoop(number, true, "mkfs"));
        judge.onUse(inode, { volume, capacityBytes });
        judge.onWritten(inode, volume);
        judge.count("formatted");
      },
      () => {
        const { number, inode } = this.#device(running);
        const mount = { namespace: "host", point, loop: number, isNode: false };
        kernel.mount(mount);
        running.mounts.push(mount);
        judge.onUse(inode, { volume, capacityBytes });
        judge.onWritten(inode, volume);
        if (this.copiesMounts) this.#copy(kernel, mount);
      },
    ];
  }

  #copy(kernel: NodeKernel, mount: Mount): void {
    const { scheduler, dice, judge } = this.#parts;
    const copy = { ...mount, namespace: "private" };
    kernel.mount(copy);
    judge.count("private copies");
    scheduler.after(dice.between(1_000, 90_000), () => kernel.unmount(copy));
  }

  /** Binds the device node; a loop device on top keeps it open, and the pod opens it. */
  #blockSteps(uid: string, running: Running): readonly (() => void)[] {
    const { judge } = this.#parts;
    const { kernel, volume } = running;
    return [
      () => {
        const { number } = this.#device(running);
        const point = `/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/${volume}/${uid}`;
        const mount = { namespace: "host", point, loop: number, isNode: true };
        kernel.mount(mount);
        running.mounts.push(mount);
      },
      () => {
        const { number } = this.#device(running);
        const top = kernel.freeLoop();
        kernel.configure(top, { kind: "other", path: `/dev/loop${number}` });
        running.undo.push(() => {
          kernel.clear(top);
          kernel.close(kernel.openLoop(top, false, "losetup"));
        });
      },
      () => {
        const { number, inode } = this.#device(running);
        const descriptor = kernel.openLoop(number, false, `pod-${uid}`);
        running.undo.push(() => kernel.close(descriptor));
        judge.onUse(inode, { volume, capacityBytes: 0 });
        judge.onWritten(inode, volume);
        judge.count("block uses");
      },
    ];
  }

  #device({ kernel, volume }: Running): { readonly number: number; readonly inode: Inode } {
    const number = kernel.deviceAt(`${LINKS}/${volume}`);
    const backing = number === undefined ? undefined : kernel.loop(number).backing;
    if (number === undefined || backing?.kind !== "image") throw new Error("the device is not there");
    this.#parts.judge.onDevice(kernel, { number, inode: backing.inode, volume });
    return { number, inode: backing.inode };
  }

  #end(uid: string, running: Running): void {
    if (running.isEnding) return;
    running.isEnding = true;
    const { scheduler, dice, node } = this.#parts;
    const wait = dice.chance(0.2) ? dice.between(1_000, 40_000) : dice.between(10, 2_000);
    scheduler.after(Math.max(wait, this.hangsUntilMs - scheduler.nowMs()), () => {
      if (running.kernel === node.kernel && node.machine.isUp()) this.#undo(running);
      this.#pods.delete(uid);
      this.syncSoon();
    });
  }

  #undo(running: Running): void {
    for (const undo of running.undo.reverse()) undo();
    for (const mount of running.mounts) running.kernel.unmount(mount);
    running.undo = [];
    running.mounts = [];
  }

  /** Grows the filesystem of a claim with a pending resize. */
  #grow(name: string): void {
    const { api } = this.#parts;
    const claim = api.get(claimRef(name));
    if (claim === undefined || textAt(claim, "status", "allocatedResourceStatuses", "storage") !== "NodeResizePending")
      return;
    const volume = api.get(volumeRef(textAt(claim, "spec", "volumeName")));
    setStatus(api, claim, {
      capacity: { storage: textAt(volume, "spec", "capacity", "storage") },
      allocatedResourceStatuses: undefined,
      conditions: undefined,
    });
    this.#parts.judge.count("grown");
  }
}
