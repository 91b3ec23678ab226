import * as v from "valibot";
import type { Told } from "../engine/service.ts";
import type { Published } from "../published.ts";
import type { Use } from "../truth.ts";
import { LIMITS } from "../world/replica.ts";
import type { World } from "../world/world.ts";
import { BrokenPromise } from "./promises.ts";
import { describe } from "./states.ts";
import { apiWallOf } from "./wall.ts";

/** As much of a report as tells who uses what. */
const report = v.object({
  node: v.string(),
  bootId: v.string(),
  holds: v.array(
    v.object({ kind: v.string(), volume: v.object({ name: v.optional(v.string()) }), podUid: v.optional(v.string()) }),
  ),
});

/** What nodes have told whoever leads: from then on it knows of the use, and must not be behind what really became of it. */
export class ToldUses {
  readonly #world: World;
  /** Of the present leader. */
  #told = new Set<string>();

  constructor(world: World) {
    this.#world = world;
    let holder = "";
    world.engine.api.observe(({ resource, object }) => {
      if (resource !== "leases" || object.metadata.namespace !== "mooring") return;
      const now = JSON.stringify(object.spec);
      const found = /"holderIdentity":"([^"]*)"/.exec(now)?.[1] ?? "";
      // Who leads anew begins with nothing.
      if (found !== holder) this.#told = new Set();
      holder = found;
    });
  }

  note({ status, body, answer }: Told): void {
    if (status !== 200 || answer.includes('"whole":true') || !body.includes('"holds"')) return;
    const { node, bootId, holds } = v.parse(report, JSON.parse(body));
    for (const { kind, podUid, volume } of holds) {
      if (kind !== "staging" && podUid !== undefined)
        this.#told.add(keyOf({ node, bootId, podUid }, volume.name ?? ""));
    }
  }

  /** A claim is being called unused: no use that the writer was told of goes on, or ended later. */
  check(name: string, { claimUid, isUnused, sinceMs }: Published): void {
    const { truth, cluster, unclear } = this.#world;
    if (!isUnused || unclear.has(claimUid) || cluster.claims.shadowed.has(claimUid)) return;
    const pv = cluster.claims.get(name)?.volume.pv ?? "";
    const wall = apiWallOf(this.#world);
    for (const use of truth.usesOf(claimUid)) {
      if (!use.isShown || !this.#told.has(keyOf(use, pv)) || this.#isGivenUp(use)) continue;
      if (use.endedAt === undefined) throw new BrokenPromise("never-unused-while-mounted", `${name}: ${describe(use)}`);
      if (sinceMs < wall.earliest(use.endedAt))
        throw new BrokenPromise(
          "never-longer",
          `${name} counts since ${wall.trueMs(sinceMs)}: ${describe(use)}, as its node had told`,
        );
    }
  }

  /** What a node that is taken for gone had mounted counts as ended until it is heard of again. */
  #isGivenUp({ node }: Use): boolean {
    const { cluster, given, now } = this.#world;
    const goneSince = cluster.nodeGoneSince(node);
    const isGone = given.has(node) || (goneSince !== undefined && now - goneSince > 0.9 * LIMITS.nodeGoneAfterMs);
    if (isGone) this.#told = new Set([...this.#told].filter((key) => !key.startsWith(`${node}/`)));
    return isGone;
  }
}

function keyOf({ node, bootId, podUid }: Pick<Use, "node" | "bootId" | "podUid">, pv: string): string {
  return `${node}/${bootId}/${podUid}/${pv}`;
}
