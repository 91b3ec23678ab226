import * as v from "valibot";
import { isOlder } from "./resource-version.ts";

/** Identifies an object and its state. `key` is `namespace/name`, or the name alone for cluster-scoped objects. */
export interface Identity {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

const identified = v.object({
  metadata: v.object({
    namespace: v.nullish(v.string()),
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
  }),
});

/** The identity of any API object, even if nothing else of it can be decoded; undefined for anything else. */
export function readIdentity(object: unknown): Identity | undefined {
  const decoded = v.safeParse(identified, object);
  if (!decoded.success) return undefined;
  const { namespace, name, uid, resourceVersion } = decoded.output.metadata;
  return { key: namespace ? `${namespace}/${name}` : name, uid, resourceVersion };
}

/** Whether a state of an object, or of another object of its name, is older than the known one. */
export function isBefore(seen: Identity, known: Identity): boolean {
  return isOlder(seen.resourceVersion, known.resourceVersion);
}
