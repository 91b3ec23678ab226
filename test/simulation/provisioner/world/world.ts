import { INTERNAL_ERROR } from "../../../../common/runtime/internal-errors.ts";
import { parseBytes } from "../../../../common/storage/quantity.ts";
import type { StoreEvent } from "../../engine/api/api.ts";
import { textAt } from "../../engine/api/json.ts";
import { createEngine, type Engine } from "../../engine/engine.ts";
import type { CrashSites, SiteVisit } from "../../engine/sites.ts";
import { createDice, type Dice } from "../../world/dice.ts";
import { FaultInjector } from "../../world/fault-injector.ts";
import {
  CLASSES,
  claimNameOf,
  NAMESPACE,
  NODE_LABEL,
  PROVISIONER,
  reconcileOnce,
  scheduleOnce,
} from "./controllers.ts";
import { ImageLocations } from "./image-locations.ts";
import { Judge } from "./judge.ts";
import { LocalKubelet } from "./kubelet.ts";
import { type NodeSetup, ProvisionerNode } from "./node.ts";
import { VolumeRules } from "./volume-rules.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly nodes: readonly NodeSetup[];
  readonly sites?: CrashSites | undefined;
  readonly print?: ((line: string) => void) | undefined;
}

export const bytesOf = (quantity: string): number => parseBytes(quantity) ?? 0;

/** A cluster whose nodes have pools, with Kubernetes' part of their volumes. */
export class ProvisionerWorld {
  readonly engine: Engine;
  readonly judge = new Judge();
  readonly locations = new ImageLocations();
  readonly nodes: readonly ProvisionerNode[];
  readonly kubelets: readonly LocalKubelet[];
  readonly injector: FaultInjector;
  readonly dice: Dice;
  /** The next process that visits this site dies there, after `skip` visits. */
  crashPoint: { readonly site: string; skip: number } | undefined;
  /** Volumes whose PersistentVolume was deleted by hand or with Retain: their images stay, and events report them. */
  readonly forced = new Set<string>();
  /** What began during slow requests may finish this much later. Milliseconds. */
  graceMs = 15_000;
  /** Every retry has happened within this time. Milliseconds. */
  patienceMs = 420_000;
  /** Writes of the provisioners that the API server stored. */
  writes = 0;
  /** All faults have ended: the scheduler's cache is no longer stale. */
  isExact = false;
  /** Events that the provisioners sent. */
  events = 0;
  readonly #rules: VolumeRules;
  #uids = 0;
  #isControllerDue = false;
  #isSchedulerDue = false;

