import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { type Fault, faultList, faultsFor } from "../../../csi/faults.ts";

function fault(id: string, change: Partial<Fault> = {}): Fault {
  return { id, call: "NodeUnpublishVolume", when: "before", effect: { kind: "hang" }, ...change };
}

describe("faultsFor", () => {
  it.each([
    { name: "a fault of the call and the volume is met", faults: [fault("a", { volume: "vol-1" })], met: ["a"] },
    { name: "a fault that names no volume is met by each", faults: [fault("a")], met: ["a"] },
    { name: "a fault of another volume is not met", faults: [fault("a", { volume: "vol-2" })], met: [] },
    { name: "a fault of another call is not met", faults: [fault("a", { call: "NodeStageVolume" })], met: [] },
    {
      name: "several are met in their order",
      faults: [fault("b"), fault("x", { volume: "x" }), fault("a")],
      met: ["b", "a"],
    },
  ])("$name", ({ faults, met }) => {
    const found = faultsFor(faults, { call: "NodeUnpublishVolume", volume: "vol-1" });

    expect(found.map(({ id }) => id)).toEqual(met);
  });

  it("meets no fault of a volume in a call that is about none", () => {
    const faults = [fault("a", { call: "Probe", volume: "vol-1" }), fault("b", { call: "Probe" })];

    expect(faultsFor(faults, { call: "Probe", volume: undefined }).map(({ id }) => id)).toEqual(["b"]);
  });
});

describe("a list of faults", () => {
  it("makes a fault happen before the work by default", () => {
    const read = v.parse(faultList, [{ id: "a", call: "Probe", effect: { kind: "hang", forMs: 5 } }]);

    expect(read).toEqual([{ id: "a", call: "Probe", when: "before", effect: { kind: "hang", forMs: 5 } }]);
  });

  it.each([
    { name: "an unknown call", change: { call: "NodeMakeCoffee" } },
    { name: "an unknown effect", change: { effect: { kind: "explode" } } },
    { name: "a code that gRPC does not have", change: { effect: { kind: "fail", code: "TEAPOT" } } },
    { name: "a failure that is a success", change: { effect: { kind: "fail", code: "OK" } } },
    { name: "a hang that ends before it begins", change: { effect: { kind: "hang", forMs: -1 } } },
    { name: "work that is pretended when it is done", change: { when: "after", effect: { kind: "pretend" } } },
  ])("is refused for $name", ({ change }) => {
    expect(v.safeParse(faultList, [{ ...fault("a"), ...change }]).success).toBe(false);
  });
});
