import type { Route, RouteAnswer } from "../../common/runtime/http-server.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import {
  decodeNodeMessage,
  MAX_REPORT_BYTES,
  type NodeMessage,
  type ReportAnswer,
} from "../../common/storage/node-report.ts";

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

/** `PUT /v1/nodes/{node}/report`: takes the state of a node, and answers which of its releases may be forgotten. */
export function reportRoute(onReport: (report: NodeMessage) => ReportOutcome, reports: Counter<"outcome">): Route {
  return {
    method: "PUT",
    path: "/v1/nodes/:node/report",
    maxBodyBytes: MAX_REPORT_BYTES,
    answer: async ({ params, body }) => {
      const decoded = decodeNodeMessage(parseJson(await body()));
      if (!decoded.ok) return refuse(reports, `the report is invalid:\n${decoded.problems.join("\n")}`);
      const report = decoded.value;
      if (report.node !== params.node)
        return refuse(reports, `the report is of node "${report.node}", the path names "${params.node}"`);
      const outcome = onReport(report);
      reports.increment({ outcome: outcome.kind });
      if (outcome.kind === "accepted") return json(200, outcome.answer);
      // A report that came too late is a success for its sender: a newer one is known, there is nothing to send again. Should it be
      // the sender's newest all the same, it must not take what it sent for known.
      if (outcome.kind === "stale" || outcome.kind === "unknown") return json(200, { forget: [], whole: true });
      if (outcome.kind === "later") return json(200, { forget: [] });
      // The next connection may lead to who does lead.
      return { status: 503, body: `${outcome.why}\n`, isLast: true };
    },
  };
}

function refuse(reports: Counter<"outcome">, why: string): RouteAnswer {
  reports.increment({ outcome: "invalid" });
  return { status: 400, body: `${why}\n` };
}

function json(status: number, value: ReportAnswer): RouteAnswer {
  return { status, body: JSON.stringify(value), contentType: "application/json" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
