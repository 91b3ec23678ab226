import { array, object, optional, parse, string } from "valibot";
import { podPlace, type Sizes } from "./layout.ts";
import type { ObjectWriter } from "./writer.ts";

/** What only the API server can tell of the objects: the pods' UIDs, by their numbers. */
export interface ClusterIndex {
  readonly podUids: readonly string[];
}

const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const page = object({
  metadata: object({ continue: optional(string(), "") }),
  items: array(object({ metadata: object({ namespace: string(), name: string(), uid: string() }) })),
});

/** Asks for all pods, page by page. */
export async function readPodUids({ read }: ObjectWriter, sizes: Sizes): Promise<readonly string[]> {
  const uids = new Map<string, string>();
  let next = "";
  do {
    const path = `/api/v1/pods?limit=1000&continue=${encodeURIComponent(next)}`;
    const { metadata, items } = parse(page, JSON.parse(await read(path, METADATA)));
    for (const { metadata: pod } of items) uids.set(`${pod.namespace}/${pod.name}`, pod.uid);
    next = metadata.continue;
  } while (next !== "");
  return Array.from({ length: sizes.pods }, (_, index) => {
    const { namespace, name } = podPlace(index, sizes);
    return uids.get(`${namespace}/${name}`) ?? "";
  });
}
