import type { Step } from "../plan/step.ts";
import type { ClaimRecord } from "./claims.ts";
import type { World } from "./world.ts";

/** Steps that bring pods to nodes which their volumes exclude. False for any other step. */
export function actOnPlacement(world: World, step: Step, number: number): boolean {
  const { placement } = world.cluster;
  switch (step.kind) {
    case "move-volume": {
      const claim = claimOf(world, step.pick);
      if (claim !== undefined) placement.move(claim.volume.pv, step.zone);
      return true;
    }
    case "relabel-node":
      placement.relabel(world.node(step.node).name, step.zone);
      return true;
    case "attach-volume": {
      const { name } = world.node(step.node);
      const claim = claimOf(world, step.pick);
      if (claim?.volume.kind.startsWith("csi")) attach(world, { ...claim.volume, node: name, forMs: step.forMs });
      return true;
    }
    case "no-policy":
      world.rejections.confine(false);
      world.windows.begin(step.forMs, () => world.rejections.confine(true));
      return true;
    case "take-back":
      world.rejections.kubelets.begin(world.node(step.node).name, step);
      return true;
    case "pinned-pods": {
      const { name } = world.node(step.node);
      const volumes = [{ by: "claim", claim: `data-${step.claim}` } as const];
      world.rejections.owners.begin({ owner: `pinned-${number}`, node: name, volumes, pace: step.pace }, step.forMs);
      return true;
    }
    default:
      return false;
  }
}

interface Attaching {
  readonly pv: string;
  readonly handle: string;
  readonly node: string;
  readonly forMs: number;
}

function attach({ cluster, engine, windows }: World, { pv, handle, node, forMs }: Attaching): void {
  const { placement } = cluster;
  if (placement.isAttached(handle, node)) return;
  placement.setAttached(node, handle, true);
  const name = `csi-${pv}-${node}`;
  const detach = (): void => {
    // Not while a kubelet uses it: the detach waits for the unmount.
    if (engine.api.get({ resource: "volumeattachments", name }) === undefined)
      placement.setAttached(node, handle, false);
  };
  windows.begin(forMs, detach);
}

function claimOf({ cluster: { claims } }: World, pick: number): ClaimRecord | undefined {
  return claims.all[pick % Math.max(1, claims.all.length)];
}
