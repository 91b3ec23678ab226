import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer } from "../../common/kube/informer.ts";
import type { Stored } from "../../common/kube/store.ts";
import type { BindingMode } from "../core/claims/binding.ts";
import { identify, metadata } from "./object-metadata.ts";

interface StorageClass {
  readonly key: string;
  readonly uid: string;
  readonly binding: BindingMode;
}

/** When the claims of each storage class are bound. Nothing waits for it: before the first list a binding mode is unknown. */
export function createStorageClasses(parts: KubeParts) {
  const informer = createInformer<StorageClass & Stored>(parts, {
    collection: { path: "/apis/storage.k8s.io/v1/storageclasses", listsFrom: "cache" },
    project: projectStorageClass,
  });
  return {
    /** Undefined for an unknown class. A claim without a class is bound at once, to a volume that an administrator made. */
    bindingOf: (name: string | undefined): BindingMode | undefined =>
      name === undefined ? "Immediate" : informer.get(name)?.binding,
    run: informer.run,
  };
}

const schema = v.object({ metadata, volumeBindingMode: v.nullish(v.string()) });

/** Throws `ValiError` for what is no storage class. */
function projectStorageClass(object: unknown): StorageClass & Stored {
  const { metadata: meta, volumeBindingMode } = v.parse(schema, object);
  const binding = volumeBindingMode === "WaitForFirstConsumer" ? volumeBindingMode : "Immediate";
  return { ...identify(meta), binding };
}
