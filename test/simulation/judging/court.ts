import type { HttpRequest } from "../../../common/kube/transport.ts";
import { Docket } from "../../judge/docket.ts";
import { FORGED_NODE, whyCalledMounted } from "../../judge/forged.ts";
import { type Published, publishedIn } from "../../judge/published.ts";
import { judgeEnds, judgeMeanwhile, judgeRest } from "../../judge/rest.ts";
import { type ClaimRecord, claimNamesOf } from "../world/claims.ts";
import { NAMESPACE } from "../world/objects.ts";
import type { World } from "../world/world.ts";
import { DeletionWatch, judgeDeleted } from "./deletions.ts";
import { PlacementWatch } from "./placement.ts";
import { watchAlarms } from "./unmount-events.ts";
import { WriteWatch } from "./watch.ts";
import { Witness } from "./witness.ts";

/** Has the judge check a world: each write and each deletion when it happens, and the stored status when it has to be right. */
export class Court {
  readonly docket = new Docket();
  readonly writes: WriteWatch;
  readonly #world: World;
  readonly #witness: Witness;
  readonly #placement: PlacementWatch;

  constructor(world: World) {
    this.#world = world;
    this.#witness = new Witness(world);
    this.writes = new WriteWatch(world, this.docket, this.#witness);
    new DeletionWatch(world, this.docket, this.#witness);
    watchAlarms(world, this.docket);
    this.#placement = new PlacementWatch(world, this.docket);
  }

  onRequest(request: HttpRequest): void {
    this.writes.onRequest(request);
  }

  onPodWrite(request: HttpRequest): void {
    this.#placement.onRequest(request);
  }

  /** Runs after each step. */
  meanwhile(): void {
    for (const claim of this.#claims)
      judgeMeanwhile(this.docket, this.#witness.caseOf(claim), this.#publishedOf(claim));
    const { nodes, replicas } = this.#world;
    for (const process of [...nodes.map(({ agent }) => agent), ...replicas.map((replica) => replica.process)]) {
      if (process?.state() === "failed") this.fail(process.name, process.failure());
      else this.docket.judge("no-failure", true, () => "");
    }
  }

  fail(process: string, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.docket.judge("no-failure", false, () => `${process}: ${text}`);
  }

  /** Everything works again, and has for longer than the timeout of a lost request. */
  recovered(): void {
    for (const claim of this.#claims) judgeEnds(this.docket, this.#witness.caseOf(claim), this.#publishedOf(claim));
  }

  /** Everything has worked for long enough: true where every status is right. */
  rests(exactFromMs: number, docket = this.docket): boolean {
    for (const claim of this.#claims) {
      const now = this.#publishedOf(claim);
      // A claim that was deleted before its first status gets none.
      if (now === undefined && claim.isDeleting) continue;
      judgeRest(docket, this.#witness.caseOf(claim), { now, scene: this.#witness.sceneOf(claim, exactFromMs) });
    }
    judgeDeleted(this.#world, docket, (claim) => this.#isKeptByForgery(claim));
    this.#placement.rests(docket);
    return docket.broken.length === 0;
  }

  /** The same check, without an entry in the docket. */
  wouldRest(exactFromMs: number): boolean {
    return this.rests(exactFromMs, new Docket());
  }

  /** No journal keeps an unmount record that can no longer change any status. */
  journals(): void {
    // Where another client keeps a claim in use by a forged status, an unmount record may still change that status.
    const open = this.#claims.filter((claim) => this.#isKeptByForgery(claim)).map(({ volume }) => `/name/${volume.pv}`);
    for (const { name, disk } of this.#world.nodes) {
      const all = disk.newest?.unmountRecords ?? [];
      const kept = all.filter(({ id }) => !open.some((volume) => id.endsWith(volume)));
      if (kept.length < all.length && kept.length === 0) this.docket.excuse("journal", FORGED_NODE);
      else
        this.docket.judge("journal", kept.length === 0, () => `${name} keeps ${kept.map(({ id }) => id).join(", ")}`);
    }
  }

  #isKeptByForgery(claim: ClaimRecord): boolean {
    const now = this.#publishedOf(claim);
    const scene = this.#witness.sceneOf(claim, Number.POSITIVE_INFINITY);
    return now !== undefined && whyCalledMounted(this.#witness.caseOf(claim), now, scene) !== undefined;
  }

  atRest(writes: number): void {
    this.docket.judge("no-write-at-rest", writes === 0, () => `${writes} writes`);
  }

  /**
   * In a calm world Mooring writes a claim once at first, a few times for each pod that named it, once for each possible gap of the pod
   * watch, and once for what an earlier claim left on it. A rejected pod whose kubelet takes it back counts as another one.
   */
  writeCounts(gaps: number): void {
    const { claims, pods } = this.#world.cluster;
    for (const { name, uid, volume } of claims.all) {
      const naming = pods.all.filter((pod) => claimNamesOf(pod).includes(name));
      const named = naming.reduce((sum, pod) => sum + 1 + this.#placement.timesRejected(pod.uid), 0);
      const most =
        1 + gaps + (claims.restored.has(uid) ? 1 : 0) + WRITES_A_POD * named + this.#stagingWrites(volume.handle);
      const count = this.writes.countOf(uid);
      this.docket.judge("one-write", count <= most, () => `${name} was written ${count} times for ${named} pods`);
    }
  }

  /**
   * Where Mooring reports staging: two writes for each pod with a volume of that handle, one when it is staged and one when it no longer
   * is.
   */
  #stagingWrites(handle: string): number {
    const { protection, cluster } = this.#world;
    if (protection === "off") return 0;
    const names = cluster.claims.ever.filter((claim) => claim.volume.handle === handle).map(({ name }) => name);
    return 2 * cluster.pods.all.filter((pod) => claimNamesOf(pod).some((name) => names.includes(name))).length;
  }

  get #claims(): readonly ClaimRecord[] {
    return this.#world.cluster.claims.all;
  }

  #publishedOf({ name }: ClaimRecord): Published | undefined {
    const claim = this.#world.engine.api.get({ resource: "persistentvolumeclaims", namespace: NAMESPACE, name });
    return claim && publishedIn(claim);
  }
}

/** At most, for each pod: referenced, mounted, still mounted although the pod is over, unmounted. */
const WRITES_A_POD = 4;
