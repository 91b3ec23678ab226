import type { JsonObject } from "../engine/api/objects.ts";
import { nodeStatus, type Readiness } from "./objects.ts";

interface StatusParts {
  /** True time. */
  readonly now: () => number;
  readonly after: (ms: number, act: () => void) => void;
  readonly isApiUp: () => boolean;
  /** Puts this into the status of a node's object, if there is one. */
  readonly put: (node: string, told: JsonObject) => void;
}

/** A kubelet reports an unchanged status so seldom. The real one does so every five minutes, by default. */
const REPORT_MS = 30_000;
/** The node controller marks a node whose kubelet has not renewed its Lease for so long. */
const GRACE_MS = 40_000;

/** What kubelets and the node controller say of nodes. */
export class NodeStatuses {
  readonly #parts: StatusParts;
  readonly #known = new Map<string, Readiness & { readonly bootId: string; readonly reportedAt: number }>();
  readonly #aliveAt = new Map<string, number>();

  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  /** A kubelet that runs and reaches the API server calls this every few seconds; `time` is its own. */
  heartbeat(node: string, bootId: string, time: string): void {
    const { now, after } = this.#parts;
    const at = now();
    this.#aliveAt.set(node, at);
    after(GRACE_MS, () => this.#check(node, at));
    const known = this.#known.get(node);
    if (known?.ready === "True" && known.bootId === bootId && at - known.reportedAt < REPORT_MS) return;
    this.#put(node, { ready: "True", heartbeat: time, bootId, reportedAt: at });
  }

  /** Somebody says so: the kubelet as it starts, or the node controller. */
  set(node: string, bootId: string, ready: Readiness["ready"]): void {
    const { heartbeat, reportedAt = this.#parts.now() } = this.#known.get(node) ?? {};
    this.#put(node, { ready, heartbeat, bootId, reportedAt });
  }

  #check(node: string, at: number): void {
    const known = this.#known.get(node);
    if (known === undefined || known.ready === "Unknown" || this.#aliveAt.get(node) !== at) return;
    // The controller does not reach the API server either.
    if (this.#parts.isApiUp()) this.#put(node, { ...known, ready: "Unknown" });
    else this.#parts.after(GRACE_MS, () => this.#check(node, at));
  }

  #put(node: string, status: Readiness & { readonly bootId: string; readonly reportedAt: number }): void {
    this.#known.set(node, status);
    this.#parts.put(node, nodeStatus(status.bootId, status));
  }
}
