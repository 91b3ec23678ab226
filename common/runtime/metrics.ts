import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";

/** Values for the labels of one series. */
type Labels<L extends string> = Readonly<Record<L, string>>;

/** Counts up from zero; its name ends in `_total`. */
export interface Counter<L extends string = never> {
  readonly increment: (labels: Labels<L>, by?: number) => void;
}

/** Observations in base units, such as `_seconds`. */
export interface Histogram<L extends string = never> {
  readonly observe: (labels: Labels<L>, value: number) => void;
}

/** A name, what it means, and its labels. */
interface MetricOptions<L extends string> {
  /** The second is what every Prometheus client calls it, and dashboards expect. */
  readonly name: `mooring_${string}` | "process_resident_memory_bytes";
  readonly help: string;
  readonly labels?: readonly L[];
}

/** The metrics of one process, in the Prometheus text format. */
export interface Metrics {
  readonly counter: <L extends string = never>(options: MetricOptions<L>) => Counter<L>;
  readonly histogram: <L extends string = never>(
    options: MetricOptions<L> & { readonly buckets: readonly number[] },
  ) => Histogram<L>;
  /** A value that is read when somebody asks; nothing when there is none yet. */
  readonly gauge: (options: MetricOptions<never>, read: () => number | undefined) => void;
  readonly text: () => Promise<string>;
  readonly contentType: string;
}

/** A registry of its own, so that two may live in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const base = <L extends string>({ name, help, labels = [] }: MetricOptions<L>) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    counter: (options) => {
      const counter = new PromCounter(base(options));
      return { increment: (labels, by = 1) => counter.inc(labels, by) };
    },
    histogram: (options) => {
      const histogram = new PromHistogram({ ...base(options), buckets: [...options.buckets] });
      return { observe: (labels, value) => histogram.observe(labels, value) };
    },
    gauge: (options, read) => {
      new PromGauge({
        ...base(options),
        collect() {
          const value = read();
          // Not reset(), which would say 0.
          if (value === undefined) this.remove();
          else this.set(value);
        },
      });
    },
  };
}
