import { describe, expect, it } from "vitest";
import { Armory } from "../../../faults/armory.ts";
import type { Fault, ProxyFaultKind } from "../../../faults/fault.ts";

function fault(kind: ProxyFaultKind): Fault<ProxyFaultKind> {
  return { kind, atMs: 0, pick: 0, lengthMs: 0 };
}

describe("armed faults", () => {
  it("hit what they wait for, the longest waiting first, and only once", () => {
    const armory = new Armory();
    for (const kind of ["answer-429", "truncated-list", "answer-500", "no-answer"] as const) armory.arm(fault(kind));

    const taken = [1, 2, 3, 4].map(() => armory.take("request", "read")?.kind);

    expect(taken).toEqual(["answer-429", "answer-500", "no-answer", undefined]);
    expect(armory.waiting).toEqual(["truncated-list"]);
  });

  it("do not wait any more when they are disarmed", () => {
    const armory = new Armory();
    armory.arm(fault("goaway"));

    armory.disarm();

    expect(armory.take("open-watch")).toBeUndefined();
  });

  it("can be taken back one by one, as long as they wait", () => {
    const armory = new Armory();
    const [one, other] = [fault("goaway"), fault("goaway")];
    armory.arm(one);
    armory.arm(other);

    const waited = [armory.withdraw(other), armory.withdraw(other)];
    const taken = armory.take("open-watch");

    expect(waited).toEqual([true, false]);
    expect(taken).toBe(one);
    expect(armory.withdraw(one)).toBe(false);
  });

  it("count when they have hit, not when they are taken", () => {
    const armory = new Armory();
    armory.arm(fault("goaway"));
    armory.take("open-watch");
    const before = armory.hits.get("goaway");

    armory.hit("goaway");
    armory.hit("goaway");

    expect(before).toBeUndefined();
    expect(armory.hits.get("goaway")).toBe(2);
  });
});
