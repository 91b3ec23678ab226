import * as v from "valibot";

/** What is asked of a node's labels, or of one of its fields. */
export interface NodeRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** All of its requirements have to be met. */
export interface NodeSelectorTerm {
  readonly labels: readonly NodeRequirement[];
  readonly fields: readonly NodeRequirement[];
}

/** The node as a selector sees it. */
export interface SelectableNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

const requirement = v.object({
  key: v.string(),
  operator: v.string(),
  values: v.optional(v.nullable(v.array(v.string()), []), []),
});
const requirements = v.optional(v.nullable(v.array(requirement), []), []);

const selector = v.object({
  nodeSelectorTerms: v.array(v.object({ matchExpressions: requirements, matchFields: requirements })),
});

/** The terms of a node selector as the API has it; nothing for what is none. */
export function nodeSelectorTerms(input: unknown): readonly NodeSelectorTerm[] | undefined {
  const result = v.safeParse(selector, input);
  if (!result.success) return undefined;
  return result.output.nodeSelectorTerms.map(({ matchExpressions: labels, matchFields: fields }) => ({
    labels,
    fields,
  }));
}

/**
 * False where it is proven that no term matches the node, by the rules of k8s.io/component-helpers/scheduling/corev1/nodeaffinity: one
 * term is enough, of a term every requirement counts, and an empty term matches nothing. What is not understood may match.
 */
export function mayMatch(terms: readonly NodeSelectorTerm[], node: SelectableNode): boolean {
  return terms.some(({ labels, fields }) => {
    if (labels.length === 0 && fields.length === 0) return false;
    const name = { "metadata.name": node.name };
    return (
      labels.every((one) => isMet(one, node.labels[one.key]) !== false) &&
      fields.every((one) => one.key !== "metadata.name" || isMet(one, name[one.key]) !== false)
    );
  });
}

/** Nothing for a requirement that is not understood. */
function isMet({ operator, values }: NodeRequirement, value: string | undefined): boolean | undefined {
  if (operator === "In") return value !== undefined && values.includes(value);
  if (operator === "NotIn") return value === undefined || !values.includes(value);
  if (operator === "Exists") return value !== undefined;
  if (operator === "DoesNotExist") return value === undefined;
  if (operator !== "Gt" && operator !== "Lt") return undefined;
  const [limit] = values;
  if (values.length !== 1 || !isInteger(limit)) return undefined;
  if (!isInteger(value)) return false;
  return operator === "Gt" ? BigInt(value) > BigInt(limit) : BigInt(value) < BigInt(limit);
}

function isInteger(text: string | undefined): text is string {
  return text !== undefined && /^-?\d{1,18}$/.test(text);
}