  constructor({ seed, nodes, sites, print }: WorldOptions) {
    const dice = createDice(`provisioner world ${seed}`);
    this.dice = dice;
    this.injector = new FaultInjector({
      dice: createDice(`provisioner weather ${seed}`),
      ...{
        touchClaim: () => {},
        onClaimWrite: () => {},
        onPodWrite: () => {},
        onFault: () => this.judge.count("requests with a fault"),
      },
      ...{ servers: () => 1, copierOf: () => undefined },
    });
    this.engine = createEngine({
      ...{ seed, sites, faultPolicy: this.injector.faultPolicy, mayCrash: (visit) => this.#mayCrash(visit) },
      onLog: (process, { level, message, fields }) => {
        const { err } = fields;
        const text = err instanceof Error ? (err.stack ?? err.message) : JSON.stringify(fields);
        if (message === INTERNAL_ERROR) this.judge.fail("bug", `${process}: ${text}`);
        print?.(`${Math.round(this.now)} ${process} ${level} ${message} ${text}`);
      },
    });
    const { api, scheduler } = this.engine;
    const { judge } = this;
    this.nodes = nodes.map(
      (setup, index) => new ProvisionerNode(`n${index + 1}`, setup, { engine: this.engine, judge, dice }),
    );
    this.kubelets = this.nodes.map((node) => new LocalKubelet({ api, scheduler, dice, judge, node, bytesOf }));
    this.#rules = new VolumeRules({
      ...{ api, judge, locations: this.locations, now: () => this.now },
      nodeOf: ({ metadata }) => this.nodes.find(({ name }) => name === textAt(metadata.labels, NODE_LABEL)),
    });
    for (const one of CLASSES) this.makeClass(one);
    for (const { name } of this.nodes) this.makeNode(name);
    this.#makeForeign();
    this.#observe(print);
    for (const node of this.nodes) node.start();
  }

  get now(): number {
    return this.engine.scheduler.nowMs();
  }

  /** UUIDs in the API server's format. */
  newUid(): string {
    this.#uids += 1;
    return `00000000-0000-4000-8000-${String(this.#uids).padStart(12, "0")}`;
  }

  makeNode(name: string): void {
    this.engine.api.create("nodes", { metadata: { name, labels: { "kubernetes.io/hostname": name } } });
  }

  makeClass({
    name,
    pool,
    reclaimPolicy,
  }: {
    readonly name: string;
    readonly pool: string;
    readonly reclaimPolicy: string;
  }): void {
    this.engine.api.create("storageclasses", {
      metadata: { name },
      ...{ provisioner: PROVISIONER, parameters: { pool }, reclaimPolicy, volumeBindingMode: "WaitForFirstConsumer" },
    });
  }

  /** Syncs controllers, scheduler and kubelets. */
  syncAll(): void {
    const { scheduler, api } = this.engine;
    if (!this.#isControllerDue) {
      this.#isControllerDue = true;
      scheduler.after(this.dice.between(1, 60), () => {
        this.#isControllerDue = false;
        if (reconcileOnce({ api, dice: this.dice })) this.syncAll();
      });
    }
    if (!this.#isSchedulerDue) {
      this.#isSchedulerDue = true;
      scheduler.after(this.dice.between(20, 1_500), () => {
        this.#isSchedulerDue = false;
        scheduleOnce({ api, dice: this.dice, isExact: this.isExact }, bytesOf);
      });
    }
    for (const kubelet of this.kubelets) kubelet.syncSoon();
  }

  #observe(print: WorldOptions["print"]): void {
    this.engine.api.observe((event) => {
      const { type, resource, object, by } = event;
      const what = resource === "events" ? object.note : object.status;
      print?.(
        `${Math.round(this.now)} ${by ?? "cluster"} ${type} ${resource} ${object.metadata.name} ${JSON.stringify(what ?? {})}`,
      );
      if (by?.startsWith("provisioner")) this.#onWrite(event);
      if (resource === "persistentvolumes") this.#onVolumeEvent(event);
      if (resource === "persistentvolumes" || resource === "persistentvolumeclaims")
        this.judge.permissions.onChange(this.engine.api, { nowMs: this.now, graceMs: this.graceMs });
      if (resource !== "events") this.syncAll();
    });
  }

  #onWrite({ resource, object, by }: StoreEvent): void {
    if (resource === "events") this.events += 1;
    else this.writes += 1;
    const { name } = object.metadata;
    if (resource !== "events" && name.startsWith("foreign")) this.judge.fail("foreign-touched", `${by} wrote ${name}`);
  }

  #onVolumeEvent(event: StoreEvent): void {
    const { type, object, previous } = event;
    this.#rules.onEvent(event);
    if (type === "DELETED" && textAt(previous, "spec", "persistentVolumeReclaimPolicy") === "Retain")
      this.forced.add(object.metadata.name);
  }

  #makeForeign(): void {
    const { api } = this.engine;
    const spec = {
      storageClassName: "foreign",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "4Mi" } },
    };
    const annotations = {
      "volume.kubernetes.io/storage-provisioner": "example.org/other",
      "volume.kubernetes.io/selected-node": "n1",
    };
    api.create("persistentvolumeclaims", {
      metadata: { name: "foreign-claim", namespace: NAMESPACE, uid: this.newUid(), annotations },
      spec,
    });
    const claim = { namespace: NAMESPACE, name: "gone", uid: this.newUid() };
    const metadata = {
      name: "foreign-volume",
      labels: { "local.mooring.dev/node": "n1" },
      annotations: { "pv.kubernetes.io/provisioned-by": "example.org/other" },
    };
    api.create("persistentvolumes", {
      metadata,
      spec: {
        claimRef: claim,
        local: { path: "/mnt/foreign" },
        persistentVolumeReclaimPolicy: "Delete",
        capacity: { storage: "4Mi" },
      },
    });
  }

  /** Pods that use a claim. */
  podsOf(claim: string) {
    return this.engine.api.list("pods").filter((pod) => claimNameOf(pod) === claim);
  }

  #mayCrash({ process, site, phase }: SiteVisit): boolean {
    const { crashPoint } = this;
    if (crashPoint === undefined || crashPoint.site !== `${site}/${phase}` || !/^(keeper|provisioner)/.test(process))
      return false;
    if (crashPoint.skip > 0) {
      crashPoint.skip -= 1;
      return false;
    }
    this.crashPoint = undefined;
    this.judge.count("crashes");
    return true;
  }
}
