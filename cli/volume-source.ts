import type { KubeClient } from "../common/kube/client.ts";
import { listClaims } from "./claim-list.ts";
import { ifAllowed } from "./if-allowed.ts";
import { listPages } from "./list-pages.ts";
import { type Listing, readList, type SourceParts } from "./source.ts";
import { readVolumeEntry } from "./volume-entry.ts";
import { attachmentsOf, volumeOf } from "./volume-object.ts";
import type { VolumeView } from "./volume-view.ts";

/** The volumes of the cluster, and their source. */
export interface VolumeListing extends Listing<VolumeView> {
  /** The resources that the user may not read from the API server, and that would show more. */
  readonly missing: readonly string[];
}

/** Reads all volumes, from the aggregator if there is one for this cluster. Throws what the API server's client throws. */
export async function readVolumes(parts: SourceParts): Promise<VolumeListing> {
  const missing: string[] = [];
  const answer = await readList<VolumeView>(
    {
      list: { path: "/v1/volumes", kind: "VolumeList", query: {}, read: readVolumeEntry },
      listByApiServer: (client, signal) => listVolumes(client, missing, signal),
    },
    parts,
  );
  return { ...answer, missing };
}

async function listVolumes(client: KubeClient, missing: string[], signal: AbortSignal): Promise<readonly VolumeView[]> {
  const objects = await listPages(client, { path: "/api/v1/persistentvolumes", project: (one) => one }, signal);
  const claims = await ifAllowed("persistentvolumeclaims", missing, () => listClaims(client, "all", signal));
  const attachments = await ifAllowed("volumeattachments", missing, async () => {
    const path = "/apis/storage.k8s.io/v1/volumeattachments";
    return attachmentsOf(await listPages(client, { path, project: (one) => one }, signal));
  });
  const byUid = new Map(claims?.map((claim) => [claim.uid, claim]));
  const surroundings = {
    claim: (uid: string) => byUid.get(uid),
    attachedTo: attachments && ((volume: string) => attachments.get(volume) ?? []),
    nowMs: client.serverTime()?.latestMs ?? Number.NEGATIVE_INFINITY,
  };
  return objects.map((object) => volumeOf(object, surroundings));
}
