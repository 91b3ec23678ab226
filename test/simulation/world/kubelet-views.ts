import type { ApiObject } from "../engine/api/objects.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import type { PodRecord, Pods } from "./pods.ts";
import type { Windows } from "./windows.ts";

interface ViewParts {
  readonly pods: Pods;
  readonly windows: Windows;
  readonly scheduler: Pick<Scheduler, "after">;
  /** Kubelets see the changed pods. */
  readonly sync: () => void;
}

/** How kubelets react when another client fails a pod: they accept it, or overwrite it with their own status. */
export class KubeletViews {
  readonly #parts: ViewParts;
  /** By node: kubelets that overwrite a rejection, and after how long; the last entry counts. */
  readonly #stubborn = new Map<string, { readonly afterMs: number }>();
  /** Pods that are failed in the API and not yet in their kubelet. */
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

  /** The kubelet of a pod that has started meanwhile overwrites the rejection. */
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
