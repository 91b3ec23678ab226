import type { Clock } from "../../common/runtime/clock.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { createLogger } from "../../common/runtime/logger.ts";
import { decodeNodeMessage, isReport, MAX_REPORT_BYTES, type NodeReport } from "../../common/storage/node-report.ts";
import type { Owner } from "../rig/process/owner.ts";

/** Takes an agent's reports in place of the aggregator, and resolves when one shows the awaited state. */
export interface Receiver {
  readonly url: string;
  /** Resolves with the arrival of such a report, on the monotonic clock. */
  readonly reported: (holds: (report: NodeReport) => boolean) => Promise<number>;
}

export async function startReceiver(owner: Owner): Promise<Receiver> {
  const clock: Clock = owner.clock;
  const waiters = new Set<(report: NodeReport) => void>();
  const server = await listen(
    [
      {
        method: "PUT",
        path: "/v1/nodes/:node/report",
        maxBodyBytes: MAX_REPORT_BYTES,
        answer: async ({ body }) => {
          const decoded = decodeNodeMessage(JSON.parse(await body()));
          if (!decoded.ok) return { status: 400, body: decoded.problems.join("; ") };
          if (!isReport(decoded.value)) return { status: 200, body: JSON.stringify({ forget: [] }) };
          for (const waiter of waiters) waiter(decoded.value);
          return { status: 200, body: JSON.stringify({ forget: decoded.value.unmountRecords.map(({ id }) => id) }) };
        },
      },
    ],
    { host: "127.0.0.1", port: 0 },
    createLogger("silent"),
  );
  owner.defer(() => server.close());
  return {
    url: server.url,
    reported: (holds) => {
      const met = Promise.withResolvers<number>();
      const waiter = (report: NodeReport): void => {
        if (!holds(report)) return;
        waiters.delete(waiter);
        met.resolve(clock.monotonicMs());
      };
      waiters.add(waiter);
      return met.promise;
    },
  };
}
