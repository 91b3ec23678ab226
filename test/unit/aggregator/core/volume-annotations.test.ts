import { describe, expect, it } from "vitest";
import {
  changesTo,
  desiredAnnotations,
  isStillMounted,
  type VolumeFacts,
} from "../../../../aggregator/core/volume-annotations.ts";
import { lastUseText } from "../../../../common/storage/claim-status.ts";
import { volumeMarkText } from "../../../../common/storage/volume-annotations.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";
import { endWith, lastUseWith } from "./decisions.ts";

const MARK = volumeMarkText("volume-1", ["n1"]);
const MOUNTED = { used: ["n1"], all: ["n1"] } as const;
const STAGED = { used: [], all: ["n1"] } as const;
const released = volumeWith({ phase: "Released", reclaimPolicy: "Retain" });
const marked = { ...released, annotations: { mountedOn: MARK, lastUse: undefined } };

function factsWith(fields: Partial<VolumeFacts> = {}): VolumeFacts {
  return {
    volume: released,
    claim: undefined,
    statusAtEnd: undefined,
    mounts: { used: [], all: [] },
    unanswered: [],
    isPending: false,
    ends: [],
    isProtecting: true,
    ...fields,
  };
}

describe("the mark of a volume", () => {
  it.each<{
    readonly name: string;
    readonly facts: Partial<VolumeFacts>;
    readonly nodes: readonly string[] | undefined;
  }>(
    // biome-ignore format: a row is a line
    [
      { name: "a Released one that a pod has mounted", facts: { mounts: MOUNTED }, nodes: ["n1"] },
      { name: "one that is only staged", facts: { mounts: STAGED }, nodes: ["n1"] },
      { name: "an Available one", facts: { mounts: MOUNTED, volume: { ...released, phase: "Available" } }, nodes: ["n1"] },
      { name: "a Failed one", facts: { mounts: MOUNTED, volume: { ...released, phase: "Failed" } }, nodes: ["n1"] },
      { name: "a Bound one: nothing", facts: { mounts: MOUNTED, volume: volumeWith() }, nodes: undefined },
      { name: "one that nothing has mounted: nothing", facts: {}, nodes: undefined },
      { name: "one that is mounted, without protection: nothing", facts: { mounts: MOUNTED, isProtecting: false }, nodes: undefined },
      { name: "one whose node has not answered: that node", facts: { volume: marked, unanswered: ["n1"] }, nodes: ["n1"] },
      { name: "a marked one that is unmounted: nothing", facts: { volume: marked }, nodes: undefined },
      { name: "a marked one that is Bound again: nothing", facts: { volume: { ...marked, phase: "Bound" }, mounts: MOUNTED }, nodes: undefined },
      {
        name: "one that one more node has mounted: both",
        facts: { volume: marked, mounts: { used: ["n2"], all: ["n2"] }, unanswered: ["n1"] },
        nodes: ["n1", "n2"],
      },
      {
        name: "one that has the mark of another volume, as from a backup: its own",
        facts: {
          volume: { ...released, annotations: { mountedOn: volumeMarkText("other", ["n9"]), lastUse: undefined } },
          mounts: MOUNTED,
        },
        nodes: ["n1"],
      },
      {
        name: "one that has a mark that nobody can read, and is unmounted: nothing",
        facts: { volume: { ...released, annotations: { mountedOn: "{", lastUse: undefined } } },
        nodes: undefined,
      },
    ],
  )("names the nodes of $name", ({ facts, nodes }) => {
    const { mountedOn } = desiredAnnotations(factsWith(facts));

    expect(mountedOn).toBe(nodes && volumeMarkText("volume-1", nodes));
  });

  it("stays as it is when one of its nodes drops out", () => {
    const mountedOn = volumeMarkText("volume-1", ["n1", "n2"]);
    const volume = { ...released, annotations: { mountedOn, lastUse: undefined } };

    expect(changesTo(volume, desiredAnnotations(factsWith({ volume, mounts: MOUNTED })))).toBeUndefined();
  });

  it("names 32 nodes, and says that there are more", () => {
    const all = Array.from({ length: 40 }, (_, index) => `n${index + 10}`);

    const { mountedOn } = desiredAnnotations(factsWith({ mounts: { used: [], all } }));

    expect(JSON.parse(mountedOn ?? "")).toEqual({ volumeUID: "volume-1", nodes: all.slice(0, 32), more: true });
    const volume = { ...released, annotations: { mountedOn, lastUse: undefined } };
    expect(desiredAnnotations(factsWith({ volume, mounts: { used: [], all: ["n99"] } })).mountedOn).toBe(mountedOn);
  });
});

describe("isStillMounted", () => {
  it.each([
    { phase: "Released", mounts: STAGED, expected: true },
    { phase: "Bound", mounts: MOUNTED, expected: false },
    { phase: "Released", mounts: { used: [], all: [] }, expected: false },
  ])("is $expected for a $phase volume that is mounted on $mounts.all", ({ phase, mounts, expected }) => {
    expect(isStillMounted({ volume: volumeWith({ phase }), mounts })).toBe(expected);
  });
});

