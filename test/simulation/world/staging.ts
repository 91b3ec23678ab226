import { type KubeletVolume, stagingMount, type VolumeKind } from "./kubelet-paths.ts";
import type { SimNode } from "./sim-node.ts";

const CSI: readonly VolumeKind[] = ["csi", "csi-plain", "csi-block"];

/**
 * Since when, by true time, a node has had the volume's device staged; undefined without a staging mount. Volumes with one handle share one
 * device, whichever of them was staged.
 */
export function stagedSince({ root, power, table }: SimNode, volume: KubeletVolume): number | undefined {
  if (!power.isOn) return undefined;
  const shared = CSI.includes(volume.kind) ? [stagingMount(root, { ...volume, kind: "csi" })] : [];
  const points = [stagingMount(root, volume), ...shared].filter((point) => point !== undefined);
  return points.map((point) => table.mountedSince(point)).find((sinceMs) => sinceMs !== undefined);
}
