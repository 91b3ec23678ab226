import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { linkTarget, type NodeActions } from "./node-actions.ts";
import { systemCode } from "./system-error.ts";

/** The links by which the kubelet finds the devices of volumes. */
export interface VolumeLinks {
  /** Has the volume's link lead to this device. A kubelet sees the former link or the new one, never none. */
  readonly point: (volume: string, device: string) => Promise<void>;
  /** Without a link no further use of the volume begins. */
  readonly remove: (volume: string) => Promise<void>;
}

export function createVolumeLinks(actions: NodeActions, folder: string): VolumeLinks {
  return {
    point: async (volume, device) => {
      const link = join(folder, volume);
      if ((await targetOf(link)) === device) return;
      await mkdir(folder, { recursive: true });
      const fresh = join(folder, `.${volume}.new`);
      await actions.unlink(fresh);
      await actions.symlink(device, fresh);
      await actions.rename(fresh, link);
    },
    remove: async (volume) => {
      await actions.unlink(join(folder, `.${volume}.new`));
      await actions.unlink(join(folder, volume));
    },
  };
}

/** Nothing also where something else lies in the link's place: it is replaced. */
async function targetOf(link: string): Promise<string | undefined> {
  try {
    return await linkTarget(link);
  } catch (error) {
    if (systemCode(error) === "EINVAL") return undefined;
    throw error;
  }
}
