import { describe, expect, it } from "vitest";
import { lastUseText } from "../../../../common/storage/claim-status.ts";
import { readCopiedUse, readVolumeMark, volumeMarkText } from "../../../../common/storage/volume-annotations.ts";

describe("the annotation mounted-on of a volume", () => {
  it.each([
    { name: "nodes", nodes: ["n1", "n2"], read: { nodes: ["n1", "n2"], more: false } },
    { name: "no node", nodes: [], read: { nodes: [], more: false } },
    {
      name: "too many",
      nodes: Array.from({ length: 33 }, (_, index) => `n${index}`),
      read: { nodes: Array.from({ length: 32 }, (_, index) => `n${index}`), more: true },
    },
  ])("is read as it was written: $name", ({ nodes, read }) => {
    expect(readVolumeMark("volume-1", volumeMarkText("volume-1", nodes))).toEqual(read);
  });

  it.each([
    { name: "nothing", text: undefined },
    { name: "no JSON", text: "{" },
    { name: "another shape", text: '["n1"]' },
    { name: "another volume's", text: volumeMarkText("volume-2", ["n1"]) },
    {
      name: "more nodes than are written",
      text: JSON.stringify({ volumeUID: "volume-1", nodes: Array(33).fill("n") }),
    },
    { name: "a name that is no node's", text: volumeMarkText("volume-1", ["n".repeat(254)]) },
    { name: "more than is written", text: `${volumeMarkText("volume-1", ["n1"])}${" ".repeat(16_384)}` },
  ])("is none where there is $name", ({ text }) => {
    expect(readVolumeMark("volume-1", text)).toBeUndefined();
  });
});

describe("a copied last use", () => {
  const gap = { fromMs: 1_795_262_400_000, toMs: 1_795_262_401_000 };
  const lastUse = {
    ...{ id: "r-1", node: "n1", pod: "shop/web-0", podUid: "pod-1", widthMs: 3 },
    byMs: 1_795_262_399_500,
    evidence: "mount-table",
  } as const;

  it.each<{ readonly name: string; readonly use: NonNullable<ReturnType<typeof readCopiedUse>> }>([
    { name: "a use", use: { lastUse, gap: undefined } },
    { name: "a use and an unobserved time", use: { lastUse, gap } },
    { name: "that time alone", use: { lastUse: undefined, gap } },
  ])("is read as it stood on the claim: $name", ({ use }) => {
    expect({ gap: undefined, ...readCopiedUse("claim-1", lastUseText("claim-1", use)) }).toEqual(use);
  });

  it.each([
    { name: "another claim's", text: lastUseText("claim-2", { lastUse, gap }) },
    { name: "nothing", text: undefined },
    { name: "no JSON", text: "x" },
  ])("is none where there is $name", ({ text }) => {
    expect(readCopiedUse("claim-1", text)).toBeUndefined();
  });
});
