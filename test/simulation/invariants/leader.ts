import type { World } from "../world/world.ts";

/** Who leads, by the Lease, and since when by true time. */
export interface Leading {
  readonly holder: string;
  readonly sinceMs: number;
}

/** Calls whenever somebody else leads. */
export function watchLeader({ engine }: World, onChange: (leading: Leading) => void): void {
  let last = "";
  engine.api.observe(({ resource, object }) => {
    if (resource !== "leases" || object.metadata.namespace !== "mooring") return;
    const holder = /"holderIdentity":"([^"]*)"/.exec(JSON.stringify(object.spec))?.[1] ?? "";
    if (holder === last) return;
    last = holder;
    onChange({ holder, sinceMs: engine.scheduler.nowMs() });
  });
}
