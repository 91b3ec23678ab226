import { WorkQueue } from "../common/kube/work-queue.ts";
import type { InternalErrors } from "../common/runtime/internal-errors.ts";
import { runTogether } from "../common/runtime/lifecycle.ts";
import { jitter } from "../common/runtime/random.ts";
import type { Findings } from "../common/storage/findings.ts";
import { claimUidOf, PROVISIONERS, volumeNameOf } from "../common/storage/local-volumes.ts";
import { ClaimProvisioning } from "./claim-provisioning.ts";
import type { ClaimMetadata } from "./core/objects.ts";
import { OrphanController } from "./orphan-controller.ts";
import { UNPLACED_AFTER_MS, UnplacedClaims } from "./unplaced-claims.ts";
import { VolumeController } from "./volume-controller.ts";
import type { WorkParts } from "./work.ts";

interface ReconcilerParts extends Omit<WorkParts, "again" | "onSpaceChange" | "onFindings"> {
  readonly errors: InternalErrors;
  readonly earlierRequestsEnded: () => boolean;
  /** Undefined where no room is published. */
  readonly unplaced: UnplacedClaims | undefined;
}

const WORKERS = 4;
const RETRY = { firstMs: 100, maxMs: 300_000 };
const RESYNC_MS = 900_000;
/** Changes within this time are written together. Milliseconds. */
const CAPACITY_DEBOUNCE_MS = 50;

/** Many changes come at once when a node starts. Milliseconds. */
const FINDINGS_DEBOUNCE_MS = 1_000;

/** Prefix of the key of a claim without a selected node. */
const CLAIM = "claim:";
/** The queue's other keys are volume names, and these two. */
const CAPACITY = "capacity";
const EXACT_CAPACITY = "exact-capacity";

/**
 * Reconciles this node's storage with the API server, volume by volume. Claim, image and PersistentVolume of a volume share one key, so
 * that only one worker at a time decides about them.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #queue: WorkQueue;
  readonly #provisioning: ClaimProvisioning;
  readonly #unplaced: UnplacedClaims | undefined;
  readonly volumeController: VolumeController;
  readonly orphans: OrphanController;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
    this.#unplaced = parts.unplaced;
    const working = { ...parts, errors: parts.errors.in("volumes"), retry: RETRY };
    this.#queue = new WorkQueue(working, WORKERS, parts.operationMetrics.queue);
    const work: WorkParts = {
      ...parts,
      again: (volume, afterMs) =>
        afterMs === undefined ? this.#queue.add(volume) : this.#queue.addAfter(volume, afterMs),
      onSpaceChange: () => this.#queue.addAfter(EXACT_CAPACITY, CAPACITY_DEBOUNCE_MS),
      onFindings: () => this.#queue.addAfter(CAPACITY, FINDINGS_DEBOUNCE_MS),
    };
    this.#provisioning = new ClaimProvisioning(work);
    this.volumeController = new VolumeController(work);
    this.orphans = new OrphanController(work, parts.earlierRequestsEnded);
  }

  get depth(): number {
    return this.#queue.depth;
  }

  /** What an administrator must decide about on this node. */
  get findings(): Findings {
    const orphans = [...this.orphans.reported].flatMap((volume) => this.#parts.storage.image(volume) ?? []);
    return { orphans, unavailable: [...this.volumeController.unavailable.keys()] };
  }

  get progress(): number | undefined {
    return this.#queue.progress;
  }

  /** A claim was created, changed or deleted. Most claims of a cluster do not concern this node. */
  onClaim(claim: ClaimMetadata): void {
    const { cluster, storage } = this.#parts;
    for (const { name } of cluster.volumes.by("claim", claim.uid)) this.#queue.add(name);
    const volume = volumeNameOf(claim.uid);
    if (UnplacedClaims.isCandidate(claim))
      this.#queue.addAfter(`${CLAIM}${claim.namespace}/${claim.name}`, UNPLACED_AFTER_MS);
    if (volume !== undefined && (this.#isSelected(claim) || storage.image(volume) !== undefined))
      this.#queue.add(volume);
  }

  onVolume(name: string): void {
    if (claimUidOf(name) !== undefined) this.#queue.add(name);
  }

  onImages(volumes: readonly string[]): void {
    this.#queue.addAll(volumes);
  }

  /** A change that may affect every volume. */
  onAll(): void {
    const { cluster, storage } = this.#parts;
    for (const claim of cluster.claims.all()) this.onClaim(claim);
    for (const { name } of cluster.volumes.all()) this.onVolume(name);
    for (const { volume } of storage.images ?? []) this.#queue.add(volume);
    this.onCapacity();
  }

  onCapacity(): void {
    this.#queue.addAfter(CAPACITY, CAPACITY_DEBOUNCE_MS);
  }

  run = (signal: AbortSignal): Promise<void> =>
    runTogether([(limited) => this.#queue.run(this.#work, limited), this.#resync], signal);

  readonly #resync = async (signal: AbortSignal): Promise<void> => {
    const { clock, random } = this.#parts;
    while (!signal.aborted) {
      await clock.sleep(jitter(random, RESYNC_MS, 0.2), signal);
      if (!signal.aborted) this.onAll();
    }
  };

  readonly #work = async (key: string, signal: AbortSignal): Promise<void> => {
    const { capacity } = this.#parts;
    if (key === CAPACITY || key === EXACT_CAPACITY) return await capacity.publish(key === EXACT_CAPACITY, signal);
    if (key.startsWith(CLAIM)) return await this.#unplaced?.work(key.slice(CLAIM.length), signal);
    await this.#workOnVolume(key, signal);
  };

  async #workOnVolume(name: string, signal: AbortSignal): Promise<void> {
    const { cluster } = this.#parts;
    const known = cluster.volumes.get(name);
    if (known !== undefined) {
      // Its PersistentVolume may have been restored.
      this.orphans.forget(name);
      return await this.volumeController.work(known, signal);
    }
    this.volumeController.forget(name);
    const [claim] = cluster.claims.by("uid", claimUidOf(name) ?? "");
    if (claim !== undefined && this.#isSelected(claim) && (await this.#provisioning.work(claim, signal))) return;
    await this.orphans.work(name, signal);
  }

  #isSelected({ provisioner, selectedNode }: ClaimMetadata): boolean {
    return selectedNode === this.#parts.node && PROVISIONERS.includes(provisioner ?? "");
  }
}
