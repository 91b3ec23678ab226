import type { MountInfoSource } from "../../../../common/mounts/mount-info-file.ts";
import type { Kernel } from "../../../../provisioner/keeper/kernel.ts";
import type { NodeActions } from "../../../../provisioner/keeper/node-actions.ts";
import type { NodeFiles, OpenFile } from "../../../../provisioner/keeper/node-files.ts";
import { formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";
import type { Life } from "../../engine/process.ts";
import type { Scheduler } from "../../engine/scheduler.ts";
import type { Dice } from "../../world/dice.ts";
import type { NodeKernel } from "./kernel.ts";
import type { NodeWitness } from "./readable-node.ts";
import { WritableNode } from "./writable-node.ts";

interface Parts {
  readonly scheduler: Scheduler;
  readonly life: Life;
  readonly kernel: NodeKernel;
  readonly dice: Dice;
  readonly podUid: string;
  readonly witness: NodeWitness;
}

export interface KeeperPorts {
  readonly kernel: Kernel;
  readonly files: NodeFiles;
  readonly actions: NodeActions;
  readonly mountInfo: MountInfoSource;
}

/** The keeper's ports to the node. The keeper may die at each call, and some calls take time. */
export function keeperPorts(parts: Parts): KeeperPorts {
  const { life, kernel, scheduler, dice, podUid } = parts;
  life.onEnd(() => kernel.closeAll(life.name));
  const pass = (ms: number): Promise<void> => new Promise((resolve) => scheduler.after(ms, resolve));
  const call = <T>(site: string, share: number, act: () => T): Promise<T> =>
    life.call(site, async () => {
      if (dice.chance(share)) await pass(dice.chance(0.05) ? dice.between(100, 2_000) : 5 * dice.fraction());
      return act();
    });
  const node = new WritableNode({ ...parts, owner: life.name });
  const read = <T>(act: () => T): Promise<T> => call("read node", 0.03, act);
  const write = <T>(site: string, act: () => T): Promise<T> => call(site, 0.6, act);
  return {
    kernel: {
      ioctl: (fd, request, argument) => read(() => node.ioctl(fd, request, argument)),
      allocate: async () => {},
    },
    files: {
      open: async (path, flags) => {
        const fd = await read(() => node.open(path, flags));
        const close = (): Promise<void> => life.call("close", async () => kernel.close(fd));
        return opened(node, { fd, read, close });
      },
      stat: (path) => read(() => node.stat(path)),
      lstat: (path) => read(() => node.stat(path)),
      statfs: (path) => read(() => node.statfs(path)),
      names: (path) => read(() => node.names(path)),
      readText: (path) => read(() => node.readText(path)),
      linkTarget: (path) => read(() => node.linkTarget(path)),
    },
    actions: actionsOf(node, write),
    mountInfo: {
      read: async () => {
        const beganAt = life.machine.clock.monotonicMs();
        const text = await read(() => tableText(kernel, podUid));
        return { text, beganAt, endedAt: life.machine.clock.monotonicMs() };
      },
    },
  };
}

type Write = <T>(site: string, act: () => T) => Promise<T>;

function actionsOf(node: WritableNode, write: Write): NodeActions {
  return {
    createFile: (path) => write("create file", () => node.create(path)),
    writeFile: (path, text) => write("write file", () => node.writeFile(path, text)),
    allocate: (path, bytes) => write("allocate", () => node.allocate(path, bytes)),
    truncate: (path, bytes) => write("truncate", () => node.truncate(path, bytes)),
    sync: (path) => write("fsync", () => node.sync(path)),
    rename: (from, to) => write("rename", () => node.rename(from, to)),
    unlink: (path) => write("unlink", () => node.unlink(path)),
    symlink: (target, path) => write("symlink", () => node.symlink(target, path)),
    makeFolder: (path) => write("mkdir", () => void path),
    configureLoop: (fd, { descriptor }) => write("configure loop", () => node.configure(fd, descriptor)),
    setLoopStatus: (fd, info) => write("set loop status", () => node.setStatus(fd, info)),
    refreshLoopSize: (fd) => write("refresh loop size", () => node.refreshSize(fd)),
    clearLoop: (fd) => write("clear loop", () => node.clearLoop(fd)),
    writeSetting: (path, text) => write("write setting", () => node.writeSetting(path, text)),
  };
}

function opened(
  node: WritableNode,
  {
    fd,
    read,
    close,
  }: { readonly fd: number; readonly read: <T>(act: () => T) => Promise<T>; readonly close: () => Promise<void> },
): OpenFile {
  const path = `/proc/self/fd/${fd}`;
  return {
    fd,
    close,
    stat: () => read(() => node.stat(path)),
    readText: () => read(() => node.fileOf(fd).now.text),
    [Symbol.asyncDispose]: close,
  };
}

/** The node's mount table, as process 1 sees it. */
function tableText(kernel: NodeKernel, podUid: string): string {
  const pools = [...kernel.pools].filter(([, { isMount }]) => isMount);
  return [
    formatMountLine({ mountPoint: "/", device: "259:1" }),
    formatMountLine({ mountPoint: tokenMountPoint(podUid), device: "0:50", fsType: "tmpfs" }),
    ...pools.map(([name, { disk }]) => formatMountLine({ mountPoint: `/pools/${name}`, device: disk.number })),
    ...[...kernel.mounts]
      .filter(({ namespace }) => namespace === "host")
      .map(({ point, loop, isNode }) =>
        isNode
          ? formatMountLine({ mountPoint: point, device: "0:6", root: `/loop${loop}`, fsType: "devtmpfs" })
          : formatMountLine({ mountPoint: point, device: `7:${loop}` }),
      ),
  ].join("");
}
