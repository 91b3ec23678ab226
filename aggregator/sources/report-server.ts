import type { Route, RouteAnswer } from "../../common/runtime/http-server.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { answerFor } from "../../common/storage/answer-version.ts";
import {
  decodeNodeMessage,
  MAX_REPORT_BYTES,
  type NodeMessage,
  type ReportAnswer,
} from "../../common/storage/node-report.ts";
import { type GrantAccess, grantToAll } from "./report-access.ts";

/** What becomes of a report. */
export type ReportOutcome =
  | { readonly kind: "accepted"; readonly answer: ReportAnswer }
  | { readonly kind: "stale"; readonly why: string }
  /** A heartbeat for a state that is not known: the whole report is needed. */
  | { readonly kind: "unknown" }
  /** The same, but too many others were asked for theirs: it is asked at its next heartbeat. */
  | { readonly kind: "later" }
  /** Another process decides: nothing that is said here counts. */
  | { readonly kind: "not-leading"; readonly why: string }
  | { readonly kind: "not-ready"; readonly why: string };

/** Who takes reports. */
export interface ReportTaker {
  readonly onReport: (report: NodeMessage) => ReportOutcome;
  /** Why no agent is to reject a pod: every answer says so, whatever became of the report. */
  readonly holdRejections: () => string | undefined;
}

/**
 * `PUT /v1/nodes/{node}/report`: takes the state of a node, and answers which of its releases may be forgotten. Nothing of the body is
 * read before `grant` says that the caller may report for the node.
 */
export function reportRoute(taker: ReportTaker, reports: Counter<"outcome">, grant: GrantAccess = grantToAll): Route {
  return {
    method: "PUT",
    path: "/v1/nodes/:node/report",
    maxBodyBytes: MAX_REPORT_BYTES,
    answer: async ({ params, query, authorization, body }) => {
      const access = await grant({ authorization, node: params.node ?? "" });
      if (access.kind === "refused") {
        reports.increment({ outcome: access.outcome });
        return access.answer;
      }
      const decoded = decodeNodeMessage(parseJson(await body()));
      if (!decoded.ok) return refuse(reports, `the report is invalid:\n${decoded.problems.join("\n")}`);
      const report = decoded.value;
      if (report.node !== params.node)
        return refuse(reports, `the report is of node "${report.node}", the path names "${params.node}"`);
      if (access.podUid !== undefined && report.podUid !== access.podUid) {
        reports.increment({ outcome: "forbidden" });
        return { status: 403, body: "the report is of another pod than the token's\n" };
      }
      const outcome = taker.onReport(report);
      reports.increment({ outcome: outcome.kind });
      // The next connection may lead to who does lead.
      if (outcome.kind === "not-leading" || outcome.kind === "not-ready")
        return { status: 503, body: `${outcome.why}\n`, isLast: true };
      const hold = taker.holdRejections();
      return json(answerFor(query, { ...answerOf(outcome), ...(hold !== undefined && { holdRejections: hold }) }));
    },
  };
}

/** What the sender is told of its own message. */
function answerOf(outcome: Exclude<ReportOutcome, { readonly kind: "not-leading" | "not-ready" }>): ReportAnswer {
  if (outcome.kind === "accepted") return outcome.answer;
  if (outcome.kind === "later") return { forget: [] };
  // A report that came too late is a success for its sender: a newer one is known, there is nothing to send again. Should it be
  // the sender's newest all the same, it must not take what it sent for known.
  return { forget: [], whole: true };
}

function refuse(reports: Counter<"outcome">, why: string): RouteAnswer {
  reports.increment({ outcome: "invalid" });
  return { status: 400, body: `${why}\n` };
}

function json(value: ReportAnswer): RouteAnswer {
  return { status: 200, body: JSON.stringify(value), contentType: "application/json" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
