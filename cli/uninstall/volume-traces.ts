import * as v from "valibot";
import { VOLUME_ANNOTATIONS } from "../../common/storage/volume-annotations.ts";
import type { Removal } from "./removal.ts";

const Volume = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.pipe(v.string(), v.minLength(1)),
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
});

/** What to remove from a PersistentVolume, given as the raw API object; undefined when it has no trace of Mooring. */
export function volumeRemovalFrom(object: unknown): Removal | undefined {
  const { name, uid, resourceVersion, annotations } = v.parse(Volume, object).metadata;
  const present = Object.values(VOLUME_ANNOTATIONS).filter((key) => Object.hasOwn(annotations ?? {}, key));
  if (present.length === 0) return undefined;
  return {
    volume: name,
    path: `/api/v1/persistentvolumes/${name}/status`,
    body: { metadata: { uid, resourceVersion, annotations: Object.fromEntries(present.map((key) => [key, null])) } },
  };
}
