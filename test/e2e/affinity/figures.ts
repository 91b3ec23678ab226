/** How long it took until a pod was rejected, of one kind. */
export interface Timing {
  /** What put the pods where they were, in a few words. */
  readonly kind: string;
  /** From then to `Failed`, milliseconds. */
  readonly tookMs: number;
  /** From the binding of the pod, or from another moment, which `kind` names. */
  readonly isFromBind: boolean;
}

/** The smallest of these numbers that no more than this share of them exceed. Throws a RangeError when there are none. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (found === undefined) throw new RangeError("there is nothing to measure");
  return found;
}

const HEAD = ["pod on a wrong node", "pods", "p50", "p99", "slowest"] as const;

/** A table with a row for each kind, and one for all. */
export function timingRows(timings: readonly Timing[]): readonly (readonly string[])[] {
  const kinds = [...new Set(timings.map(({ kind }) => kind))];
  const row = (name: string, of: readonly Timing[]): readonly string[] => {
    const took = of.map(({ tookMs }) => tookMs);
    return [name, String(of.length), ...[0.5, 0.99, 1].map((share) => seconds(quantile(took, share)))];
  };
  const rows = kinds.map((kind) =>
    row(
      kind,
      timings.filter((one) => one.kind === kind),
    ),
  );
  const bound = timings.filter(({ isFromBind }) => isFromBind);
  return [HEAD, ...rows, ...(bound.length === 0 ? [] : [row("all from bind to Failed", bound)])];
}

/** Seconds with two decimals, rounded up: no figure may look better than it is. */
export function seconds(ms: number): string {
  return `${(Math.ceil(ms / 10) / 100).toFixed(2)} s`;
}
