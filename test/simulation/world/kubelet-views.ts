import type { ApiObject } from "../engine/api/objects.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import type { PodRecord, Pods } from "./pods.ts";
import type { Windows } from "./windows.ts";

interface ViewParts {
  readonly pods: Pods;
  readonly windows: Windows;
  readonly scheduler: Pick<Scheduler, "after">;
  /** Kubelets hear of what became of pods. */
  readonly sync: () => void;
}

/** What kubelets make of it when somebody else fails a pod: they take it over, or write their own view over it. */
export class KubeletViews {
  readonly #parts: ViewParts;
  /** By node, those whose kubelet takes nothing over, and how long that takes it; the last one counts. */
  readonly #stubborn = new Map<string, { readonly afterMs: number }>();
  /** Pods that are failed by what the API has, and not by what their kubelet has. */
  readonly #open = new Set<PodRecord>();

  constructor(parts: ViewParts) {
    this.#parts = parts;
  }

  begin(node: string, { afterMs, forMs }: { readonly afterMs: number; readonly forMs: number }): void {
    const view = { afterMs };
    this.#stubborn.set(node, view);
    this.#parts.windows.begin(forMs, () => {
      if (this.#stubborn.get(node) === view) this.#giveIn(node);
    });
  }

  /** A pod that has started meanwhile runs on: its kubelet has written that over the rejection. */
  #giveIn(node: string): void {
    this.#stubborn.delete(node);
    for (const pod of this.#open) {
      if (pod.node !== node) continue;
      this.#open.delete(pod);
      if (pod.startedIn === undefined) this.#parts.pods.takeOver(pod);
    }
    this.#parts.sync();
  }

  onFailed({ metadata: { uid } }: ApiObject): void {
    const { pods } = this.#parts;
    const pod = pods.byUid(uid);
    if (pod === undefined) return;
    const view = this.#stubborn.get(pod.node);
    if (view === undefined || pod.startedIn !== undefined) pods.takeOver(pod);
    else this.#keep(pod, view.afterMs);
  }

  #keep(pod: PodRecord, afterMs: number): void {
    this.#open.add(pod);
    this.#parts.scheduler.after(afterMs, () => {
      if (this.#open.delete(pod)) this.#parts.pods.takeBack(pod);
    });
  }
}
