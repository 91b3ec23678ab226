import type { StoreEvent } from "../engine/api/api.ts";
import type { AffinitySetup } from "../plan/step.ts";
import { KubeletViews } from "./kubelet-views.ts";
import { Owners } from "./owners.ts";
import type { World } from "./world.ts";

/** Follows rejected pods, and switches the policy that limits agents. */
export class Rejections {
  readonly owners: Owners;
  readonly kubelets: KubeletViews;
  /** The agents' settings beyond failing pods. */
  readonly settings: AffinitySetup | undefined;
  readonly #world: World;
  #unconfinedSince: number | undefined;

  constructor(world: World, settings: AffinitySetup | undefined) {
    this.#world = world;
    const { windows, engine, cluster } = world;
    const { pods } = cluster;
    this.owners = new Owners({ pods, windows, isUp: () => engine.api.servers.some(({ isUp }) => isUp) });
    this.kubelets = new KubeletViews({
      ...{ pods, windows, scheduler: engine.scheduler },
      sync: () => world.syncKubelets(),
    });
    this.settings = settings;
    engine.api.observe((event) => this.#onEvent(event));
  }

  /** Since when, by true time, no policy limits agents; undefined while one does. */
  get unconfinedSince(): number | undefined {
    return this.#unconfinedSince;
  }

  /** Sets whether the policy that limits agents is in force. */
  confine(isInForce: boolean): void {
    this.#world.engine.api.confine(isInForce);
    this.#unconfinedSince = isInForce ? undefined : this.#world.now;
  }

  #onEvent({ type, resource, object, by }: StoreEvent): void {
    if (resource !== "pods" || by?.startsWith("agent-") !== true) return;
    const { pods } = this.#world.cluster;
    const pod = pods.byUid(object.metadata.uid);
    if (pod !== undefined && type === "DELETED") pods.noteGone(pod);
    else if (pod !== undefined && object.metadata.deletionTimestamp !== undefined) pod.isDeleting = true;
    else if (JSON.stringify(object.status).includes('"phase":"Failed"')) this.kubelets.onFailed(object);
  }
}
