import * as v from "valibot";
import type { KubeClient } from "../../../common/kube/client.ts";
import { readIdentity } from "../../../common/kube/identity.ts";
import { createInformer, type Informer } from "../../../common/kube/informer.ts";
import type { Stored } from "../../../common/kube/store.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { Owner } from "../process/owner.ts";
import { type Controller, patchObject, startController } from "./controller.ts";

const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";

/** What is looked at of a VolumeAttachment. */
export interface Attachment extends Stored {
  readonly attacher: string;
  readonly isAttached: boolean;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
}

/** What is to be done for a VolumeAttachment: changes of the object and of its status, in their order. */
export interface AttachmentStep {
  readonly subresource: "" | "/status";
  readonly body: object;
}

const attachment = v.object({
  metadata: v.object({
    finalizers: v.optional(v.array(v.string()), []),
    deletionTimestamp: v.optional(v.string()),
  }),
  spec: v.object({ attacher: v.string() }),
  status: v.optional(v.object({ attached: v.boolean() }), { attached: false }),
});

/** The fields of a VolumeAttachment that decide. Throws when it is none. */
export function projectAttachment(object: unknown): Attachment {
  const identity = readIdentity(object);
  if (identity === undefined) throw new TypeError("no API object");
  const { metadata, spec, status } = v.parse(attachment, object);
  return {
    ...identity,
    attacher: spec.attacher,
    isAttached: status.attached,
    isDeleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers,
  };
}

/** The finalizer with which external-attacher keeps an attachment until the volume is detached. */
export function attacherFinalizer(driver: string): string {
  return `external-attacher/${driver.replaceAll("/", "-")}`;
}

/**
 * What external-attacher would do (SyncAttach, SyncDetach): a new attachment gets the finalizer and is then attached; one that is
 * being deleted is detached and then loses it. Bodies carry the resource version that was decided on where a list is replaced.
 */
export function attachmentSteps(driver: string, seen: Attachment): readonly AttachmentStep[] {
  const { attacher, isAttached, isDeleting, finalizers, resourceVersion, uid } = seen;
  if (attacher !== driver) return [];
  const ours = attacherFinalizer(driver);
  const hasOurs = finalizers.includes(ours);
  const keep = (next: readonly string[]): AttachmentStep => ({
    subresource: "",
    body: { metadata: { uid, resourceVersion, finalizers: next } },
  });
  const status = (attached: boolean): AttachmentStep => ({
    subresource: "/status",
    body: { metadata: { uid }, status: { attached } },
  });
  if (!isDeleting) return [...(hasOurs ? [] : [keep([...finalizers, ours])]), ...(isAttached ? [] : [status(true)])];
  if (!hasOurs) return [];
  // One change after the other: the second would carry a stale resource version, and the first one brings the key back.
  return isAttached ? [status(false)] : [keep(finalizers.filter((one) => one !== ours))];
}

/**
 * Plays external-attacher for a driver: marks its VolumeAttachments attached and lets them go when they are deleted. Left out: the
 * finalizer on the PersistentVolume, attachment metadata, errors, and a resync for attachments that a driver lost by itself.
 */
export async function startAttacher(
  owner: Owner,
  plane: ControlPlane,
  { driver }: { readonly driver: string },
): Promise<Controller> {
  let attachments: Informer<Attachment> | undefined;
  const work = async (client: KubeClient, key: string, signal: AbortSignal): Promise<void> => {
    const seen = attachments?.get(key);
    if (seen === undefined) return;
    for (const { subresource, body } of attachmentSteps(driver, seen)) {
      await patchObject(client, { path: `${ATTACHMENTS}/${key}${subresource}`, body }, signal);
    }
  };
  return await startController(owner, plane, {
    name: `attacher-${driver}`,
    work,
    follow: (parts, add) => {
      attachments = createInformer(parts, {
        collection: { path: ATTACHMENTS, listsFrom: "quorum" },
        project: projectAttachment,
        onChange: ({ object }) => add(object.key),
      });
      return [attachments];
    },
  });
}
