import { describe, expect, it } from "vitest";
import { isLabelValue } from "../../../../common/storage/label-syntax.ts";
import { parseBytes } from "../../../../common/storage/quantity.ts";
import { claimUidOf, volumeNameOf } from "../../../../provisioner/core/names.ts";
import { hashOf, nodeLabelOf } from "../../../../provisioner/core/node-label.ts";
import { quantityOf, wholeUnits } from "../../../../provisioner/core/sizes.ts";
import { GiB, MiB, UID, VOLUME } from "../objects.ts";

describe("the label of a node", () => {
  it.each([{ node: "n1" }, { node: "a".repeat(63) }, { node: "ip-10-0-0-1.ec2.internal" }])(
    "is its name: $node",
    ({ node }) => {
      expect(nodeLabelOf(node)).toBe(node);
    },
  );

  it("is a label value, and another one for each node, also for names that are too long", () => {
    const nodes = ["a", "b"].map((end) => `${"node.".repeat(40)}${end}`);

    const labels = nodes.map(nodeLabelOf);

    expect(labels.filter((label) => !isLabelValue(label))).toEqual([]);
    expect(new Set(labels).size).toBe(2);
  });

  it("is hashed as FNV-1a says", () => {
    expect([hashOf(""), hashOf("a"), hashOf("foobar")]).toEqual([
      "cbf29ce484222325",
      "af63dc4c8601ec8c",
      "85944171f73967e8",
    ]);
  });
});

describe("the name of a volume", () => {
  it("leads to the UID of its claim and back", () => {
    expect([volumeNameOf(UID), claimUidOf(VOLUME)]).toEqual([VOLUME, UID]);
  });

  it.each([{ uid: "" }, { uid: "../x" }, { uid: UID.toUpperCase() }, { uid: `${UID}/..` }])(
    "is none for the UID $uid",
    ({ uid }) => {
      expect(volumeNameOf(uid)).toBeUndefined();
      expect(claimUidOf(`pvc-${uid}`)).toBeUndefined();
    },
  );
});

describe("a size", () => {
  it.each([
    { bytes: 0, text: "0" },
    { bytes: 5 * GiB, text: "5Gi" },
    { bytes: 1500 * MiB, text: "1500Mi" },
    { bytes: 2 ** 46, text: "64Ti" },
    { bytes: 1_000, text: "1000" },
  ])("of $bytes bytes is written $text, and read as it was", ({ bytes, text }) => {
    expect(quantityOf(bytes)).toBe(text);
    expect(parseBytes(text)).toBe(bytes);
  });

  it("is cut to whole MiB", () => {
    expect([wholeUnits(MiB - 1), wholeUnits(MiB), wholeUnits(3 * MiB + 7)]).toEqual([0, MiB, 3 * MiB]);
  });
});
