import type { ReportAnswer } from "./node-report.ts";

/**
 * Both sides refuse fields that they do not know, so a newer aggregator must not send any to an older agent. An agent says in the query of
 * its reports which answers it understands, where an older aggregator does not look; without a word it is the first version.
 * Aggregators are upgraded before agents: what a newer report has, an older aggregator refuses.
 */
export const ANSWER_QUERY = { name: "answer", version: 3 } as const;

/** The path of a node's reports, with what this agent understands. `base` is what comes before it, without a slash at its end. */
export function reportPath(base: string, node: string): string {
  const { name, version } = ANSWER_QUERY;
  return `${base}/v1/nodes/${encodeURIComponent(node)}/report?${name}=${version}`;
}

/** The answer without what an agent does not understand that asked with this query. */
export function answerFor(query: URLSearchParams, answer: ReportAnswer): ReportAnswer {
  const asked = query.get(ANSWER_QUERY.name) ?? "1";
  const version = /^[0-9]{1,4}$/.test(asked) ? Number(asked) : 1;
  if (version >= 3) return answer;
  const { session: _, ...second } = answer;
  if (version === 2) return second;
  const { forget, reach, whole } = second;
  return { forget, ...(reach !== undefined && { reach }), ...(whole !== undefined && { whole }) };
}
