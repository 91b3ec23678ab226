import { describe, expect, it } from "vitest";
import { isDue, keptKeys } from "../../../../aggregator/core/published-certificates.ts";

const DAY = 86_400_000;
const [NOT_BEFORE, MADE, ENDS] = [0, 30 * DAY, 120 * DAY];

describe("a certificate is due", () => {
  it.each([
    ["before it is valid", NOT_BEFORE - 1, true],
    ["not from its first moment on", NOT_BEFORE, false],
    ["not until two thirds of its life are over", MADE + 60 * DAY - 1, false],
    ["from then on", MADE + 60 * DAY, true],
    ["after its end", ENDS, true],
  ])("%s", (_, nowMs, due) => {
    expect(isDue({ notBeforeMs: NOT_BEFORE, notAfterMs: ENDS }, nowMs)).toBe(due);
  });
});

describe("of what others published", () => {
  const entry = (key: string, notBeforeMs = 0, notAfterMs = ENDS) => ({ key, notBeforeMs, notAfterMs });
  const many = Array.from({ length: 256 }, (_, age) => entry(`${age}.crt`, -age));

  it.each([
    ["nothing stays of the own key", [entry("own.crt"), entry("a.crt")], ["a.crt"]],
    ["nothing stays that is no certificate's key", [entry("a.pem"), entry("acrt")], []],
    ["nothing stays that has expired", [entry("a.crt", 0, 10), entry("b.crt", 0, 11)], ["b.crt"]],
    ["the newest 255 stay", many.toReversed(), many.slice(0, 255).map(({ key }) => key)],
  ])("%s", (_, published, kept) => {
    expect(keptKeys(published, "own.crt", 10)).toEqual(kept);
  });
});
