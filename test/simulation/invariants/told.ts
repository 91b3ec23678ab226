import { createHash } from "node:crypto";
import * as v from "valibot";
import { COVERAGE_ANNOTATION } from "../../../aggregator/sources/coverage-annotation.ts";
import type { Told } from "../engine/service.ts";
import type { Published } from "../published.ts";
import type { Use } from "../truth.ts";
import type { KubeletVolume } from "../world/kubelet-paths.ts";
import type { World } from "../world/world.ts";
import { type Leading, watchLeader } from "./leader.ts";
import { BrokenPromise } from "./promises.ts";
import { isVague } from "./seen.ts";
import { checkStart } from "./starts.ts";
import { describe } from "./states.ts";
import { apiWallOf } from "./wall.ts";

/** As much of a report as tells who uses what. */
const report = v.object({
  node: v.string(),
  bootId: v.string(),
  holds: v.array(
    v.object({
      kind: v.string(),
      volume: v.object({ name: v.optional(v.string()), handleHash: v.optional(v.string()) }),
      podUid: v.optional(v.string()),
    }),
  ),
});

/** A watch event and a write that nothing holds up take less together. True milliseconds. */
const ON_ITS_WAY_MS = 50;

/** What nodes have told whoever leads: from then on it knows of the use, and must not be behind what really became of it. */
export class ToldUses {
  readonly #world: World;
  /** Of the present leader, and by which event it was first told. */
  #told = new Map<string, number>();
  /** To the present leader: when, by true time, it was told of a mount, again and again. */
  #times = new Map<string, readonly number[]>();
  #leader = "";
  #leading: Leading = { holder: "", sinceMs: 0 };
  /** Of any leader. */
  readonly #ever = new Set<string>();

  constructor(world: World) {
    this.#world = world;
    // Who leads anew begins with nothing.
    watchLeader(world, (leading) => {
      this.begin();
      this.#leading = leading;
      world.leading = leading;
    });
    world.engine.api.observe(({ object: { metadata } }) => {
      if (metadata.annotations?.[COVERAGE_ANNOTATION] !== undefined) world.watchedFromMs ??= world.now;
    });
  }

  /** Somebody leads anew, and knows nothing yet; `leader` where that process says so itself. */
  begin(leader?: string): void {
    this.#leader = leader ?? "";
    this.#told = new Map();
    this.#times = new Map();
    this.#world.term = { beganMs: this.#world.now, heard: new Map() };
  }

  /** A process is started anew, and does not lead yet, whatever the Lease of the one before it says. */
  end(process: string): void {
    if (this.#leader === process) this.#leader = "";
  }

  /** The process that leads by its own word; empty while none does. */
  get leader(): string {
    return this.#leader;
  }

  note({ status, body, answer }: Told): void {
    if (status !== 200 || answer.includes('"whole":true') || !body.includes('"holds"')) return;
    const { node, bootId, holds } = v.parse(report, JSON.parse(body));
    const { heard } = this.#world.term;
    if (!heard.has(node)) heard.set(node, this.#world.now);
    for (const { kind, podUid, volume } of holds) {
      this.#noteTime(keyOf({ node, bootId, podUid: podUid ?? STAGING }, volume.name ?? volume.handleHash ?? ""));
      if (kind === "staging" || podUid === undefined) continue;
      const key = keyOf({ node, bootId, podUid }, volume.name ?? "");
      if (!this.#told.has(key)) this.#told.set(key, this.#world.engine.scheduler.events());
      this.#ever.add(key);
    }
  }

  #noteTime(key: string): void {
    this.#times.set(key, [...(this.#times.get(key) ?? []), this.#world.now]);
  }

  /** When, by true time, the present leader was first told of a mount that began then; nothing while it was not. */
  toldMs({ beganAt, volume, ...mount }: ToldMount): number | undefined {
    const names = [volume.pv, createHash("sha256").update(volume.handle).digest("hex")];
    const times = names.flatMap((name) => this.#times.get(keyOf({ podUid: STAGING, ...mount }, name)) ?? []);
    return times.find((ms) => ms >= beganAt);
  }

  /** True for a use that some leader was once told of. */
  wasTold(use: Use, pv: string): boolean {
    return this.#ever.has(keyOf(use, pv));
  }

  /** A claim is being called unused right after a start. */
  checkStart(change: { readonly name: string; readonly now: Published; readonly before: Published | undefined }): void {
    checkStart(this.#world, this.#leading, change);
  }

  /** A claim is being called unused: no use that the writer had been told of, by the event that it sent that in, goes on or ended later. */
  check(name: string, { claimUid, isUnused, sinceMs }: Published, sentBy: number): void {
    const { truth, cluster } = this.#world;
    if (!isUnused || isVague(this.#world, claimUid)) return;
    const pv = cluster.claims.get(name)?.volume.pv ?? "";
    const wall = apiWallOf(this.#world);
    for (const use of truth.usesOf(claimUid)) {
      if (!use.isShown || (this.#told.get(keyOf(use, pv)) ?? Number.POSITIVE_INFINITY) > sentBy || this.#isGivenUp(use))
        continue;
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
    const { attention, cluster, given, now, tempo } = this.#world;
    // Whose watches lag has not heard yet that it is back; nor had who sent this write just before.
    const isUnheard =
      attention.areAllDisturbed() || (cluster.nodeBackForMs(node) ?? Number.POSITIVE_INFINITY) < ON_ITS_WAY_MS;
    const goneSince = isUnheard ? cluster.nodeLastGone(node) : cluster.nodeGoneSince(node);
    const isGone = given.has(node) || (goneSince !== undefined && now - goneSince > 0.9 * tempo.limits.nodeGoneAfterMs);
    if (isGone) this.#told = new Map([...this.#told].filter(([key]) => !key.startsWith(`${node}/`)));
    return isGone;
  }
}

/** Instead of a pod, for the device that is mounted for all pods. */
const STAGING = "staging";

/** A mount of a volume for a pod, or the one for all of them. */
export interface ToldMount {
  readonly node: string;
  readonly bootId: string;
  readonly podUid?: string;
  readonly volume: KubeletVolume;
  readonly beganAt: number;
}

function keyOf({ node, bootId, podUid }: Pick<Use, "node" | "bootId" | "podUid">, pv: string): string {
  return `${node}/${bootId}/${podUid}/${pv}`;
}
