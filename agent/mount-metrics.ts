import type { Clock } from "../common/runtime/clock.ts";
import type { Counter, Histogram, Metrics } from "../common/runtime/metrics.ts";
import { leaksIn } from "./core/leaks.ts";
import type { MountScan } from "./core/mounted-volumes.ts";
import { type Decision, type NodeState, shownMountedVolumes } from "./core/node-state.ts";
import type { MountNotifier } from "./sources/mount-notifier.ts";

interface MountMetricsParts {
  readonly metrics: Metrics;
  readonly mountNotifier: Pick<MountNotifier, "mode">;
  readonly clock: Clock;
}

/** A mount table is read and parsed in a fraction of a millisecond, or in seconds while the kernel holds its lock. */
const SCAN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10];

const OUTCOMES = ["complete", "incomplete", "failed"] as const;

/** The metrics of the mount table and of its content. */
export class MountMetrics {
  readonly #seconds: Histogram;
  readonly #scans: Counter<"outcome">;
  readonly #malformed: Counter;
  readonly #seen: Counter;
  readonly #acknowledged: Counter;

  constructor(parts: MountMetricsParts, stateOf: () => NodeState) {
    const { metrics } = parts;
    this.#seconds = metrics.histogram({
      name: "mooring_mount_table_scan_seconds",
      help: "Time of a scan of the mount table: to read and parse it, again where a second scan has to confirm the first, and to store the result.",
      buckets: SCAN_SECONDS,
    });
    this.#scans = metrics.counter({
      name: "mooring_mount_table_scans_total",
      help: "Scans of the mount table, by whether absences count in them.",
      labels: ["outcome"],
      known: OUTCOMES.map((outcome) => ({ outcome })),
    });
    this.#malformed = metrics.counter({
      name: "mooring_mount_table_malformed_lines_total",
      help: "Lines of the mount table that could not be read and may have hidden a volume, counted in each scan.",
    });
    this.#seen = metrics.counter({
      name: "mooring_unmounts_total",
      help: "Unmounts that this process has seen in the mount table.",
    });
    this.#acknowledged = metrics.counter({
      name: "mooring_unmount_records_acknowledged_total",
      help: "Unmount records, those of earlier processes included, that the aggregator has acknowledged.",
    });
    registerState(parts, stateOf);
  }

  /** A scan that took so long; without a table it failed. Milliseconds. */
  scanned(tookMs: number, scan: MountScan | undefined): void {
    this.#seconds.observe({}, tookMs / 1000);
    this.#scans.increment({ outcome: outcomeOf(scan) });
    this.#malformed.increment({}, scan?.damagedLines ?? 0);
  }

  decided(decisions: readonly Decision[]): void {
    this.#seen.increment({}, decisions.filter(({ kind }) => kind === "recorded").length);
  }

  /** So many unmount records were acknowledged. */
  acknowledged(count: number): void {
    this.#acknowledged.increment({}, count);
  }
}

function outcomeOf(scan: MountScan | undefined): (typeof OUTCOMES)[number] {
  if (scan === undefined) return "failed";
  return scan.incomplete === undefined ? "complete" : "incomplete";
}

/** What is known of the node, as numbers. */
function registerState({ metrics, mountNotifier, clock }: MountMetricsParts, stateOf: () => NodeState): void {
  const gauge = (name: `mooring_${string}`, help: string, read: (state: NodeState) => number | undefined): void =>
    metrics.gauge({ name, help }, () => read(stateOf()));
  const ageSeconds = (stamp: number): number => Math.max(0, clock.monotonicMs() - stamp) / 1000;
  gauge("mooring_mount_table_polled", "1 when the kernel notifies about changes, 0 with a timer.", () =>
    mountNotifier.mode === "poll" ? 1 : 0,
  );
  gauge(
    "mooring_mount_table_complete_scan_age_seconds",
    "How long ago the last scan ended in which absences count; nothing before the first.",
    ({ scan }) => scan && ageSeconds(scan.endedAt),
  );
  gauge("mooring_mounted_volumes", "Volumes that the mount table shows.", shownMountedVolumes);
  gauge(
    "mooring_unmount_records_unacknowledged",
    "Ends of use that the aggregator has not settled yet.",
    ({ unmountRecords }) => unmountRecords.length,
  );
  gauge(
    "mooring_unmount_records_oldest_unacknowledged_seconds",
    "Age of the oldest end of use that the aggregator has not settled yet, or of this boot where it is of an earlier one; 0 without any.",
    ({ unmountRecords }) =>
      unmountRecords.length === 0 ? 0 : ageSeconds(Math.min(...unmountRecords.map(({ by }) => by))),
  );
  metrics.series(
    {
      name: "mooring_leaked_mounts",
      help: "Mounts without a known user for five minutes: their pod is gone, or no pod's mount depends on them.",
      labels: ["kind"],
    },
    () => {
      const kinds = leaksIn(stateOf(), clock.monotonicMs()).map(({ kind }) => kind);
      return (["orphaned", "unused-staging"] as const).map((kind) => ({
        labels: { kind },
        value: kinds.filter((one) => one === kind).length,
      }));
    },
  );
}
