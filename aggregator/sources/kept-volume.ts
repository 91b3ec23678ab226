import type { Stored } from "../../common/kube/store.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { Kept, type KeptValues, millisecondsOf, secondsOf, type Whole } from "./kept.ts";

/** Fields with the same values in thousands of volumes. */
export interface SharedFields
  extends Pick<Volume, "phase" | "storageClass" | "capacity" | "reclaimPolicy" | "isHostPath" | "nodeAffinity"> {
  readonly driver: string | undefined;
}

/** A volume in compact form: it saves 150 bytes each. */
export class KeptVolume extends Kept<SharedFields> implements Whole<Volume> {
  readonly #claimKey: string | undefined;
  readonly #claimUid: string | undefined;
  readonly #handleHash: string | undefined;
  readonly #phaseSince: number | undefined;
  readonly annotations: Volume["annotations"];

  constructor(volume: Volume & Stored, { kinds, texts }: KeptValues<SharedFields>) {
    const { phase, storageClass, capacity, reclaimPolicy, isHostPath, nodeAffinity, claim, csi } = volume;
    super(
      volume,
      kinds.of({ phase, storageClass, capacity, reclaimPolicy, isHostPath, nodeAffinity, driver: csi?.driver }),
    );
    texts.share([volume.key, claim, csi?.handleHash]);
    this.#claimKey = claim?.key;
    this.#claimUid = claim?.uid;
    this.#handleHash = csi?.handleHash;
    this.#phaseSince = secondsOf(volume.phaseSinceMs);
    this.annotations = volume.annotations;
  }

  get phase(): string {
    return this.kind.phase;
  }

  get storageClass(): string | undefined {
    return this.kind.storageClass;
  }

  get capacity(): string | undefined {
    return this.kind.capacity;
  }

  get reclaimPolicy(): string | undefined {
    return this.kind.reclaimPolicy;
  }

  get isHostPath(): boolean {
    return this.kind.isHostPath;
  }

  get nodeAffinity(): string | undefined {
    return this.kind.nodeAffinity;
  }

  get claim(): Volume["claim"] {
    const [key, uid] = [this.#claimKey, this.#claimUid];
    return key === undefined || uid === undefined ? undefined : { key, uid };
  }

  get csi(): Volume["csi"] {
    const [{ driver }, handleHash] = [this.kind, this.#handleHash];
    return driver === undefined || handleHash === undefined ? undefined : { driver, handleHash };
  }

  get phaseSinceMs(): number | undefined {
    return millisecondsOf(this.#phaseSince);
  }
}
