import { projectClaim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeMessage, NodeReport, ReportAnswer } from "../../../common/storage/node-report.ts";
import type { ApiObject, JsonObject, ResourceName } from "../../simulation/engine/api/objects.ts";
import { House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, CLAIM, nodeRef, podRef } from "../objects.ts";
import { type Replica, startReplica, statusIn, untilLeading } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

export const MIN_MS = 60_000;

const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;

interface SceneOptions {
  readonly nodes?: readonly string[];
  readonly claims?: readonly Parameters<typeof addClaim>[1][];
  readonly argv?: readonly string[];
  /** Of API servers, which answer in turn. */
  readonly servers?: number;
}

/**
 * A house with nodes whose agents report when a test says so, claims, and one replica that leads. Replicas renew their Lease so rarely that
 * hours pass quickly: before another one leads, one has to be stopped in good order.
 */
export class Scene {
  readonly house: House;
  readonly nodes = new Map<string, ScriptedNode>();
  readonly #argv: readonly string[];
  readonly #beganMs: number;
  #leader: Replica | undefined;
  #replicas = 0;

  constructor({ nodes = ["n1"], claims = [{}], argv = [], servers = 1 }: SceneOptions = {}) {
    this.house = new House(servers);
    this.#beganMs = this.house.nowMs;
    this.#argv = argv;
    let requests = 0;
    if (servers > 1) this.house.setFaults(() => ({ server: requests++ % servers }));
    for (const name of nodes) this.join(name);
    for (const claim of claims) addClaim(this.house, claim);
  }

  /** A node joins, with an agent. */
  join(name: string, labels: JsonObject = {}): ScriptedNode {
    addNode(this.house, name, { labels });
    addAgentPod(this.house, name);
    const node = new ScriptedNode(this.house, name);
    this.nodes.set(name, node);
    return node;
  }

  /** Its object is deleted, and with it the pod of its agent. */
  remove(name: string): void {
    this.house.api.delete(nodeRef(name));
    this.house.api.delete(podRef(`agent-${name}`, "mooring-agents"));
  }

  /** An administrator declares that the machine is off for good, or takes that back. */
  declareOff(isOff: boolean, name = "n1"): void {
    const taints = isOff ? [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] : [];
    const conditions = [{ type: "Ready", status: isOff ? "False" : "True" }];
    this.house.api.update(nodeRef(name), (node) => ({ ...node, spec: { ...Object(node.spec), taints } }));
    const change = (node: ApiObject): ApiObject => ({ ...node, status: { ...Object(node.status), conditions } });
    this.house.api.update(nodeRef(name), change, { subresource: "status" });
  }

  /** The machine is started anew, and its kubelet says so. */
  reboot(name = "n1"): void {
    const node = this.node(name);
    node.reboot();
    const nodeInfo = { bootID: node.bootId, kubeletVersion: "v1.36.3" };
    const change = (object: ApiObject): ApiObject => ({ ...object, status: { ...Object(object.status), nodeInfo } });
    this.house.api.update(nodeRef(name), change, { subresource: "status" });
  }

