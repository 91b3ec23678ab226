import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../../../fakes/clock.ts";
import { CallError } from "../../../csi/call-error.ts";
import { Calls, createMethod, type Outcome } from "../../../csi/calls.ts";
import type { Fault } from "../../../csi/faults.ts";
import type { RecordEvent } from "../../../csi/record.ts";

const REQUEST = { volume_id: "vol-1", target_path: "/t" };
const schema = v.object({ volume_id: v.pipe(v.string(), v.minLength(1, "is missing")), target_path: v.string() });

/** A driver that notes when its work is done; the work is as told. */
function createScene(work: () => Promise<object> = async () => ({ done: true })) {
  const clock = createFakeClock();
  const events: RecordEvent[] = [];
  let faults: readonly Fault[] = [];
  let worked = 0;
  let last = 0;
  const nextId = (): string => {
    last += 1;
    return `r-${last}`;
  };
  const calls = new Calls({ clock, record: (event) => events.push(event), nextId, faults: () => faults });
  const method = createMethod("NodeUnpublishVolume", schema, async () => {
    worked += 1;
    return await work();
  });
  const giveUp = new AbortController();
  return {
    clock,
    kinds: () => events.map(({ kind }) => kind),
    events,
    worked: () => worked,
    giveUp: () => giveUp.abort(),
    setFaults: (...next: readonly Omit<Fault, "call">[]) => {
      faults = next.map((one) => ({ call: "NodeUnpublishVolume", ...one }));
    },
    ask: (request: object = REQUEST): Promise<Outcome> => calls.answer(method, request, giveUp.signal),
  };
}

describe("answering a call", () => {
  it.each([
    { name: "a success", work: async () => ({ a: 1 }), expected: { code: "OK", answer: { a: 1 } } },
    {
      name: "a refusal of the driver",
      work: () => Promise.reject(new CallError("NOT_FOUND", "no such volume")),
      expected: { code: "NOT_FOUND", message: "no such volume" },
    },
    {
      name: "whatever else went wrong",
      work: () => Promise.reject(new Error("umount: busy")),
      expected: { code: "INTERNAL", message: "umount: busy" },
    },
  ])("answers $name, and records begin and end", async ({ work, expected }) => {
    const scene = createScene(work);

    const outcome = await scene.ask();

    expect(outcome).toEqual(expected);
    expect(scene.events).toMatchObject([
      { kind: "call-began", callId: "r-1", volume: "vol-1", path: "/t" },
      { kind: "call-ended", callId: "r-1", code: expected.code },
    ]);
  });

  it("refuses a request that it does not understand, and does no work", async () => {
    const scene = createScene();

    expect(await scene.ask({ volume_id: "", target_path: "/t" })).toEqual({
      code: "INVALID_ARGUMENT",
      message: "volume_id is missing",
    });
    expect(scene.worked()).toBe(0);
    expect(scene.kinds()).toEqual(["call-began", "call-ended"]);
  });

  it("turns away a second call for a place until the first is answered, and lets other places be", async () => {
    let finish = (): void => {};
    const scene = createScene(() => new Promise((resolve) => (finish = () => resolve({}))));
    const first = scene.ask();
    const second = await scene.ask();
    const elsewhere = scene.ask({ ...REQUEST, target_path: "/other" });
    await scene.clock.advance(0);

    expect(scene.worked()).toBe(2);
    finish();
    await elsewhere;
    expect(second).toMatchObject({ code: "ABORTED" });
    scene.setFaults({ id: "x", when: "before", effect: { kind: "pretend" } });
    expect(await scene.ask({ ...REQUEST, target_path: "/other" })).toMatchObject({ code: "OK" });
    void first;
  });
});

describe("a call that meets a fault", () => {
  it("hangs for its time, then does its work", async () => {
    const scene = createScene();
    scene.setFaults({ id: "f", when: "before", effect: { kind: "hang", forMs: 30_000 } });
    const asked = scene.ask();

    await scene.clock.advance(29_999);
    const early = scene.worked();
    await scene.clock.advance(1);

    expect(early).toBe(0);
    expect(await asked).toMatchObject({ code: "OK" });
    expect(scene.worked()).toBe(1);
    expect(scene.events.find(({ kind }) => kind === "hang-ended")).toMatchObject({ fault: "f", because: "time" });
  });

  it("hangs until the fault is taken back", async () => {
    const scene = createScene();
    scene.setFaults({ id: "f", when: "before", effect: { kind: "hang" } });
    const asked = scene.ask();

    await scene.clock.advance(60_000);
    const early = scene.worked();
    scene.setFaults();
    await scene.clock.advance(20);

    expect(early).toBe(0);
    expect(await asked).toMatchObject({ code: "OK" });
    expect(scene.kinds()).toEqual(["call-began", "faults", "fault-met", "faults", "hang-ended", "call-ended"]);
  });

  it("does nothing any more when its caller gave up", async () => {
    const scene = createScene();
    scene.setFaults({ id: "f", when: "before", effect: { kind: "hang" } });
    const asked = scene.ask();
    await scene.clock.advance(100);

    scene.giveUp();

    expect(await asked).toEqual({ code: "CANCELLED", message: "the caller gave up" });
    expect(scene.worked()).toBe(0);
  });

  it.each([
    {
      name: "fails without work",
      when: "before",
      effect: { kind: "fail", code: "UNAVAILABLE" },
      code: "UNAVAILABLE",
      worked: 0,
    },
    {
      name: "fails after the work",
      when: "after",
      effect: { kind: "fail", code: "INTERNAL" },
      code: "INTERNAL",
      worked: 1,
    },
    { name: "pretends the work", when: "before", effect: { kind: "pretend" }, code: "OK", worked: 0 },
  ] as const)("$name", async ({ when, effect, code, worked }) => {
    const scene = createScene();
    scene.setFaults({ id: "f", when, effect });

    expect(await scene.ask()).toMatchObject({ code });
    expect(scene.worked()).toBe(worked);
    expect(scene.events.find(({ kind }) => kind === "fault-met")).toMatchObject({ fault: "f", effect: effect.kind });
  });

  it("meets one fault after the other", async () => {
    const scene = createScene();
    scene.setFaults(
      { id: "a", when: "before", effect: { kind: "hang", forMs: 10 } },
      { id: "b", when: "before", effect: { kind: "fail", code: "ABORTED" } },
    );
    const asked = scene.ask();

    await scene.clock.advance(10);

    expect(await asked).toEqual({ code: "ABORTED", message: "told to fail by b" });
    expect(scene.kinds()).toEqual(["call-began", "faults", "fault-met", "hang-ended", "fault-met", "call-ended"]);
  });

  it("records a change of the faults once", async () => {
    const scene = createScene();
    scene.setFaults({ id: "f", volume: "vol-2", when: "before", effect: { kind: "hang" } });

    await scene.ask();
    await scene.ask();

    expect(scene.kinds().filter((kind) => kind === "faults")).toHaveLength(1);
  });
});
