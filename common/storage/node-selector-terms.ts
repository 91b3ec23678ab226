import * as v from "valibot";
import { isLabelKey, isLabelValue, parseInt64 } from "./label-syntax.ts";

/** A part of a selector that is not understood, where it is, and why. */
export interface Unreadable {
  readonly kind: "unreadable";
  /** As Kubernetes names it: `required.nodeSelectorTerms[0].matchExpressions[1].operator`. */
  readonly path: string;
  readonly why: string;
}

/** A requirement on one label. */
export type LabelRequirement = { readonly key: string; readonly path: string } & (
  | { readonly operator: "In" | "NotIn"; readonly values: readonly string[] }
  | { readonly operator: "Exists" | "DoesNotExist" }
  | { readonly operator: "Gt" | "Lt"; readonly bound: bigint }
);

/** A requirement on one field: it has this value, or has not. */
export interface FieldRequirement {
  readonly key: string;
  readonly path: string;
  readonly operator: "In" | "NotIn";
  readonly value: string;
}

/** A term matches when all of its requirements do; it has at least one. */
export interface SelectorTerm {
  readonly kind: "term";
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
}

/** A parsed selector: one of its terms has to match, so without terms it selects nothing. `any` selects every node. */
export type NodeSelector =
  | { readonly kind: "any" }
  | { readonly kind: "terms"; readonly terms: readonly (SelectorTerm | Unreadable)[] }
  | Unreadable;

const noList = v.check((input: unknown) => !Array.isArray(input));

// Strict: an unknown member may mean anything. Go reads null like a missing member.
const requirementShape = v.pipe(
  v.unknown(),
  noList,
  v.strictObject({
    key: v.nullish(v.string(), ""),
    operator: v.nullish(v.string(), ""),
    values: v.nullish(v.array(v.string()), []),
  }),
);
const listShape = v.nullish(v.array(v.nullish(v.unknown(), {})), []);
const termShape = v.pipe(v.unknown(), noList, v.strictObject({ matchExpressions: listShape, matchFields: listShape }));
const selectorShape = v.pipe(v.unknown(), noList, v.strictObject({ nodeSelectorTerms: listShape }));
const affinityShape = v.nullish(v.pipe(v.unknown(), noList, v.looseObject({ required: v.optional(v.unknown()) })));

/**
 * Reads a node selector of the API. Never throws: a term that cannot be understood says so and does not affect the others, as in
 * k8s.io/component-helpers/scheduling/corev1/nodeaffinity, which counts errors only where no term matches. Terms without requirements
 * select nothing and are left out. `path` precedes the paths of bad parts.
 */
export function parseNodeSelector(input: unknown, path = ""): NodeSelector {
  const read = v.safeParse(selectorShape, input);
  if (!read.success) return unreadable(path, read.issues);
  const terms = read.output.nodeSelectorTerms.map((term, n) => parseTerm(term, join(path, `nodeSelectorTerms[${n}]`)));
  return {
    kind: "terms",
    terms: terms.filter((term) => term.kind === "unreadable" || term.labels.length + term.fields.length > 0),
  };
}

/** Reads the `spec.nodeAffinity` of a PV: without `required` it selects every node. Never throws. */
export function parseVolumeAffinity(input: unknown): NodeSelector {
  const read = v.safeParse(affinityShape, input);
  if (!read.success) return unreadable("", read.issues);
  const required = read.output?.required;
  return required === undefined || required === null ? { kind: "any" } : parseNodeSelector(required, "required");
}

function parseTerm(input: unknown, path: string): SelectorTerm | Unreadable {
  const read = v.safeParse(termShape, input);
  if (!read.success) return unreadable(path, read.issues);
  const { matchExpressions, matchFields } = read.output;
  const labels = parseAll(matchExpressions, `${path}.matchExpressions`, parseExpression);
  if ("kind" in labels) return labels;
  const fields = parseAll(matchFields, `${path}.matchFields`, parseField);
  return "kind" in fields ? fields : { kind: "term", labels, fields };
}

type Shape = v.InferOutput<typeof requirementShape>;

/** All entries of a list, or the first one that cannot be read. */
function parseAll<T extends { readonly operator: string }>(
  inputs: readonly unknown[],
  path: string,
  parse: (shape: Shape, path: string) => T | Unreadable,
): readonly T[] | Unreadable {
  const requirements: T[] = [];
  for (const [n, input] of inputs.entries()) {
    const read = v.safeParse(requirementShape, input);
    const one = read.success ? parse(read.output, `${path}[${n}]`) : unreadable(`${path}[${n}]`, read.issues);
    if ("kind" in one) return one;
    requirements.push(one);
  }
  return requirements;
}

/** The rules of `labels.NewRequirement` (k8s.io/apimachinery/pkg/labels/selector.go). Operators are case-sensitive. */
function parseExpression({ key, operator, values }: Shape, path: string): LabelRequirement | Unreadable {
  if (!isLabelKey(key)) return bad(`${path}.key`, "is no qualified name");
  const odd = values.findIndex((value) => !isLabelValue(value));
  if (odd >= 0) return bad(`${path}.values[${odd}]`, "can be the value of no label");
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length > 0 ? { key, path, operator, values } : bad(`${path}.values`, `is empty for ${operator}`);
    case "Exists":
    case "DoesNotExist":
      return values.length === 0 ? { key, path, operator } : bad(`${path}.values`, `is not empty for ${operator}`);
    case "Gt":
    case "Lt": {
      const [only, ...more] = values;
      const bound = only === undefined || more.length > 0 ? undefined : parseInt64(only);
      return bound === undefined
        ? bad(`${path}.values`, `is not one whole number of 64 bits for ${operator}`)
        : { key, path, operator, bound };
    }
    default:
      return bad(`${path}.operator`, "is none of In, NotIn, Exists, DoesNotExist, Gt and Lt");
  }
}

function parseField({ key, operator, values }: Shape, path: string): FieldRequirement | Unreadable {
  if (operator !== "In" && operator !== "NotIn") return bad(`${path}.operator`, "is neither In nor NotIn");
  const [value, ...more] = values;
  if (value === undefined || more.length > 0) return bad(`${path}.values`, "has not exactly one element");
  return { key, path, operator, value };
}

function bad(path: string, why: string): Unreadable {
  return { kind: "unreadable", path, why };
}

/** Cuts a longer name of a member: a user who may write a PV can make it any length. */
const LONGEST_PATH = 100;

/** The first issue that valibot found; its messages repeat the input. The input are objects, so a member comes first. */
function unreadable(path: string, [issue]: readonly v.BaseIssue<unknown>[]): Unreadable {
  const steps = (issue?.path ?? []).map(({ key }) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`));
  const below = steps.join("").slice(0, LONGEST_PATH);
  return bad(path === "" ? below.slice(1) : path + below, "is not as the API has it");
}

function join(path: string, below: string): string {
  return path === "" ? below : `${path}.${below}`;
}
