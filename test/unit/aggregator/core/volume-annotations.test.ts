import { describe, expect, it } from "vitest";
import { causeOf, isKept, isStillMounted as isMountedSince } from "../../../../aggregator/core/claims/deletion.ts";
import {
  changesTo,
  desiredAnnotations,
  isStillMounted,
  type VolumeFacts,
} from "../../../../aggregator/core/volumes/annotations.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { type ClaimStatus, LAST_USE, lastUseText, MOUNTED_ON } from "../../../../common/storage/claim-status.ts";
import { NO_ANNOTATIONS, volumeMarkText } from "../../../../common/storage/volume-annotations.ts";
import {
  claimWith,
  mountedStatus,
  NOON,
  nodeMountedVolume,
  stampAt,
  statusWith,
  viewWith,
  volumeWith,
} from "../world.ts";
import { endWith, lastUseWith } from "./decisions.ts";

const MOUNTED = { used: ["n1"], all: ["n1"] } as const;
const STAGED = { used: [], all: ["n1"] } as const;
const bound = volumeWith({ reclaimPolicy: "Retain" });
const released = { ...bound, phase: "Released" };
const withMark = (mountedOn: string) => ({ volume: { ...released, annotations: { mountedOn, lastUse: undefined } } });
const marked = withMark(volumeMarkText("volume-1", ["n1"]));

function factsWith(fields: Partial<VolumeFacts> = {}): VolumeFacts {
  const unknown = { claim: undefined, statusAtEnd: undefined, mounts: { used: [], all: [] }, unanswered: [] };
  return { volume: released, ...unknown, isPending: false, ends: [], isProtecting: true, ...fields };
}

describe("the mark of a volume", () => {
  const inPhase = (phase: string) => ({ volume: { ...released, phase }, mounts: MOUNTED });
  const onN2 = { ...marked, mounts: { used: ["n2"], all: ["n2"] }, unanswered: ["n1"] };
  const stranger = { ...withMark(volumeMarkText("other", ["n9"])), mounts: MOUNTED };

  it.each<readonly [name: string, facts: Partial<VolumeFacts>, nodes: readonly string[] | undefined]>([
    ["names the node of a Released one that a pod has mounted", { mounts: MOUNTED }, ["n1"]],
    ["is absent on a Bound volume", inPhase("Bound"), undefined],
    ["is absent on a volume that no node has mounted", {}, undefined],
    ["names one more node that has it mounted", onN2, ["n1", "n2"]],
    ["takes the place of another volume's, as from a backup", stranger, ["n1"]],
    ["goes where it is unreadable", withMark("{"), undefined],
  ])("%s", (_, facts, nodes) => {
    expect(desiredAnnotations(factsWith(facts)).mountedOn).toBe(nodes && volumeMarkText("volume-1", nodes));
  });

  it("is for a volume that is still mounted, or staged, and a Bound one is never that", () => {
    const isStill = (phase: string) => isStillMounted(volumeWith({ phase }), STAGED.all);

    expect(["Released", "Bound"].map(isStill)).toEqual([true, false]);
  });

  it("stays as it is when one of its nodes drops out", () => {
    const { volume } = withMark(volumeMarkText("volume-1", ["n1", "n2"]));

    expect(changesTo(volume, desiredAnnotations(factsWith({ volume, mounts: MOUNTED })))).toBeUndefined();
  });

  it("names 32 nodes, says that there are more, and stays so", () => {
    const all = Array.from({ length: 40 }, (_, index) => `n${index + 10}`);

    const { mountedOn = "" } = desiredAnnotations(factsWith({ mounts: { used: [], all } }));
    const then = desiredAnnotations(factsWith({ ...withMark(mountedOn), mounts: { used: [], all: ["n99"] } }));

    expect(JSON.parse(mountedOn)).toEqual({ volumeUID: "volume-1", nodes: all.slice(0, 32), more: true });
    expect(then.mountedOn).toBe(mountedOn);
  });
});

describe("what is to be written to a volume", () => {
  const other = { mountedOn: "m", lastUse: "u" };

  it.each([
    { name: "is a mark that says something else", has: { ...other, mountedOn: "x" }, changes: { [MOUNTED_ON]: "m" } },
    { name: "is both where the volume has neither", has: undefined, changes: { [MOUNTED_ON]: "m", [LAST_USE]: "u" } },
    {
      name: "is that it goes, where it should have none",
      has: { ...other, mountedOn: "m" },
      to: NO_ANNOTATIONS,
      changes: { [MOUNTED_ON]: null, [LAST_USE]: null },
    },
  ])("$name", ({ has, to = other, changes }) => {
    expect(changesTo(volumeWith(has && { annotations: has }), to)).toEqual(changes);
  });
});

