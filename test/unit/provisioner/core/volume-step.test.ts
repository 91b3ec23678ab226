import { describe, expect, it } from "vitest";
import type { Volume } from "../../../../provisioner/core/objects.ts";
import { nextStep, type VolumeFacts, type VolumeStep } from "../../../../provisioner/core/volume-step.ts";
import { claimWith, GiB, imageWith, MiB, poolWith, VOLUME, volumeWith } from "../objects.ts";

const NO_FINALIZER = ["kubernetes.io/pv-protection"];
const bound = claimWith({ volumeName: VOLUME, capacityBytes: GiB });

function step(volume: Partial<Volume>, facts: Partial<VolumeFacts> = {}): VolumeStep {
  const known = { nodeName: "n1", pools: [poolWith()], images: [imageWith()], claim: bound };
  return nextStep(volumeWith(volume), { ...known, ...facts });
}

describe("a volume that is not of this provisioner and node", () => {
  it.each<{ name: string; volume: Partial<Volume> }>([
    { name: "of another provisioner", volume: { provisionedBy: "csi.example.com" } },
    { name: "that no provisioner created", volume: { provisionedBy: undefined } },
    { name: "of another node", volume: { node: "n2" } },
    { name: "without the label", volume: { node: undefined } },
    { name: "of another name", volume: { name: "pv-1", path: "/run/mooring/volumes/pv-1" } },
    { name: "with another path", volume: { path: "/etc" } },
    { name: "with another volume's path", volume: { path: "/run/mooring/volumes/pvc-x" } },
    { name: "that is not local", volume: { path: undefined } },
  ])("$name is left alone, whatever its phase", ({ volume }) => {
    expect(step(volume)).toEqual({ kind: "nothing" });
    expect(step({ ...volume, phase: "Released" })).toEqual({ kind: "nothing" });
  });
});

it("a volume that is deleted without our finalizer and is still bound is attached: its pods wait for it", () => {
  const volume = { policy: "Retain", isDeleting: true, finalizers: NO_FINALIZER };

  expect(step(volume, { images: [imageWith({ device: undefined })] })).toEqual({ kind: "attach" });
});

it("a bound volume with a partial image is lost, and is not created again", () => {
  expect(step({}, { images: [imageWith({ state: "partial" })] }).kind).toBe("lost");
});

describe("a volume that its claim has left", () => {
  it.each<{ name: string; volume: Partial<Volume>; kind: VolumeStep["kind"] }>([
    { name: "Released is removed", volume: { phase: "Released" }, kind: "remove" },
    { name: "deleted before its claim is removed", volume: { phase: "Released", isDeleting: true }, kind: "remove" },
    { name: "deleted and bound stays", volume: { isDeleting: true }, kind: "nothing" },
    {
      name: "deleted and never claimed is removed",
      volume: { phase: "Available", isDeleting: true, claim: undefined },
      kind: "remove",
    },
    { name: "Available stays", volume: { phase: "Available", claim: undefined }, kind: "nothing" },
    {
      name: "whose own finalizer is removed is left to other finalizers",
      volume: { phase: "Released", isDeleting: true, finalizers: NO_FINALIZER },
      kind: "nothing",
    },
    {
      name: "Released without its finalizer is removed all the same",
      volume: { phase: "Released", finalizers: NO_FINALIZER },
      kind: "remove",
    },
    {
      name: "Released and retained stays",
      volume: { phase: "Released", policy: "Retain", finalizers: NO_FINALIZER },
      kind: "nothing",
    },
    {
      name: "whose policy became Retain loses its finalizer",
      volume: { phase: "Released", policy: "Retain" },
      kind: "drop-finalizer",
    },
    {
      name: "deleted and retained loses its finalizer",
      volume: { phase: "Released", policy: "Retain", isDeleting: true },
      kind: "drop-finalizer",
    },
    { name: "bound and retained loses its finalizer", volume: { policy: "Retain" }, kind: "drop-finalizer" },
    {
      name: "whose policy became Delete gets its finalizer",
      volume: { finalizers: NO_FINALIZER },
      kind: "add-finalizer",
    },
    {
      name: "without annotations about its data stays",
      volume: { phase: "Released", poolId: undefined },
      kind: "leave",
    },
    { name: "Failed stays", volume: { phase: "Failed" }, kind: "nothing" },
  ])("$name", ({ volume, kind }) => {
    expect(step(volume).kind).toBe(kind);
  });
});

