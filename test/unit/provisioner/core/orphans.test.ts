import { describe, expect, it } from "vitest";
import { decideOrphan, type OrphanFacts } from "../../../../provisioner/core/orphans.ts";
import type { ImageState } from "../../../../provisioner/protocol.ts";
import { claimWith, imageWith, VOLUME } from "../objects.ts";

describe("an image without a PersistentVolume", () => {
  it.each<{ name: string; state?: ImageState["state"]; facts: Partial<OrphanFacts>; kind: string }>([
    { name: "goes when its claim is gone", facts: { claim: undefined }, kind: "remove" },
    {
      name: "goes when it was not whole and its claim is gone",
      state: "partial",
      facts: { claim: undefined },
      kind: "remove",
    },
    { name: "goes with its claim", facts: { claim: claimWith({ isDeleting: true }) }, kind: "remove" },
    {
      name: "goes when its claim is bound elsewhere",
      facts: { claim: claimWith({ volumeName: "pv-1" }) },
      kind: "remove",
    },
    {
      name: "goes when its claim was given to another node",
      facts: { claim: claimWith({ selectedNode: "n2" }) },
      kind: "remove",
    },
    {
      name: "goes when its claim has no node any more",
      facts: { claim: claimWith({ selectedNode: undefined }) },
      kind: "remove",
    },
    { name: "stays while its claim waits for it", facts: { claim: claimWith() }, kind: "keep" },
    {
      name: "stays when its claim names its volume",
      facts: { claim: claimWith({ volumeName: VOLUME }) },
      kind: "keep",
    },
    { name: "stays when there is one after all", facts: { claim: undefined, hasVolume: true }, kind: "keep" },
    {
      name: "goes when its claim has its volume on another node",
      facts: { claim: claimWith({ volumeName: VOLUME }), hasVolume: true, isElsewhere: true },
      kind: "remove",
    },
    {
      name: "is only reported when it had one and there is one on another node",
      state: "published",
      facts: { claim: claimWith({ volumeName: VOLUME }), hasVolume: true, isElsewhere: true },
      kind: "report",
    },
    { name: "is only reported when it had one", state: "published", facts: { claim: undefined }, kind: "report" },
    {
      name: "stays when it had one and has one",
      state: "published",
      facts: { claim: undefined, hasVolume: true },
      kind: "keep",
    },
  ])("$name", ({ state = "made", facts, kind }) => {
    const known = { nodeName: "n1", hasVolume: false, isElsewhere: false, claim: undefined };

    expect(decideOrphan(imageWith({ state }), { ...known, ...facts }).kind).toBe(kind);
  });
});
