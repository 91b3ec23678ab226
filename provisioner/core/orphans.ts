import type { ImageState } from "../protocol.ts";
import type { Claim } from "./objects.ts";

/** What is to be done with an image that no known PersistentVolume names. */
export type OrphanStep =
  | { readonly kind: "keep"; readonly why: string }
  /** It was never published, and nothing will ever ask for it. */
  | { readonly kind: "remove" }
  /** It had a PersistentVolume once: its data is for people to decide about. */
  | { readonly kind: "report"; readonly why: string };

/** What was read for it just now, from the API server itself and not from a copy. */
export interface OrphanFacts {
  readonly nodeName: string;
  readonly hasVolume: boolean;
  /** The PersistentVolume of its name is another node's: the claim was sent there after all. */
  readonly isElsewhere: boolean;
  /** The claim with the UID that the image is named after; nothing when there is none any more. */
  readonly claim: Claim | undefined;
}

export function decideOrphan(image: ImageState, { nodeName, hasVolume, isElsewhere, claim }: OrphanFacts): OrphanStep {
  if (hasVolume && !isElsewhere) return { kind: "keep", why: "a PersistentVolume names it" };
  if (image.state === "published")
    return { kind: "report", why: "its PersistentVolume is gone, its data is still here" };
  if (isElsewhere || claim === undefined || claim.isDeleting) return { kind: "remove" };
  // Bound to its own volume, which was not found: two answers that contradict each other.
  if (claim.volumeName === image.volume) return { kind: "keep", why: "its claim names its PersistentVolume" };
  if (claim.volumeName !== "") return { kind: "remove" };
  return claim.selectedNode === nodeName ? { kind: "keep", why: "its claim waits for it" } : { kind: "remove" };
}