describe("a bound volume", () => {
  it("needs nothing when all is there", () => {
    expect(step({})).toEqual({ kind: "nothing" });
  });

  it.each<{ name: string; facts: Partial<VolumeFacts>; volume?: Partial<Volume>; expected: object }>([
    {
      name: "is published after a crash",
      facts: { images: [imageWith({ state: "made" })] },
      expected: { kind: "publish" },
    },
    {
      name: "is published also before it is bound",
      facts: { images: [imageWith({ state: "made" })] },
      volume: { phase: "Pending" },
      expected: { kind: "publish" },
    },
    {
      name: "is attached after a reboot",
      facts: { images: [imageWith({ device: undefined })] },
      expected: { kind: "attach" },
    },
    {
      name: "waits while the keeper is away",
      facts: { images: undefined },
      expected: { kind: "leave", why: "the pools of this node are not known" },
    },
    {
      name: "is lost with its pool",
      facts: { pools: [] },
      expected: { kind: "lost", why: 'this node has no pool "default"' },
    },
    {
      name: "is lost while its disk is missing",
      facts: { pools: [poolWith({ state: "lost", why: "no disk" })] },
      expected: { kind: "lost", why: 'pool "default" is lost: no disk' },
    },
    {
      name: "is lost on another disk",
      facts: { pools: [poolWith({ id: "00000000-0000-4000-8000-000000000000" })] },
      expected: { kind: "lost", why: expect.stringContaining("is another one") },
    },
    {
      name: "is lost without its image, and no image is made",
      facts: { images: [] },
      expected: { kind: "lost", why: 'pool "default" does not have its image' },
    },
    {
      name: "is lost when only another pool has an image of its name",
      facts: { images: [imageWith({ pool: "other" })] },
      expected: { kind: "lost", why: 'pool "default" does not have its image' },
    },
  ])("$name", ({ facts, volume = {}, expected }) => {
    expect(step(volume, facts)).toEqual(expected);
  });
});

describe("a volume that is to grow", () => {
  const larger = claimWith({ volumeName: VOLUME, requestBytes: 2 * GiB - 5, capacityBytes: GiB });
  const grown = [imageWith({ bytes: 2 * GiB })];

  it.each<{ name: string; facts: Partial<VolumeFacts>; volume?: Partial<Volume>; expected: object }>([
    { name: "gets a larger image first", facts: { claim: larger }, expected: { kind: "grow", bytes: 2 * GiB } },
    {
      name: "then its own capacity",
      facts: { claim: larger, images: grown },
      expected: { kind: "record-capacity", bytes: 2 * GiB },
    },
    {
      name: "then the kubelet is asked",
      facts: { claim: larger, images: grown },
      volume: { capacityBytes: 2 * GiB },
      expected: { kind: "report-resize", bytes: 2 * GiB, isDone: false },
    },
    {
      name: "is done at once without a filesystem",
      facts: { claim: larger, images: grown },
      volume: { capacityBytes: 2 * GiB, volumeMode: "Block" },
      expected: { kind: "report-resize", bytes: 2 * GiB, isDone: true },
    },
    {
      name: "has its last growth reported before it grows further",
      facts: { claim: { ...larger, requestBytes: 3 * GiB }, images: grown },
      volume: { capacityBytes: 2 * GiB },
      expected: { kind: "report-resize", bytes: 2 * GiB, isDone: false },
    },
    {
      name: "is left to the kubelet while it grows the filesystem",
      facts: { claim: { ...larger, resizeStatus: "NodeResizeInProgress" }, images: grown },
      volume: { capacityBytes: 2 * GiB },
      expected: { kind: "nothing" },
    },
    {
      name: "is done when the claim has its size",
      facts: { claim: { ...larger, capacityBytes: 2 * GiB }, images: grown },
      volume: { capacityBytes: 2 * GiB },
      expected: { kind: "nothing" },
    },
    {
      name: "is never made smaller",
      facts: { claim: claimWith({ volumeName: VOLUME, requestBytes: MiB, capacityBytes: GiB }) },
      expected: { kind: "nothing" },
    },
    {
      name: "is refused beyond the largest image",
      facts: { claim: claimWith({ volumeName: VOLUME, requestBytes: 2 ** 48, capacityBytes: GiB }) },
      expected: { kind: "refuse-growth", why: "it asks for more than 64Ti" },
    },
    {
      name: "is not grown for a claim of another volume",
      facts: { claim: { ...larger, volumeName: "pv-1" } },
      expected: { kind: "nothing" },
    },
    { name: "is not grown for a claim that is not known", facts: { claim: undefined }, expected: { kind: "nothing" } },
  ])("$name", ({ facts, volume = {}, expected }) => {
    expect(step(volume, facts)).toEqual(expected);
  });
});
