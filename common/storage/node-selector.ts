import { type Labels, labelOf, parseInt64 } from "./label-syntax.ts";
import type { FieldRequirement, LabelRequirement, NodeSelector, SelectorTerm } from "./node-selector-terms.ts";

/** The node as a selector sees it. Without labels it has none. */
export interface SelectableNode {
  readonly name: string;
  readonly labels: Labels | null | undefined;
}

/** Whether a selector selects a node. `differs` and `unknown` come with a plain sentence of bounded length. */
export type SelectorAnswer =
  | { readonly kind: "matches" }
  | { readonly kind: "differs"; readonly why: string }
  | { readonly kind: "unknown"; readonly path: string; readonly why: string };

/** Three-valued logic (Kleene): `unsure` may be either. */
type Truth = "met" | "unmet" | "unsure";

const MATCHES = { kind: "matches" } as const;

const IS_RENAMED = "is an old name for a zone or region that the node has under the new one";

/** The labels of zones and regions before Kubernetes 1.17. PVs of that time keep these names; nodes may no longer have them. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
]);

/**
 * Whether a node selector selects the node, by the rules of k8s.io/component-helpers/scheduling/corev1/nodeaffinity: one term is enough,
 * a term needs all of its requirements, and a part that cannot be read counts only where no term matches. Fields other than
 * `metadata.name` are unknown: Kubernetes reads them as empty so far.
 */
export function matchNodeSelector(selector: NodeSelector, node: SelectableNode): SelectorAnswer {
  const found = evaluate(selector, node);
  if (found.kind !== "differs") return found;
  const { unmet } = found;
  if (unmet === undefined) return { kind: "differs", why: "it has no terms, so that it admits no node" };
  const why = describe(unmet, node.labels);
  const terms = selector.kind === "terms" ? selector.terms.length : 0;
  return { kind: "differs", why: terms === 1 ? why : `none of its ${terms} terms is met; of the first, ${why}` };
}

/**
 * Whether a PV's affinity matches a node with these labels, as the kubelet checks it before a mount (`CheckNodeAffinity` in
 * k8s.io/component-helpers/storage/volume/helpers.go): it uses a node of the labels alone, without a name, so `matchFields` restrict
 * nothing but have to be well formed.
 */
export function matchVolumeAffinity(affinity: NodeSelector, labels: SelectableNode["labels"]): SelectorAnswer {
  return matchNodeSelector(affinity, { name: "", labels });
}

/** False where a PV with this affinity provably cannot be mounted on a node with these labels. What is not understood may match. */
export function mayBeMounted(affinity: NodeSelector, labels: SelectableNode["labels"]): boolean {
  return evaluate(affinity, { name: "", labels }).kind !== "differs";
}

/** An answer without its sentence: most of the thousands of answers are never shown. */
type Evaluation =
  | Exclude<SelectorAnswer, { readonly kind: "differs" }>
  /** The first term's unmet requirement; undefined without terms. */
  | { readonly kind: "differs"; readonly unmet: LabelRequirement | FieldRequirement | undefined };

function evaluate(selector: NodeSelector, node: SelectableNode): Evaluation {
  if (selector.kind === "any") return MATCHES;
  if (selector.kind === "unreadable") return unknownAt(selector);
  let unknown: Evaluation | undefined;
  let differs: Evaluation | undefined;
  for (const term of selector.terms) {
    const found = term.kind === "unreadable" ? unknownAt(term) : evaluateTerm(term, node);
    if (found.kind === "matches") return found;
    if (found.kind === "unknown") unknown ??= found;
    else differs ??= found;
  }
  return unknown ?? differs ?? { kind: "differs", unmet: undefined };
}

function evaluateTerm({ labels, fields }: SelectorTerm, node: SelectableNode): Evaluation {
  const unmet = labels.find((one) => truthOf(one, node.labels) === "unmet");
  if (unmet !== undefined) return { kind: "differs", unmet };
  // Without a name Kubernetes ignores the fields.
  const named = node.name === "" ? [] : fields;
  const unmetField = named.find((one) => fieldTruth(one, node.name) === "unmet");
  if (unmetField !== undefined) return { kind: "differs", unmet: unmetField };
  const unsure = labels.find((one) => truthOf(one, node.labels) === "unsure");
  if (unsure !== undefined) return unknownAt({ path: `${unsure.path}.key`, why: IS_RENAMED });
  const unsureField = named.find((one) => fieldTruth(one, node.name) === "unsure");
  if (unsureField !== undefined) return unknownAt({ path: `${unsureField.path}.key`, why: "is not metadata.name" });
  return MATCHES;
}

function unknownAt({ path, why }: { readonly path: string; readonly why: string }): Evaluation & { kind: "unknown" } {
  return { kind: "unknown", path, why };
}

/**
 * A requirement on an old zone label, for a node that has only the new one, is read both ways: Kubernetes translates such keys for some
 * volumes in some places. Where the two readings differ the answer is unsure.
 */
function truthOf(one: LabelRequirement, labels: SelectableNode["labels"]): Truth {
  const own = labelOf(labels, one.key);
  const isMetByOldKey = isMet(one, own);
  const newKey = own === undefined ? RENAMED.get(one.key) : undefined;
  const renamed = newKey === undefined ? undefined : labelOf(labels, newKey);
  if (renamed !== undefined && isMet(withEachZone(one), renamed) !== isMetByOldKey) return "unsure";
  return isMetByOldKey ? "met" : "unmet";
}

/** With the old labels `a__b` meant a volume in both zones. */
function withEachZone(one: LabelRequirement): LabelRequirement {
  if (one.operator !== "In" && one.operator !== "NotIn") return one;
  return { ...one, values: one.values.flatMap((value) => [value, ...value.split("__")]) };
}

function isMet(one: LabelRequirement, label: string | undefined): boolean {
  switch (one.operator) {
    case "In":
      return label !== undefined && one.values.includes(label);
    case "NotIn":
      return label === undefined || !one.values.includes(label);
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
    case "Gt":
    case "Lt": {
      const value = label === undefined ? undefined : parseInt64(label);
      if (value === undefined) return false;
      return one.operator === "Gt" ? value > one.bound : value < one.bound;
    }
  }
}

function fieldTruth({ key, operator, value }: FieldRequirement, name: string): Truth {
  if (key !== "metadata.name") return "unsure";
  return (name === value) === (operator === "In") ? "met" : "unmet";
}

/** Cuts longer lists and texts: a user who may write a PV can make them any length. */
const MOST_VALUES = 3;
const LONGEST_TEXT = 80;

function describe(one: LabelRequirement | FieldRequirement, labels: SelectableNode["labels"]): string {
  if ("value" in one) return `it asks for ${short(one.key)} ${one.operator} (${short(one.value)})`;
  const label = labelOf(labels, one.key);
  const has = label === undefined ? "the node has no such label" : `the node has "${short(label)}"`;
  return `it asks for ${short(one.key)} ${one.operator}${operandOf(one)}, ${has}`;
}

function operandOf(one: LabelRequirement): string {
  if ("bound" in one) return ` ${one.bound}`;
  if (!("values" in one)) return "";
  const shown = one.values.slice(0, MOST_VALUES).map(short);
  return ` (${one.values.length > MOST_VALUES ? [...shown, "…"].join(", ") : shown.join(", ")})`;
}

function short(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
