import { matchNodeSelector, type SelectableNode } from "../../../../common/storage/node-selector.ts";
import { parseNodeSelector } from "../../../../common/storage/node-selector-terms.ts";

export const LABELS = { zone: "a", disks: "4", odd: "x4", empty: "", huge: "9007199254740993" };
export const NODE = { name: "n1", labels: LABELS };

export const asks = (key: string, operator: string, values?: unknown) => ({ key, operator, values });
export const ofLabels = (...matchExpressions: unknown[]) => ({ matchExpressions });
export const ofFields = (...matchFields: unknown[]) => ({ matchFields });
export const selector = (...nodeSelectorTerms: unknown[]) => ({ nodeSelectorTerms });

/** The kind of the answer, and the path where it is unknown. */
export function answerOf(input: unknown, node: SelectableNode = NODE): string {
  const answer = matchNodeSelector(parseNodeSelector(input), node);
  return answer.kind === "unknown" ? `unknown: ${answer.path}` : answer.kind;
}
