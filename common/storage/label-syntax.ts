import * as v from "valibot";

const LABEL_WORD = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const LONGEST_SUBDOMAIN = 253;

/** True for what Kubernetes calls a qualified name: at most 63 characters, optionally after a DNS subdomain and a slash. */
export function isLabelKey(text: string): boolean {
  const [, subdomain, name] = /^(?:([^/]+)\/)?([^/]+)$/.exec(text) ?? [];
  return name !== undefined && LABEL_WORD.test(name) && (subdomain === undefined || isSubdomain(subdomain));
}

function isSubdomain(text: string): boolean {
  return text.length <= LONGEST_SUBDOMAIN && DNS_SUBDOMAIN.test(text);
}

/** True for a valid label value: empty, or at most 63 characters that begin and end with a letter or a digit. */
export function isLabelValue(text: string): boolean {
  return text === "" || LABEL_WORD.test(text);
}

const INT64_MAX = 2n ** 63n - 1n;

/** A whole number in base 10 as Go's `strconv.ParseInt(text, 10, 64)` reads it; undefined for anything else and beyond 64 bits. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value > INT64_MAX || value < -INT64_MAX - 1n ? undefined : value;
}

/** Labels of an object, by own keys only: properties of the prototype are no labels. */
export type Labels = Readonly<Record<string, string>>;

/** The schema of labels. `v.record` would drop valid keys such as `constructor`. */
export const labelsSchema = v.custom<Labels>(
  (input) =>
    typeof input === "object" &&
    input !== null &&
    !Array.isArray(input) &&
    Object.values(input).every((value) => typeof value === "string"),
  "labels are texts by texts",
);

/** The value of a label; undefined when the object has no label with that key. */
export function labelOf(labels: Labels | null | undefined, key: string): string | undefined {
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}