describe("the last use on a volume", () => {
  const use = lastUseWith({ id: "r-1", byMs: NOON - 60_000 });
  const later = lastUseWith({ id: "r-2", byMs: NOON - 10_000 });
  const gap = { fromMs: NOON - 9_000, toMs: NOON - 5_000 };
  const unused = statusWith({ unused: true, reason: "Unmounted", lastUse: use });
  const inUse = mountedStatus(["n1"], { lastUse: use });
  const going = (status: ClaimStatus) => ({ claim: claimWith({ isDeleting: true, status }) });
  const staying = { claim: claimWith({ status: unused }) };
  const copy = (of = use, uid = "claim-1") => lastUseText(uid, { lastUse: of });
  const copied = (text: string) => ({ volume: { ...released, annotations: { mountedOn: undefined, lastUse: text } } });
  const earlier = copy(use, "earlier");
  const reported = { ends: [endWith({ id: "r-2", byMs: NOON - 10_000 })] };
  const R2 = "the later one";

  it.each<readonly [name: string, facts: Partial<VolumeFacts>, text: string | undefined]>(
    // biome-ignore format: a row is a line
    [
      ["is copied from an unused claim that is being deleted", { volume: bound, ...going(unused) }, copy()],
      ["is copied with a gap", { volume: bound, ...going({ ...unused, gap }) }, lastUseText("claim-1", { lastUse: use, gap })],
      ["is not copied from a claim that stays", { volume: bound, ...staying }, undefined],
      ["is not copied to a volume that goes with its claim", { volume: volumeWith(), ...going(unused) }, undefined],
      ["of an earlier claim stays until there is another", { ...copied(earlier), ...going(mountedStatus(["n1"])) }, earlier],
      ["is copied from a claim that went at once", { volume: bound, statusAtEnd: unused }, copy()],
      ["stays once the claim is gone", copied(copy()), copy()],
      ["is what nodes report, where the claim went while it was in use", { statusAtEnd: inUse, ...reported }, R2],
      ["is not known where it did and no node reports its end", { ...copied(copy()), statusAtEnd: inUse }, undefined],
      ["is not decided while a pod has the volume mounted", { ...reported, mounts: MOUNTED }, undefined],
      ["is decided while it is only staged", { ...reported, mounts: STAGED }, R2],
      ["is not decided while a node has not reported that may have it mounted", { ...reported, isPending: true }, undefined],
      ["is not decided while a node of its mark has not answered", { ...reported, unanswered: ["n1"] }, undefined],
      ["never moves earlier, also where the record of the later one is forgotten", { ...copied(copy(later)), statusAtEnd: unused }, copy(later)],
      ["waits for the watch of claims where the volume is still Bound", { volume: bound, ...reported }, undefined],
    ],
  )("%s", (_, facts, text) => {
    const { lastUse } = desiredAnnotations(factsWith(facts));

    expect(text === R2 ? JSON.parse(lastUse ?? "{}").release : lastUse).toBe(text === R2 ? "r-2" : text);
  });
});

const OVERRIDE = { requestedAtMs: undefined, override: "broken node" };

describe("a claim that is being deleted", () => {
  const used: Partial<Claim> = { isDeleting: true, phase: "Bound", status: mountedStatus(["n1"]) };
  const unused = statusWith({ unused: true, reason: "Unmounted" });

  it.each<readonly [name: string, claim: Partial<Claim>, kept: boolean]>([
    ["in use", used, true],
    ["staged", { ...used, status: { ...unused, staged: "Staged on n1" } }, true],
    ["without a status", { ...used, status: undefined }, false],
    ["that is not bound", { ...used, phase: "Pending" }, false],
    ["that is not deleted", { ...used, isDeleting: false }, false],
  ])("is kept where the policy keeps it: %s", (_, claim, kept) => {
    expect(isKept(claimWith(claim))).toBe(kept);
  });

  it.each<readonly [mode: Parameters<typeof causeOf>[1], claim: Partial<Claim>, cause: string]>([
    ["off", { deletion: OVERRIDE }, "not-enforced"],
    ["audit", {}, "not-enforced"],
    ["enforce", { deletion: OVERRIDE }, "override"],
    ["enforce", {}, "unexpected"],
  ])("has a cause where it goes all the same: %s, %o", (mode, claim, cause) => {
    expect(causeOf(claimWith(claim), mode)).toBe(cause);
  });
});

describe("a volume whose claim is gone", () => {
  const mountedAt = (ms: number) => ({ mountedVolumes: [{ ...nodeMountedVolume("pod-1"), since: stampAt(ms) }] });
  const isItsVolume = (volume: { readonly by: string; readonly name?: string }): boolean => volume.name === "pv-1";

  it.each<readonly [name: string, view: Parameters<typeof viewWith>[0], mounted: boolean | undefined]>(
    // biome-ignore format: a row is a line
    [
      ["unknown where only the later bound of the scan is known", { scanFromMs: undefined, scanBeganMs: NOON }, undefined],
      ["true where it was mounted in that moment", { ...mountedAt(NOON), scanFromMs: NOON + 1 }, true],
      ["false where it was mounted later", { ...mountedAt(NOON + 1), scanFromMs: NOON + 1 }, false],
      ["false where nothing is mounted", { scanFromMs: undefined, scanBeganMs: NOON + 1 }, false],
    ],
  )("is still mounted: %s", (_, view, mounted) => {
    expect(isMountedSince({ isItsVolume, goneAtMs: NOON }, viewWith(view))).toBe(mounted);
  });
});