  node(name = "n1"): ScriptedNode {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`no node is called ${name}`);
    return node;
  }

  get leader(): Replica {
    if (this.#leader === undefined) throw new Error("no replica leads");
    return this.#leader;
  }

  /** A replica leads that comes now. */
  async lead(): Promise<Replica> {
    this.#leader = this.#start();
    await untilLeading(this.house, this.#leader);
    return this.#leader;
  }

  /** The replica that leads is stopped, and another one leads, which has watched for a while. */
  async handOver(): Promise<Replica> {
    const next = this.#start();
    await this.pass(5);
    await this.leader.stop();
    await untilLeading(this.house, next);
    this.#leader = next;
    return next;
  }

  /** The replica that leads dies, and another one leads, which comes when the Lease has run out. */
  async crash(): Promise<Replica> {
    this.leader.process.crash();
    this.house.api.update(LEASE, (lease) => ({ ...lease, spec: { ...Object(lease.spec), holderIdentity: "" } }));
    return await this.lead();
  }

  #start(): Replica {
    const name = `aggregator-${this.#replicas}`;
    const duration = this.#replicas === 0 ? "300s" : "60s";
    this.#replicas += 1;
    return startReplica(this.house, { name, argv: ["--leader-elect-lease-duration", duration, ...this.#argv] });
  }

  /** These nodes scan and report, all of them by default. Returns the answer to the last one. */
  async report(...names: readonly string[]): Promise<ReportAnswer> {
    let answer: ReportAnswer | undefined;
    for (const name of names.length === 0 ? this.nodes.keys() : names)
      answer = await this.send(this.node(name).report());
    if (answer === undefined) throw new Error("there is no node");
    return answer;
  }

  /** One node scans and reports, with these fields. */
  async reportWith(fields: Partial<NodeReport>, name = "n1"): Promise<ReportAnswer> {
    return await this.send(this.node(name).report(fields));
  }

  async send(message: NodeMessage): Promise<ReportAnswer> {
    return await this.leader.send(message);
  }

  async pass(seconds: number): Promise<void> {
    await this.house.pass(seconds * 1_000);
  }

  /** The same, while these nodes report every half a minute. */
  async passReporting(seconds: number, ...names: readonly string[]): Promise<void> {
    for (let left = seconds; left > 0; left -= 30) {
      await this.pass(Math.min(30, left));
      await this.report(...names);
    }
  }

  /** The watches of a collection lag behind by so many seconds from now on. */
  lag(collection: ResourceName, seconds: number): void {
    for (const server of this.house.api.servers)
      server.lagMs = (resource) => (resource === collection ? seconds * 1_000 : 0);
  }

  /** The watch of a collection breaks off, and it cannot be listed anew before `house.refuse()`: what happened meanwhile is forgotten. */
  async unwatch(collection: ResourceName): Promise<void> {
    const { api } = this.house;
    for (const server of api.servers) server.cut();
    addPod(this.house, `between-${api.revision()}`, { volumes: [] });
    api.compact();
    let watches = 0;
    this.house.refuse((site) => {
      if (site === `watch ${collection}`) watches += 1;
      return site === `list ${collection}` || (site === `watch ${collection}` && watches > 1);
    });
    await this.pass(2);
  }

  /** Passes until so many seconds after the begin. */
  async until(seconds: number): Promise<void> {
    await this.pass(seconds - this.seconds);
  }

  /** How long it is since the begin. */
  get seconds(): number {
    return (this.house.nowMs - this.#beganMs) / 1_000;
  }

  addPod(...pod: Parameters<typeof addPod> extends [House, ...infer Rest] ? Rest : never): void {
    addPod(this.house, ...pod);
  }

  deletePod(name: string): void {
    this.house.api.delete(podRef(name));
  }

  status(name = "data"): ClaimStatus | undefined {
    return statusIn(this.house, { ...CLAIM, name });
  }

  /** The time of the status, in seconds after the begin. */
  since(name = "data"): number {
    return this.secondsAt(this.status(name)?.sinceMs ?? Number.NaN);
  }

  /** A time that an aggregator publishes, in seconds after the begin. Rounding and clocks make it late by up to five, which are left out. */
  secondsAt(ms: number): number {
    return Math.floor((ms - this.#beganMs) / 5_000) * 5;
  }

  /** The reasons of all events. */
  events(): readonly unknown[] {
    return this.house.api.list("events").map(({ reason }) => reason);
  }

  /** Each status of a claim that is written from now on. */
  watchStatuses(): readonly ClaimStatus[] {
    const statuses: ClaimStatus[] = [];
    this.house.api.observe(({ by, resource, object }) => {
      const isWritten = by !== undefined && resource === "persistentvolumeclaims";
      const status = isWritten ? projectClaim(object).status : undefined;
      if (status !== undefined) statuses.push(status);
    });
    return statuses;
  }
}

/** The scene as soon as a replica leads. */
export async function leadingScene(options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(options);
  await scene.lead();
  return scene;
}
