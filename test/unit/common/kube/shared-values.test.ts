import { describe, expect, it } from "vitest";
import { SharedValues } from "../../../../common/kube/shared-values.ts";

describe("shared values", () => {
  it("equal values are one, also where one has undefined and the other leaves it out", () => {
    const shared = new SharedValues<{ readonly phase: string; readonly size?: string | undefined }>();

    const [first, second] = [shared.of({ phase: "Bound", size: undefined }), shared.of({ phase: "Bound" })];

    expect(second).toBe(first);
  });

  it("other values stay what they are", () => {
    const shared = new SharedValues<readonly string[]>();
    shared.of(["n1"]);

    expect([shared.of(["n1", "n2"]), shared.of([])]).toEqual([["n1", "n2"], []]);
  });

  it("does not keep large values", () => {
    const shared = new SharedValues<{ readonly message: string }>();
    const message = "x".repeat(2_000);

    const [first, second] = [shared.of({ message }), shared.of({ message })];

    expect([second === first, second]).toEqual([false, { message }]);
  });

  it("does not grow without end where all are different", () => {
    const shared = new SharedValues<{ readonly at: number }>();
    const first = shared.of({ at: 0 });
    for (let at = 1; at <= 10_000; at += 1) shared.of({ at });

    const again = shared.of({ at: 0 });

    expect([again === first, again]).toEqual([false, { at: 0 }]);
  });
});
