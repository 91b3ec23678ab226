import { describe, expect, it } from "vitest";
import { claimUidOf, volumeNameOf } from "../../../../common/storage/local-volumes.ts";
import { parseBytes } from "../../../../common/storage/quantity.ts";
import { hashOf } from "../../../../provisioner/core/short-name.ts";
import { quantityOf, wholeUnits } from "../../../../provisioner/core/sizes.ts";
import { GiB, MiB, UID, VOLUME } from "../objects.ts";

describe("a short name", () => {
  it("is hashed by FNV-1a", () => {
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
