import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";

/** Label values of one series. */
export type Labels<L extends string> = Readonly<Record<L, string>>;

/** Counts up from zero; its name ends in `_total`. */
export interface Counter<L extends string = never> {
  readonly increment: (labels: Labels<L>, by?: number) => void;
}

/** Observations in base units, such as `_seconds`. */
export interface Histogram<L extends string = never> {
  readonly observe: (labels: Labels<L>, value: number) => void;
}

/** Every Prometheus client library uses these names for process metrics; dashboards expect them. */
type ProcessName = "process_resident_memory_bytes" | "process_cpu_seconds_total" | "process_start_time_seconds";

/** client-go and controller-runtime use these names; dashboards of controllers expect them. */
type ControllerName = `workqueue_${string}` | `rest_client_${string}` | "leader_election_master_status";

/** sigs.k8s.io/sig-storage-lib-external-provisioner uses these names; dashboards of other provisioners expect them. */
type ProvisionerName = `controller_persistentvolume${"claim_provision" | "_delete"}_${
  | "total"
  | "failed_total"
  | "duration_seconds"}`;

/** Name, help text and labels. */
export interface MetricOptions<L extends string> {
  readonly name: `mooring_${string}` | ProcessName | ControllerName | ProvisionerName;
  readonly help: string;
  readonly labels?: readonly L[];
}

/** A counter; the series in `known` exist from the start, as 0: an event that has not happened yet must be visible, too. */
export type CounterOptions<L extends string> = MetricOptions<L> & { readonly known?: readonly Labels<L>[] };

export type HistogramOptions<L extends string> = MetricOptions<L> & { readonly buckets: readonly number[] };

/** Series of one name that are computed at each scrape; a gauge without a type. */
export type SeriesOptions<L extends string> = MetricOptions<L> & { readonly type?: "counter" | "gauge" };

/** One value of a series. */
export interface Sample<L extends string> {
  readonly labels: Labels<L>;
  readonly value: number;
}

/** Description of a metric. */
export interface MetricDescription {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

/** The metrics of one process, in the Prometheus text format. */
export interface Metrics {
  readonly counter: <L extends string = never>(options: CounterOptions<L>) => Counter<L>;
  readonly histogram: <L extends string = never>(options: HistogramOptions<L>) => Histogram<L>;
  /** A value that is computed at each scrape; undefined when there is none yet. */
  readonly gauge: (options: MetricOptions<never>, read: () => number | undefined) => void;
  /** Values that are computed at each scrape, one series per sample. A counter's value must never fall. */
  readonly series: <L extends string = never>(options: SeriesOptions<L>, read: () => Iterable<Sample<L>>) => void;
  /** All metrics, in the order in which they were created. */
  readonly list: () => readonly MetricDescription[];
  readonly text: () => Promise<string>;
  readonly contentType: string;
}

/** Has its own registry, so that one process can have two. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const list: MetricDescription[] = [];
  const base = <L extends string>({ name, help, labels = [] }: MetricOptions<L>, type: MetricDescription["type"]) => {
    list.push({ name, type, help, labels });
    return { name, help, labelNames: [...labels], registers: [registry] };
  };
  const series: Metrics["series"] = (options, read) => {
    if (options.type === "counter") readCounter(base(options, "counter"), read);
    else readGauge(base(options, "gauge"), read);
  };
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    list: () => list,
    series,
    counter: ({ known = [], ...options }) => {
      const counter = new PromCounter(base(options, "counter"));
      for (const labels of known) counter.inc(labels, 0);
      return { increment: (labels, by = 1) => counter.inc(labels, by) };
    },
    histogram: (options) => {
      const histogram = new PromHistogram({ ...base(options, "histogram"), buckets: [...options.buckets] });
      return { observe: (labels, value) => histogram.observe(labels, value) };
    },
    gauge: (options, read) => {
      const sample = (): readonly Sample<never>[] => {
        const value = read();
        return value === undefined ? [] : [{ labels: {}, value }];
      };
      series(options, sample);
    },
  };
}

interface PromOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: L[];
  readonly registers: Registry[];
}

function readGauge<L extends string>(options: PromOptions<L>, read: () => Iterable<Sample<L>>): void {
  new PromGauge({
    ...options,
    collect() {
      this.reset();
      // A gauge without labels would be 0 after its reset, but a missing value is not 0.
      if (options.labelNames.length === 0) this.remove();
      for (const { labels, value } of read()) this.set(labels, value);
    },
  });
}

function readCounter<L extends string>(options: PromOptions<L>, read: () => Iterable<Sample<L>>): void {
  new PromCounter({
    ...options,
    collect() {
      this.reset();
      if (options.labelNames.length === 0) this.remove();
      for (const { labels, value } of read()) this.inc(labels, value);
    },
  });
}

/** Limits label values that come from outside: the first `most` different ones stay, all later ones become `other`. */
export function boundedLabel(most: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.size < most) known.add(value);
    return known.has(value) ? value : "other";
  };
}
