/** Index of a node. */
export type NodeIndex = 0 | 1;

/** A claim of a campaign, with its volume. */
export interface CrashClaim {
  readonly name: string;
  /** A local volume belongs to one node; a CSI volume is staged first, and can go to any node. */
  readonly volume: { readonly kind: "local"; readonly node: NodeIndex } | { readonly kind: "csi" };
  /** Its pods also mount a subPath, which is unmounted first. */
  readonly hasSubPath: boolean;
}

/** Consecutive uses of a claim; several lines of one claim overlap. */
export interface Line {
  readonly name: string;
  readonly claim: CrashClaim;
  /** The nodes of its uses. */
  readonly nodes: readonly NodeIndex[];
}

const local = (name: string, node: NodeIndex, hasSubPath = false): Line => ({
  name,
  claim: { name, volume: { kind: "local", node }, hasSubPath },
  nodes: [node],
});
const csi = (name: string, nodes: readonly NodeIndex[]): Line => ({
  name,
  claim: { name, volume: { kind: "csi" }, hasSubPath: false },
  nodes,
});

const shared: CrashClaim = { name: "shared", volume: { kind: "csi" }, hasSubPath: false };

/** The lines run in parallel: volumes of one node, of one node after the other, and of both at once. */
export const LINES: readonly Line[] = [
  local("local-a", 0),
  local("local-b", 1),
  local("folders", 1, true),
  csi("staged", [0]),
  csi("moving", [0, 1]),
  { name: "shared-a", claim: shared, nodes: [0] },
  { name: "shared-b", claim: shared, nodes: [1] },
];

/** All claims, once each. */
export const CLAIMS: readonly CrashClaim[] = [...new Set(LINES.map(({ claim }) => claim))];
