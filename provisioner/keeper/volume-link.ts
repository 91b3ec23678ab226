import { join } from "node:path";
import type { NodeActions } from "./node-actions.ts";
import type { NodeFiles } from "./node-files.ts";
import { systemCode } from "./system-error.ts";

/** The links by which the kubelet finds the devices of volumes. */
export interface VolumeLinks {
  /** Points the volume's link to this device. The kubelet sees the old link or the new one, never none. */
  readonly point: (volume: string, device: string) => Promise<void>;
  /** Whether the link points to this device. */
  readonly leadsTo: (volume: string, device: string) => Promise<boolean>;
  /** Without a link no new use of the volume can begin. */
  readonly remove: (volume: string) => Promise<void>;
}

interface LinkParts {
  readonly files: NodeFiles;
  readonly actions: NodeActions;
}

export function createVolumeLinks({ files, actions }: LinkParts, folder: string): VolumeLinks {
  const leadsTo = async (volume: string, device: string): Promise<boolean> =>
    (await targetOf(files, join(folder, volume))) === device;
  return {
    leadsTo,
    point: async (volume, device) => {
      if (await leadsTo(volume, device)) return;
      await actions.makeFolder(folder);
      const fresh = join(folder, `.${volume}.new`);
      await actions.unlink(fresh);
      await actions.symlink(device, fresh);
      await actions.rename(fresh, join(folder, volume));
    },
    remove: async (volume) => {
      await actions.unlink(join(folder, `.${volume}.new`));
      await actions.unlink(join(folder, volume));
    },
  };
}

/** Undefined where there is no link, or another kind of file: that is replaced. */
async function targetOf(files: NodeFiles, link: string): Promise<string | undefined> {
  try {
    return await files.linkTarget(link);
  } catch (error) {
    if (["ENOENT", "EINVAL"].includes(systemCode(error) ?? "")) return undefined;
    throw error;
  }
}
