import type { ApiObject, JsonObject } from "./objects.ts";
import { badRequest, expired, type Refused } from "./refusals.ts";
import type { Resource } from "./resources.ts";
import type { Selector } from "./selectors.ts";
import { textOf } from "./store.ts";

/** The remaining objects of paged lists, by their `continue` token. */
export class Pages {
  readonly #rest = new Map<string, { readonly objects: readonly ApiObject[]; readonly revision: number }>();
  #count = 0;

  keep(objects: readonly ApiObject[], revision: number): string {
    this.#count += 1;
    const token = `page-${this.#count}`;
    this.#rest.set(token, { objects, revision });
    return token;
  }

  /** The rest of a list, unless the server has compacted its revision. */
  take(
    token: string,
    floor: number,
  ): { readonly objects: readonly ApiObject[]; readonly revision: number } | { readonly why: Refused } {
    const rest = this.#rest.get(token);
    if (rest === undefined) return { why: badRequest("continue key is not valid") };
    const gone = "The provided continue parameter is too old to display a consistent list result.";
    return rest.revision < floor ? { why: expired(gone) } : rest;
  }
}

/** How the client wants the list. */
export interface ListForm {
  readonly resource: Resource;
  readonly revision: number;
  /** Page size; undefined for the whole list. */
  readonly limit: number | undefined;
  /** Return metadata only. */
  readonly isMetadataOnly: boolean;
}

/** The body of a list. The remaining objects wait for the next page. */
export function listBody(objects: readonly ApiObject[], form: ListForm, pages: Pages): string {
  const { resource, revision, limit = Number.POSITIVE_INFINITY, isMetadataOnly } = form;
  const page = objects.length > limit ? objects.slice(0, limit) : objects;
  const rest = page.length < objects.length ? pages.keep(objects.slice(page.length), revision) : undefined;
  const metadata = { resourceVersion: String(revision), ...(rest === undefined ? {} : { continue: rest }) };
  const head = isMetadataOnly
    ? { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" }
    : { kind: `${resource.kind}List`, apiVersion: resource.apiVersion };
  const items = page.map((object) => (isMetadataOnly ? JSON.stringify(identityOf(object)) : textOf(object)));
  return `${JSON.stringify({ ...head, metadata }).slice(0, -1)},"items":[${items.join(",")}]}`;
}

function identityOf({ metadata }: ApiObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}

/** The selected objects, ordered by key as the API server orders them. */
export function select(objects: ReadonlyMap<string, ApiObject>, selector: Selector): readonly ApiObject[] {
  return [...objects]
    .filter(([, object]) => selector(object))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, object]) => object);
}
