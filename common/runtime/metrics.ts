import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";

/** Values for the labels of one series. */
export type Labels<L extends string> = Readonly<Record<L, string>>;

/** Counts up from zero; its name ends in `_total`. */
export interface Counter<L extends string = never> {
  readonly increment: (labels: Labels<L>, by?: number) => void;
}

/** Observations in base units, such as `_seconds`. */
export interface Histogram<L extends string = never> {
  readonly observe: (labels: Labels<L>, value: number) => void;
}

/** What every Prometheus client calls its process by; dashboards expect these names. */
type ProcessName = "process_resident_memory_bytes" | "process_cpu_seconds_total" | "process_start_time_seconds";

/** What client-go and controller-runtime call them: dashboards of controllers expect these names. */
type ControllerName = `workqueue_${string}` | `rest_client_${string}` | "leader_election_master_status";

/** What sigs.k8s.io/sig-storage-lib-external-provisioner calls them: dashboards of other provisioners expect these names. */
type ProvisionerName = `controller_persistentvolume${"claim_provision" | "_delete"}_${
  | "total"
  | "failed_total"
  | "duration_seconds"}`;

/** A name, what it means, and its labels. */
export interface MetricOptions<L extends string> {
  readonly name: `mooring_${string}` | ProcessName | ControllerName | ProvisionerName;
  readonly help: string;
  readonly labels?: readonly L[];
}

/** A counter; `known` are series that are there from the start, as 0: what has not happened yet must be seen, too. */
export type CounterOptions<L extends string> = MetricOptions<L> & { readonly known?: readonly Labels<L>[] };

export type HistogramOptions<L extends string> = MetricOptions<L> & { readonly buckets: readonly number[] };

/** Series of one name that are read when somebody asks. */
export type SeriesOptions<L extends string> = MetricOptions<L> & { readonly type: "counter" | "gauge" };

/** One value of a series. */
export interface Sample<L extends string> {
  readonly labels: Labels<L>;
  readonly value: number;
}

/** What is known of a metric before anything was measured. */
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
  /** A value that is read when somebody asks; nothing when there is none yet. */
  readonly gauge: (options: MetricOptions<never>, read: () => number | undefined) => void;
  /** Values that are read when somebody asks: as many series as there are samples then. A counter's must never fall. */
  readonly series: <L extends string = never>(options: SeriesOptions<L>, read: () => Iterable<Sample<L>>) => void;
  /** All of them, in the order in which they were made. */
  readonly list: () => readonly MetricDescription[];
  readonly text: () => Promise<string>;
  readonly contentType: string;
}

/** A registry of its own, so that two may live in one process. */
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
      series({ ...options, type: "gauge" }, sample);
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
      // A gauge without labels is 0 after its reset: nothing is not 0.
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

/** For label values that come from outside: the first `most` different ones stay, whatever comes after them is `other`. */
export function boundedLabel(most: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.size < most) known.add(value);
    return known.has(value) ? value : "other";
  };
}
