import { type Labels, labelOf, parseInt64 } from "./label-syntax.ts";
import type { FieldRequirement, LabelRequirement, NodeSelector, SelectorTerm } from "./node-selector-terms.ts";

/** The node as a selector sees it. Without labels it is one that has none. */
export interface SelectableNode {
  readonly name: string;
  readonly labels: Labels | null | undefined;
}

/** Whether a selector selects a node. What differs or is not known is told with a plain sentence, bounded in length. */
export type SelectorAnswer =
  | { readonly kind: "matches" }
  | { readonly kind: "differs"; readonly why: string }
  | { readonly kind: "unknown"; readonly path: string; readonly why: string };

/** As in Kleene's logic: `unsure` may be either. */
type Truth = "met" | "unmet" | "unsure";

const MATCHES = { kind: "matches" } as const;

const IS_RENAMED = "is an old name for a zone or region that the node has under the new one";

/** What zones and regions were called before Kubernetes 1.17. PVs of that time keep those names, nodes need not have them any more. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
]);

/**
 * Whether a node selector selects the node, by the rules of k8s.io/component-helpers/scheduling/corev1/nodeaffinity: one term is enough, a
 * term wants all of its requirements, and what cannot be read counts only where no term matches. Fields but `metadata.name` are unknown:
 * upstream reads them as empty so far.
 */
export function matchNodeSelector(selector: NodeSelector, node: SelectableNode): SelectorAnswer {
  const found = judge(selector, node);
  if (found.kind !== "differs") return found;
  const { unmet } = found;
  if (unmet === undefined) return { kind: "differs", why: "it has no terms, so that it admits no node" };
  const why = describe(unmet, node.labels);
  const terms = selector.kind === "terms" ? selector.terms.length : 0;
  return { kind: "differs", why: terms === 1 ? why : `none of its ${terms} terms is met; of the first, ${why}` };
}

/**
 * Whether a PV's affinity admits a node with these labels, as the kubelet checks it before it mounts (`CheckNodeAffinity` in
 * k8s.io/component-helpers/storage/volume/helpers.go): it makes a node of the labels alone, without a name, and so `matchFields` restrict
 * nothing, but have to be well formed.
 */
export function matchVolumeAffinity(affinity: NodeSelector, labels: SelectableNode["labels"]): SelectorAnswer {
  return matchNodeSelector(affinity, { name: "", labels });
}

/** False where it is proven that a PV with this affinity cannot be mounted on a node with these labels. What is not understood may be. */
export function mayBeMounted(affinity: NodeSelector, labels: SelectableNode["labels"]): boolean {
  return judge(affinity, { name: "", labels }).kind !== "differs";
}

/** An answer before it is put into words: thousands of nodes are asked about of which nobody wants to hear. */
type Judgement =
  | Exclude<SelectorAnswer, { readonly kind: "differs" }>
  /** With what of the first term is not met; nothing where there is no term. */
  | { readonly kind: "differs"; readonly unmet: LabelRequirement | FieldRequirement | undefined };

function judge(selector: NodeSelector, node: SelectableNode): Judgement {
  if (selector.kind === "any") return MATCHES;
  if (selector.kind === "unreadable") return unknownAt(selector);
  let unknown: Judgement | undefined;
  let differs: Judgement | undefined;
  for (const term of selector.terms) {
    const found = term.kind === "unreadable" ? unknownAt(term) : judgeTerm(term, node);
    if (found.kind === "matches") return found;
    if (found.kind === "unknown") unknown ??= found;
    else differs ??= found;
  }
  return unknown ?? differs ?? { kind: "differs", unmet: undefined };
}

function judgeTerm({ labels, fields }: SelectorTerm, node: SelectableNode): Judgement {
  const unmet = labels.find((one) => truthOf(one, node.labels) === "unmet");
  if (unmet !== undefined) return { kind: "differs", unmet };
  // Without a name, upstream leaves the fields out.
  const named = node.name === "" ? [] : fields;
  const unmetField = named.find((one) => fieldTruth(one, node.name) === "unmet");
  if (unmetField !== undefined) return { kind: "differs", unmet: unmetField };
  const unsure = labels.find((one) => truthOf(one, node.labels) === "unsure");
  if (unsure !== undefined) return unknownAt({ path: `${unsure.path}.key`, why: IS_RENAMED });
  const unsureField = named.find((one) => fieldTruth(one, node.name) === "unsure");
  if (unsureField !== undefined) return unknownAt({ path: `${unsureField.path}.key`, why: "is not metadata.name" });
  return MATCHES;
}

function unknownAt({ path, why }: { readonly path: string; readonly why: string }): Judgement & { kind: "unknown" } {
  return { kind: "unknown", path, why };
}

/**
 * A requirement on an old name for a zone, of a node that has only the new one, is read both ways: upstream translates such keys for
 * some volumes and in some of its parts. Where the readings differ nobody can be sure.
 */
function truthOf(one: LabelRequirement, labels: SelectableNode["labels"]): Truth {
  const own = labelOf(labels, one.key);
  const isAsked = isMet(one, own);
  const newKey = own === undefined ? RENAMED.get(one.key) : undefined;
  const renamed = newKey === undefined ? undefined : labelOf(labels, newKey);
  if (renamed !== undefined && isMet(withEachZone(one), renamed) !== isAsked) return "unsure";
  return isAsked ? "met" : "unmet";
}

/** Under the old names `a__b` meant a volume that is in both zones. */
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

/** Longer lists and texts are cut: whoever may write a PV could make them as long as they like. */
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
