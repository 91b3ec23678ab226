import { readText } from "../../../common/kube/transport.ts";
import { createUndiciTransport } from "../../../common/kube/undici-transport.ts";
import type { Clock } from "../../../common/runtime/clock.ts";
import { type NodeMessage, reportPath } from "../../../common/storage/node-report.ts";
import { bootIdOf, digestOf, nodeName } from "../cluster/layout.ts";
import { NodeStory, type SimulatedMountedVolume } from "../fleet/node-story.ts";
import type { ReportWay } from "./report-way.ts";

/** The kind of a message: the whole state, the whole state with a change, or a heartbeat. */
export type Saying = "report" | "changed report" | "heartbeat";

/** The result of a message, and the time until its answer, including the connection if it needed one. Milliseconds. */
export interface Sent {
  readonly status: number;
  readonly ms: number;
}

/** Twenty uses and ten staged devices: what a node of the largest cluster that Mooring is built for has. */
const USES = 20;
const STAGED = 10;

/** An agent whose reports are measured one by one; the aggregator knows none of its volumes. */
export class LoadAgent {
  readonly #clock: Clock;
  readonly #story: NodeStory;
  readonly #transport: ReturnType<typeof createUndiciTransport>;
  readonly #path: string;
  readonly #way: ReportWay;
  readonly #node: number;

  constructor(clock: Clock, way: ReportWay, node: number) {
    const identity = { node: nodeName(node), bootId: bootIdOf(node), podUid: way.podUidOf(node) };
    this.#clock = clock;
    this.#way = way;
    this.#node = node;
    this.#story = new NodeStory({ ...identity, now: clock.monotonicMs(), mountedVolumes: mountedVolumesOf(node) });
    this.#transport = createUndiciTransport({ ...way.target, maxConnections: 1 });
    this.#path = reportPath("", identity.node);
  }

  /** Rejects without an answer. */
  async send(saying: Saying, signal: AbortSignal): Promise<Sent> {
    const body = JSON.stringify(this.#message(saying));
    const headers = {
      "content-type": "application/json",
      accept: "application/json",
      ...this.#way.headersOf(this.#node),
    };
    const begunAt = this.#clock.monotonicMs();
    const response = await this.#transport.send({ method: "PUT", path: this.#path, headers, body }, signal);
    await readText(response);
    return { status: response.status, ms: this.#clock.monotonicMs() - begunAt };
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #message(saying: Saying): NodeMessage {
    const now = this.#clock.monotonicMs();
    if (saying === "changed report") this.#story.mount(mountedVolumeOf(this.#node, USES + this.#story.generation), now);
    const moment = { now, podsResourceVersion: "1" };
    return saying === "heartbeat" ? this.#story.heartbeat(moment) : this.#story.report(moment);
  }
}

function mountedVolumesOf(node: number): readonly SimulatedMountedVolume[] {
  const uses = Array.from({ length: USES }, (_, slot) => mountedVolumeOf(node, slot));
  const staged = Array.from({ length: STAGED }, (_, slot): SimulatedMountedVolume => {
    const handleHash = digestOf(`staged ${node}/${slot}`);
    return { kind: "staging", volume: { by: "handle", driver: "block.csi.example.com", handleHash } };
  });
  return [...uses, ...staged];
}

/** After some changes an existing slot changes: a report does not grow without end. */
function mountedVolumeOf(node: number, slot: number): SimulatedMountedVolume {
  const at = slot % (USES + 5);
  const name = `pvc-${digestOf(`volume ${node}/${at}`).slice(0, 32)}`;
  return {
    kind: "pod",
    volume: { by: "name", name },
    podUid: digestOf(`pod ${node}/${at}`).slice(0, 36),
    pod: `team/web-${at}`,
  };
}
