import { createReportSender, type ReportSender } from "../../../agent/sinks/report-sender.ts";
import { createUndiciTransport } from "../../../common/kube/undici-transport.ts";
import type { Clock } from "../../../common/runtime/clock.ts";
import type { Logger } from "../../../common/runtime/logger.ts";
import type { Counter } from "../../../common/runtime/metrics.ts";
import { jitter, type Random } from "../../../common/runtime/random.ts";
import { isReport } from "../../../common/storage/node-report.ts";
import { NodeStory, type NodeStoryOptions, type SimulatedMountedVolume } from "./node-story.ts";

/** What the agents of a fleet share. */
export interface FleetParts {
  readonly clock: Clock;
  /** By how much the nodes' boot clocks are ahead of the clock. */
  readonly aheadMs: number;
  readonly random: Random;
  readonly logger: Logger;
  /** Base URL of the aggregator. */
  readonly url: string;
  readonly reports: Counter<"outcome">;
  /** The version that its pod watch has reached. */
  readonly podsResourceVersion: () => string;
}

/** The heartbeat interval, and its jitter. */
const HEARTBEAT_MS = 30_000;
const HEARTBEAT_JITTER = 0.2;

/** An agent without a node: it has its own connection, and sends what an agent sends, at the same times. */
export class SimulatedAgent {
  readonly #parts: FleetParts;
  readonly #story: NodeStory;
  readonly #sender: ReportSender;
  readonly #transport: ReturnType<typeof createUndiciTransport>;
  #acceptedGeneration: number | undefined;

  constructor(parts: FleetParts, options: NodeStoryOptions) {
    this.#parts = parts;
    this.#story = new NodeStory(options);
    this.#transport = createUndiciTransport({ origin: new URL(parts.url).origin, maxConnections: 1 });
    this.#sender = createReportSender(
      { ...parts, transport: this.#transport },
      {
        path: `/v1/nodes/${encodeURIComponent(options.node)}/report`,
        onAnswer: ({ forget, whole }, sent) => {
          this.#acceptedGeneration = whole === true ? undefined : sent.generation;
          this.#story.forget(forget);
          if (whole === true && !isReport(sent)) this.#submit();
        },
      },
    );
  }

  /** True once a report has been accepted. */
  get hasReported(): boolean {
    return this.#sender.acceptedAt() !== undefined;
  }

  /** A volume is mounted: the agent knows and reports it at once. */
  mount(mountedVolume: SimulatedMountedVolume): void {
    this.#story.mount(mountedVolume, this.#now);
    this.#submit();
  }

  /** The volume is unmounted. */
  unmount(mountedVolume: SimulatedMountedVolume): void {
    this.#story.unmount(mountedVolume, this.#now);
    this.#submit();
  }

  /** Reports from `afterMs` on, until the signal is aborted. */
  async run(afterMs: number, signal: AbortSignal): Promise<void> {
    await this.#parts.clock.sleep(afterMs, signal);
    await Promise.all([this.#sender.run(signal), this.#beat(signal)]);
    await this.#transport.close();
  }

  async #beat(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts;
    while (!signal.aborted) {
      this.#submit();
      await clock.sleep(jitter(random, HEARTBEAT_MS, HEARTBEAT_JITTER), signal);
    }
  }

  get #now(): number {
    const { clock, aheadMs } = this.#parts;
    return clock.monotonicMs() + aheadMs;
  }

  #submit(): void {
    const { podsResourceVersion } = this.#parts;
    this.#sender.submit(() => {
      const moment = { now: this.#now, podsResourceVersion: podsResourceVersion() };
      const isKnown = this.#story.generation === this.#acceptedGeneration;
      return isKnown ? this.#story.heartbeat(moment) : this.#story.report(moment);
    });
  }
}
