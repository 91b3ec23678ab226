import { createMetrics, type Metrics } from "../../../../common/runtime/metrics.ts";

/** All series of what `register` registers, without what explains them. */
export async function seriesOf(register: (metrics: Metrics) => unknown): Promise<readonly string[]> {
  const metrics = createMetrics();
  register(metrics);
  return (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}
