import { type Acceptance, acceptInSteps, type Receipt } from "../../../../aggregator/core/nodes/fleet.ts";
import type { NodeView } from "../../../../aggregator/core/nodes/node-view.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { NOON, reportWith } from "../world.ts";

/** A report accepted at once. */
export function acceptReport(known: NodeView | undefined, report: NodeReport, receipt: Receipt): Acceptance {
  const steps = acceptInSteps(known, report, receipt);
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** A report and its receipt. The boot clock of the node shows 2,000 at noon. */
export interface SentReport {
  readonly report: NodeReport;
  readonly receipt: Receipt;
}

/** A report whose scan ended at a time of the boot clock and took a millisecond, sent at once. */
export function sent(endedAt: number, fields: Partial<NodeReport> = {}, receipt: Partial<Receipt> = {}): SentReport {
  const report = reportWith({ scan: { beganAt: endedAt - 1, endedAt }, ...fields });
  return { report, receipt: { atMs: NOON - 2_000 + report.sentAt, widthMs: 0, nodeBootId: report.bootId, ...receipt } };
}

/** What is known of the node after these reports. */
export function viewAfter(...reports: readonly SentReport[]): NodeView {
  let view: NodeView | undefined;
  for (const { report, receipt } of reports) {
    const result = acceptReport(view, report, receipt);
    if (result.kind !== "accepted") throw new Error(result.kind);
    view = result.view;
  }
  if (view === undefined) throw new Error("no report");
  return view;
}
