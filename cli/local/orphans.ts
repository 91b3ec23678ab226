import { orphansOn } from "./pools.ts";
import type { LocalState, LocalVolume, PoolReport } from "./state.ts";

/** An image or a volume whose counterpart (volume, data or node) is missing. */
export type OrphanKind = "image without volume" | "volume without data" | "node gone";

export interface OrphanView {
  readonly kind: OrphanKind;
  readonly node: string;
  readonly volume: string;
  readonly pool: string;
  readonly bytes: number;
  /** Set for a volume, undefined for an image. */
  readonly claim: string | undefined;
  readonly why: string;
}

/** Images without a volume, volumes without their data, and volumes of removed nodes; `more` are only counted. */
export interface Orphans {
  readonly items: readonly OrphanView[];
  readonly more: number;
  /** Nodes with volumes or with a provisioner's published state, but without a provisioner that could report the present state. */
  readonly unheard: readonly string[];
}

export function orphansOf(state: LocalState): Orphans {
  const { volumes, reports = [], nodes, pods } = state;
  const isGone = (node: string): boolean => nodes?.has(node) === false;
  const named = [...new Set([...reports, ...volumes].map(({ node }) => node))].toSorted();
  const present = named.filter((node) => !isGone(node));
  const items = [
    ...present.flatMap((node) => orphansOn(state, node).map((image) => imageView(node, image))),
    ...present.flatMap((node) => unavailableOn(state, node)),
    ...volumes.filter(({ node }) => isGone(node)).map(goneView),
  ];
  return {
    items: items.toSorted(byPlace),
    more: present.reduce((sum, node) => sum + (findingsOf(reports, node)?.more ?? 0), 0),
    unheard: pods === undefined ? [] : present.filter((node) => !pods.some((one) => one.node === node && one.isReady)),
  };
}

function byPlace(one: OrphanView, other: OrphanView): number {
  const [left, right] = [one, other].map(({ kind, node, volume }) => `${kind}/${node}/${volume}`);
  return (left ?? "") < (right ?? "") ? -1 : 1;
}

function findingsOf(reports: readonly PoolReport[], node: string): PoolReport["findings"] {
  return reports.find((one) => one.node === node && one.findings !== undefined)?.findings;
}

function imageView(node: string, image: ReturnType<typeof orphansOn>[number]): OrphanView {
  const why = "its PersistentVolume is gone, its data is still there";
  return { kind: "image without volume", node, ...image, claim: undefined, why };
}

function unavailableOn({ volumes, reports = [] }: LocalState, node: string): readonly OrphanView[] {
  const unavailable = new Set(findingsOf(reports, node)?.unavailable);
  return volumes
    .filter((volume) => volume.node === node && unavailable.has(volume.name))
    .map((volume) => {
      const report = reports.find((one) => one.node === node && one.pool === volume.pool);
      return { kind: "volume without data", ...partsOf(volume), why: whyUnavailable(volume, report) };
    });
}

function whyUnavailable({ pool, poolId }: LocalVolume, report: PoolReport | undefined): string {
  if (report === undefined) return `nothing is known of pool "${pool}" there`;
  if (report.state !== "ready") return `pool "${pool}" is missing${report.problem ? `: ${report.problem}` : ""}`;
  return report.poolId === poolId ? `pool "${pool}" does not have its image` : `pool "${pool}" was swapped`;
}

function goneView(volume: LocalVolume): OrphanView {
  return { kind: "node gone", ...partsOf(volume), why: `"forget ${volume.node}" gives it up` };
}

function partsOf({ node, name, pool, bytes, claim }: LocalVolume): Omit<OrphanView, "kind" | "why"> {
  return { node, volume: name, pool, bytes, claim: claim && `${claim.namespace}/${claim.name}` };
}
