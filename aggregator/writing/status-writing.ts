import { hostname } from "node:os";
import { countEvents } from "../../common/kube/event-metrics.ts";
import { createEventRecorder, type EventRecorder } from "../../common/kube/events.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { type UpstreamPolicy, type UpstreamSetting, upstreamPolicy } from "../core/claims/write.ts";
import {
  type ClaimStatusWriter,
  createClaimStatusWriter,
  createVolumeWriter,
  type VolumeWriter,
} from "../sinks/writers.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";
import { createServerVersion } from "../sources/server-facts.ts";
import { ClaimWarnings } from "./claim-warnings.ts";

interface StatusWritingParts extends OutsideParts {
  /** The writes of every claim may have changed. */
  readonly onPolicy: () => void;
}

/** What one write takes, on an idle API server and on one that queues requests. Seconds. */
const WRITE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Sends everything that the decisions about claims and volumes lead to. */
export class StatusWriting {
  readonly writer: ClaimStatusWriter;
  readonly volumeWriter: VolumeWriter;
  readonly warnings: ClaimWarnings;
  readonly #events: EventRecorder;
  readonly #version: ReturnType<typeof createServerVersion>;
  readonly #setting: UpstreamSetting;

  constructor(parts: StatusWritingParts, setting: UpstreamSetting) {
    const { metrics, logger } = parts;
    this.#setting = setting;
    const counter = (name: `mooring_${string}`, help: string): Counter<"outcome"> =>
      metrics.counter({ name, help, labels: ["outcome"] });
    this.writer = createClaimStatusWriter({
      ...parts,
      writes: counter("mooring_status_writes_total", "Writes of claim status."),
      seconds: metrics.histogram({
        name: "mooring_status_write_seconds",
        help: "How long the API server took for a write.",
        buckets: WRITE_SECONDS,
      }),
    });
    const volumeWrites = counter("mooring_volume_writes_total", "Writes of annotations of PersistentVolumes.");
    this.volumeWriter = createVolumeWriter(parts.client, volumeWrites);
    this.#events = createEventRecorder(parts, {
      controller: "mooring.dev/aggregator",
      instance: hostname(),
      outcomes: countEvents(metrics),
    });
    this.warnings = new ClaimWarnings({ ...parts, emit: this.#events.emit });
    this.#version = createServerVersion(parts, ({ major, minor }) => {
      logger.info({ version: `${major}.${minor}`, upstreamCondition: this.policy() }, "version of the API server read");
      parts.onPolicy();
    });
  }

  readonly policy = (): UpstreamPolicy => upstreamPolicy(this.#setting, this.#version.version());

  /** Reads what it needs from the API server, also while another replica leads. */
  readonly watch = (signal: AbortSignal): Promise<void> => this.#version.run(signal);

  /** Writes events while this replica leads. */
  readonly writeEvents = (signal: AbortSignal): Promise<void> => this.#events.run(signal);
}
