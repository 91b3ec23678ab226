import { describe, expect, it } from "vitest";
import { parseBytes } from "../../../../common/storage/quantity.ts";

describe("parseBytes", () => {
  it.each([
    { text: "0", bytes: 0 },
    { text: "1024", bytes: 1_024 },
    { text: "10Gi", bytes: 10 * 2 ** 30 },
    { text: "1.5Ti", bytes: 1.5 * 2 ** 40 },
    { text: "8Ei", bytes: 2 ** 63 },
    { text: "5G", bytes: 5e9 },
    { text: "1e3", bytes: 1_000 },
    { text: "12E+2", bytes: 1_200 },
    { text: "2E", bytes: 2e18 },
    { text: ".5Ki", bytes: 512 },
    { text: "1500m", bytes: 2 },
    { text: "1n", bytes: 1 },
    { text: "99999999999999999999999", bytes: 2 ** 63 },
    { text: "1e999", bytes: 2 ** 63 },
  ])("reads $text as $bytes", ({ text, bytes }) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each([undefined, "", "Gi", "ten", "10 Gi", "10gi", "-1Gi", "1.2.3", "0x10", "1e", "NaN", "9".repeat(65)])(
    "reads %j as nothing",
    (text) => {
      expect(parseBytes(text)).toBeUndefined();
    },
  );
});
