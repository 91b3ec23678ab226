import { createHash } from "node:crypto";
import * as v from "valibot";
import type { Stored } from "../../common/kube/store.ts";
import { labelsSchema } from "../../common/storage/label-syntax.ts";

/** The metadata of an API object that projections read. */
export const metadata = v.object({
  namespace: v.optional(v.string()),
  name: v.string(),
  uid: v.string(),
  resourceVersion: v.string(),
  creationTimestamp: v.optional(v.string()),
  labels: v.nullish(labelsSchema),
});

/** The metadata that a store keeps of an object. */
export function identify({ namespace, name, uid, resourceVersion }: v.InferOutput<typeof metadata>): Stored {
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}

/** A volume handle as in the kubelet's staging path: SHA-256 in hexadecimal. */
export function hashHandle(volumeHandle: string): string {
  return createHash("sha256").update(volumeHandle).digest("hex");
}
