import { at, member } from "./json.ts";
import type { ApiObject, Json } from "./objects.ts";
import type { Target } from "./resources.ts";

/** Whether a request selects the object. */
export type Selector = (object: ApiObject) => boolean;

/**
 * The selector of a path and its query. Field selector terms are paths; label selectors support `=`, `!=`, `in` with one value, and
 * existence.
 */
export function selectorOf(target: Pick<Target, "namespace" | "name">, query: URLSearchParams): Selector {
  const { namespace } = target;
  const terms = [
    ...termsOf(query.get("fieldSelector"), (object, path) => at(object, ...path.split("."))),
    ...termsOf(query.get("labelSelector"), (object, label) => member(object.metadata.labels, label)),
  ];
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) && terms.every((term) => term(object));
}

function termsOf(
  text: string | null,
  read: (object: ApiObject, what: string) => Json | undefined,
): readonly Selector[] {
  if (!text) return [];
  return text.split(",").map((term) => {
    const [, what = "", operator, wanted] = /^([^=!]+?)(==|!=|=)(.*)$/.exec(term) ?? [];
    if (operator === undefined) return (object: ApiObject) => read(object, term) !== undefined;
    // A field that is not set counts as empty.
    const isWanted = (object: ApiObject): boolean => (read(object, what) ?? "") === wanted;
    return operator === "!=" ? (object: ApiObject) => !isWanted(object) : isWanted;
  });
}
