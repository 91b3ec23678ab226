import { claimObject, STORAGE_PATHS, type VolumeTerms, volumeObject } from "../../rig/csi/objects.ts";
import { DRIVERS, type DriverName, type NodeName, type Stage } from "./stage.ts";

/** What a claim's volume is. */
export type VolumeKind =
  | { readonly kind: "csi"; readonly driver: DriverName; readonly accessModes?: VolumeTerms["accessModes"] }
  /** A raw device; the attached driver stages it. */
  | { readonly kind: "block" }
  /** A folder of a node, mounted by the kubelet. */
  | { readonly kind: "local"; readonly node: NodeName }
  /** A folder of a node that is never mounted there. */
  | { readonly kind: "host-path"; readonly node: NodeName };

/** Makes a volume and a claim of it, which are bound a moment later; answers the volume's name. */
export async function makeClaim(stage: Stage, claim: string, kind: VolumeKind): Promise<string> {
  const { api } = stage;
  const volume = volumeOf(claim);
  const terms = termsOf(kind);
  await makeFolder(stage, claim, kind);
  await api.create(STORAGE_PATHS.volumes, persistentVolume(claim, kind));
  await api.create(STORAGE_PATHS.claims("default"), claimObject({ name: claim, volume }, terms));
  return volume;
}

/** The volume of a claim that `makeClaim` made. */
export function volumeOf(claim: string): string {
  return `pv-${claim}`;
}

/** Where a folder that is a volume is on its node. */
export function folderOf(claim: string): string {
  return `/var/scenarios/${claim}`;
}

function termsOf(kind: VolumeKind): VolumeTerms {
  if (kind.kind === "block") return { volumeMode: "Block" };
  if (kind.kind === "csi" && kind.accessModes !== undefined) return { accessModes: kind.accessModes };
  return {};
}

function persistentVolume(claim: string, kind: VolumeKind): object {
  const driver = kind.kind === "csi" ? DRIVERS[kind.driver] : DRIVERS.attached;
  const nodes = "node" in kind ? { nodes: [kind.node] } : {};
  const names = { name: volumeOf(claim), driver, claim: { namespace: "default", name: claim } };
  const { spec: { csi, ...spec } = {}, ...volume } = volumeObject({ ...names, ...nodes }, termsOf(kind));
  if (kind.kind === "local") return { ...volume, spec: { ...spec, local: { path: folderOf(claim) } } };
  if (kind.kind === "host-path") return { ...volume, spec: { ...spec, hostPath: { path: folderOf(claim) } } };
  return { ...volume, spec: { ...spec, csi } };
}

async function makeFolder({ node }: Stage, claim: string, kind: VolumeKind): Promise<void> {
  if ("node" in kind) await node(kind.node).run("mkdir", "-p", folderOf(claim));
}
