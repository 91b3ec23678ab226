import type { KubeParts } from "../../common/kube/client.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { isNoAnswer, type PhaseSince, phaseSince } from "../../common/storage/phase-since.ts";
import { type ClaimPhaseParts, claimPhaseSince } from "../core/claim-phase.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { PhaseSights } from "../core/phase-sights.ts";

/** The latest that the API server's clock can show: what is first seen is never dated too early by it. */
export function latestServerMs({ client, clock }: Pick<KubeParts, "client" | "clock">): number {
  return client.serverTime()?.latestMs ?? clock.wallMs();
}

/** Since when volumes are in their phases. */
export class VolumePhases {
  readonly #sights = new PhaseSights();

  /** Called with each change of the collection. */
  note(change: StoreChange<Volume & Stored>, nowMs: number): void {
    const { object } = change;
    if (change.kind === "deleted") {
      this.#sights.forget(change.previous.uid);
      return;
    }
    const isSame =
      change.kind === "updated" &&
      change.previous.phase === object.phase &&
      change.previous.phaseSinceMs === object.phaseSinceMs;
    // A time that lay ahead when it was written does not become true because it has come.
    if (isSame) return;
    if (isNoAnswer(object.phaseSinceMs, nowMs)) this.#sights.note(object, nowMs);
    else this.#sights.forget(object.uid);
  }

  /** Of how many volumes a first sight is kept. */
  get kept(): number {
    return this.#sights.size;
  }

  since({ uid, phaseSinceMs, createdAtMs }: Volume): PhaseSince | undefined {
    return phaseSince({ toldMs: phaseSinceMs, createdAtMs, firstSeenMs: this.#sights.firstSeenMs(uid) });
  }
}

/** Since when claims are in their phases. */
export class ClaimPhases {
  readonly #lost = new PhaseSights();

  /** Called with each change of the collection. */
  note(change: StoreChange<Claim>, nowMs: number): void {
    if (change.kind !== "deleted" && change.object.phase === "Lost") this.#lost.note(change.object, nowMs);
    else this.#lost.forget(change.kind === "deleted" ? change.previous.uid : change.object.uid);
  }

  /** Of how many claims a first sight is kept. */
  get kept(): number {
    return this.#lost.size;
  }

  since(claim: Claim, of: Pick<ClaimPhaseParts, "volume" | "volumeSince">): PhaseSince | undefined {
    return claimPhaseSince(claim, { ...of, firstSeenMs: this.#lost.firstSeenMs(claim.uid) });
  }
}
