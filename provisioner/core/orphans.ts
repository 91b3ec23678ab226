import type { ImageState } from "../protocol.ts";
import type { Claim } from "./objects.ts";

/** What to do with an image that no known PersistentVolume names. */
export type OrphanStep =
  | { readonly kind: "keep"; readonly why: string }
  /** It was never published, and no claim will ever need it. */
  | { readonly kind: "remove" }
  /** It had a PersistentVolume once: an administrator must decide about its data. */
  | { readonly kind: "report"; readonly why: string };

/** What was just read for the image from the API server itself, not from a cache. */
export interface OrphanFacts {
  readonly nodeName: string;
  readonly hasVolume: boolean;
  /** The PersistentVolume of its name belongs to another node: the scheduler sent the claim there after all. */
  readonly isElsewhere: boolean;
  /** The claim with the UID in the image's name; undefined when it no longer exists. */
  readonly claim: Claim | undefined;
}

export function decideOrphan(image: ImageState, { nodeName, hasVolume, isElsewhere, claim }: OrphanFacts): OrphanStep {
  if (hasVolume && !isElsewhere) return { kind: "keep", why: "a PersistentVolume names it" };
  if (image.state === "published")
    return { kind: "report", why: "its PersistentVolume is gone, its data is still here" };
  if (isElsewhere || claim === undefined || claim.isDeleting) return { kind: "remove" };
  // The claim is bound to its own volume, but that volume was not found: the two answers contradict each other.
  if (claim.volumeName === image.volume) return { kind: "keep", why: "its claim names its PersistentVolume" };
  if (claim.volumeName !== "") return { kind: "remove" };
  return claim.selectedNode === nodeName ? { kind: "keep", why: "its claim waits for it" } : { kind: "remove" };
}
