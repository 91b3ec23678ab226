import type { Stored } from "../../common/kube/store.ts";
import { claimKeysOf } from "../core/claims/references.ts";
import type { Pod } from "../core/cluster-objects.ts";
import { Kept, type KeptValues, type Whole } from "./kept.ts";

/** Fields with the same values in thousands of pods. */
export type PodKind = Pick<Pod, "isTerminal" | "hasStarted" | "isAgent">;
/** Fields that few pods have. */
type Rare = Pick<Pod, "ephemeralClaims" | "deletedAtMs" | "rejection">;

const NONE: readonly never[] = [];

/** A pod in compact form: it saves 90 bytes each. */
export class KeptPod extends Kept<PodKind> implements Whole<Pod> {
  readonly node: string | undefined;
  /** Keys, as compact claims have no separate names; most pods name one claim or none. */
  readonly #claimKeys: string | readonly string[] | undefined;
  readonly #rare: Rare | undefined;

  /** `claims`: those of its claims that are worth keeping; all, where none are given. */
  constructor(pod: Pod & Stored, { kinds, texts }: KeptValues<PodKind>, claims?: readonly string[]) {
    const { isTerminal, hasStarted, isAgent, deletedAtMs, rejection } = pod;
    super(pod, kinds.of({ isTerminal, hasStarted, isAgent }));
    const kept = claims && new Set(claims);
    const ephemeralClaims = pod.ephemeralClaims?.filter((name) => kept?.has(name) ?? true);
    const isRare = ephemeralClaims !== undefined || deletedAtMs !== undefined || rejection !== undefined;
    const claimKeys = claimKeysOf({ key: pod.key, claims: claims ?? pod.claims });
    // No mount names a pod without claims.
    texts.share(claimKeys.length > 0 ? [pod.key, pod.uid, pod.node, claimKeys] : pod.node);
    this.node = pod.node;
    this.#claimKeys = claimKeys.length > 1 ? claimKeys : claimKeys[0];
    this.#rare = isRare ? { ephemeralClaims, deletedAtMs, rejection } : undefined;
  }

  get claims(): readonly string[] {
    const keys = this.#claimKeys;
    if (keys === undefined) return NONE;
    return typeof keys === "string" ? [nameIn(keys)] : keys.map(nameIn);
  }

  get isTerminal(): boolean {
    return this.kind.isTerminal;
  }

  get hasStarted(): boolean {
    return this.kind.hasStarted;
  }

  get isAgent(): boolean | undefined {
    return this.kind.isAgent;
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
