import * as v from "valibot";
import { isOlder } from "./resource-version.ts";

/** Which object in which state. `key` is `namespace/name`, or the name alone for cluster-scoped objects. */
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

/** The identity of any API object, also of one that nothing else is understood of; nothing for what has none. */
export function readIdentity(object: unknown): Identity | undefined {
  const decoded = v.safeParse(identified, object);
  if (!decoded.success) return undefined;
  const { namespace, name, uid, resourceVersion } = decoded.output.metadata;
  return { key: namespace ? `${namespace}/${name}` : name, uid, resourceVersion };
}

/** Whether a state of an object, or of another one under its name, was there before what is known. */
export function isBefore(seen: Identity, known: Identity): boolean {
  return isOlder(seen.resourceVersion, known.resourceVersion);
}
