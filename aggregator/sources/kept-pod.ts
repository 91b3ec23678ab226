import { SharedTexts } from "../../common/kube/shared-texts.ts";
import { SharedValues } from "../../common/kube/shared-values.ts";
import type { Stored } from "../../common/kube/store.ts";
import type { Pod } from "../core/cluster-objects.ts";
import { claimKeysOf } from "../core/references.ts";
import { millisecondsOf, ownText, secondsOf, type Whole } from "./kept.ts";

/** Fields with the same values in thousands of pods. */
type PodKind = Pick<Pod, "isTerminal" | "hasStarted" | "isAgent">;
/** Fields that few pods have. */
type Rare = Pick<Pod, "ephemeralClaims" | "deletedAtMs" | "rejection">;

/** The values that pods share with each other, and the texts that they share with their claims. */
export class PodValues {
  readonly kinds = new SharedValues<PodKind>();
  readonly texts = new SharedTexts();
}

const NONE: readonly never[] = [];

/** A pod in compact form: it saves 90 bytes each. */
export class KeptPod implements Whole<Pod>, Stored {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly node: string | undefined;
  readonly #kind: PodKind;
  /** Keys, as compact claims have no separate names; most pods name one claim or none. */
  readonly #claimKeys: string | readonly string[] | undefined;
  readonly #created: number | undefined;
  readonly #rare: Rare | undefined;

  constructor(pod: Pod & Stored, { kinds, texts }: PodValues) {
    const { isTerminal, hasStarted, isAgent, ephemeralClaims, deletedAtMs, rejection } = pod;
    const isRare = ephemeralClaims !== undefined || deletedAtMs !== undefined || rejection !== undefined;
    const claimKeys = claimKeysOf(pod);
    // No mount names a pod without claims.
    texts.share(claimKeys.length > 0 ? [pod.key, pod.uid, pod.node, claimKeys] : pod.node);
    this.key = pod.key;
    this.uid = pod.uid;
    this.resourceVersion = ownText(pod.resourceVersion);
    this.node = pod.node;
    this.#kind = kinds.of({ isTerminal, hasStarted, isAgent });
    this.#claimKeys = claimKeys.length > 1 ? claimKeys : claimKeys[0];
    this.#created = secondsOf(pod.createdAtMs);
    this.#rare = isRare ? { ephemeralClaims, deletedAtMs, rejection } : undefined;
  }

  get claims(): readonly string[] {
    const keys = this.#claimKeys;
    if (keys === undefined) return NONE;
    return typeof keys === "string" ? [nameIn(keys)] : keys.map(nameIn);
  }

  get isTerminal(): boolean {
    return this.#kind.isTerminal;
  }

  get hasStarted(): boolean {
    return this.#kind.hasStarted;
  }

  get isAgent(): boolean | undefined {
    return this.#kind.isAgent;
  }

  get createdAtMs(): number | undefined {
    return millisecondsOf(this.#created);
  }

  get ephemeralClaims(): readonly string[] | undefined {
    return this.#rare?.ephemeralClaims;
  }

  get deletedAtMs(): number | undefined {
    return this.#rare?.deletedAtMs;
  }

  get rejection(): Pod["rejection"] {
    return this.#rare?.rejection;
  }
}

function nameIn(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