const USE = lastUseWith({ releaseId: "r-1", releasedAtMs: NOON - 60_000 });
const LATER = lastUseWith({ releaseId: "r-2", releasedAtMs: NOON - 10_000 });
const unused = statusWith({ unused: true, reason: "Unmounted", lastUse: USE });
const copy = (use = USE, uid = "claim-1") => lastUseText(uid, { lastUse: use });
const withCopy = (text: string) => ({ ...released, annotations: { mountedOn: undefined, lastUse: text } });
const bound = volumeWith({ reclaimPolicy: "Retain" });
const deleting = claimWith({ isDeleting: true, status: unused });

describe("the last use on a volume", () => {
  it.each<{ readonly name: string; readonly facts: Partial<VolumeFacts>; readonly text: string | undefined }>(
    // biome-ignore format: a row is a line
    [
      { name: "is copied from an unused claim that is being deleted", facts: { volume: bound, claim: deleting }, text: copy() },
      {
        name: "is copied with the time in which nobody watched",
        facts: {
          volume: bound,
          claim: { ...deleting, status: { ...unused, blindGap: { fromMs: NOON - 9_000, toMs: NOON - 5_000 } } },
        },
        text: lastUseText("claim-1", { lastUse: USE, blindGap: { fromMs: NOON - 9_000, toMs: NOON - 5_000 } }),
      },
      { name: "is not copied from a claim that stays", facts: { volume: bound, claim: claimWith({ status: unused }) }, text: undefined },
      { name: "is not copied to a volume that goes with its claim", facts: { volume: volumeWith(), claim: deleting }, text: undefined },
      {
        name: "is not copied while the claim is in use: it would be an earlier one",
        facts: { volume: bound, claim: claimWith({ isDeleting: true, status: mountedStatus(["n1"], { lastUse: USE }) }) },
        text: undefined,
      },
      {
        name: "is taken back when the claim is used after it was copied",
        facts: {
          volume: withCopy(copy()),
          claim: claimWith({ isDeleting: true, status: mountedStatus(["n1"], { lastUse: USE }) }),
        },
        text: undefined,
      },
      {
        name: "is replaced by a later one of the claim",
        facts: { volume: withCopy(copy()), claim: { ...deleting, status: { ...unused, lastUse: LATER } } },
        text: copy(LATER),
      },
      {
        name: "of an earlier claim stays until there is another",
        facts: {
          volume: withCopy(copy(USE, "earlier")),
          claim: claimWith({ isDeleting: true, status: mountedStatus(["n1"]) }),
        },
        text: copy(USE, "earlier"),
      },
      { name: "is copied from a claim that went at once", facts: { volume: bound, statusAtEnd: unused }, text: copy() },
      { name: "stays once the claim is gone", facts: { volume: withCopy(copy()) }, text: copy() },
      {
        name: "is what nodes tell of, where the claim went while it was in use",
        facts: {
          statusAtEnd: mountedStatus(["n1"], { lastUse: USE }),
          ends: [endWith({ id: "r-2", byMs: NOON - 10_000 })],
        },
        text: "r-2",
      },
      {
        name: "is not known where the claim went in use and nobody tells of its end",
        facts: { volume: withCopy(copy()), statusAtEnd: mountedStatus(["n1"], { lastUse: USE }) },
        text: undefined,
      },
      {
        name: "is not decided while a pod has the volume mounted",
        facts: { ends: [endWith({ id: "r-2", byMs: NOON - 10_000 })], mounts: MOUNTED },
        text: undefined,
      },
      { name: "is decided while it is only staged", facts: { ends: [endWith({ id: "r-2", byMs: NOON - 10_000 })], mounts: STAGED }, text: "r-2" },
      {
        name: "is not decided while a node has not reported that may have it mounted",
        facts: { ends: [endWith({ id: "r-2", byMs: NOON - 10_000 })], isPending: true },
        text: undefined,
      },
      {
        name: "is not decided while a node of its mark has not answered",
        facts: { ends: [endWith({ id: "r-2", byMs: NOON - 10_000 })], unanswered: ["n1"] },
        text: undefined,
      },
      {
        name: "never moves earlier, also where what tells of the later one is forgotten",
        facts: { volume: withCopy(copy(LATER)), statusAtEnd: unused },
        text: copy(LATER),
      },
      {
        name: "waits for the watch of claims where the volume is still Bound",
        facts: { volume: bound, ends: [endWith({ id: "r-2", byMs: NOON - 10_000 })] },
        text: undefined,
      },
      { name: "that nobody can read stays", facts: { volume: withCopy("{") }, text: "{" },
    ],
  )("$name", ({ facts, text }) => {
    const { lastUse } = desiredAnnotations(factsWith(facts));

    expect(text === "r-2" ? JSON.parse(lastUse ?? "{}").release : lastUse).toBe(text);
  });
});
