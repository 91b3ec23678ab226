import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../../../fakes/clock.ts";
import { Arming, type ArmingOptions } from "../../../faults/arming.ts";
import { Armory } from "../../../faults/armory.ts";
import type { Fault, ProxyFaultKind } from "../../../faults/fault.ts";

const LENGTH_MS = 5_000;
const TIMED: ArmingOptions = { protocol: "h2", isTimed: true };

function fault(kind: ProxyFaultKind): Fault<ProxyFaultKind> {
  return { kind, atMs: 0, pick: 0, lengthMs: LENGTH_MS };
}

/** A proxy without its network: watches are a number, and outages can be asked whether they last. */
function setUp(options: ArmingOptions, open = 0) {
  const [armory, clock, closing] = [new Armory(), createFakeClock(), new AbortController()];
  const outages = new Set<() => void>();
  const provoked: ProxyFaultKind[] = [];
  const watches = {
    count: open,
    strike: () => {},
    provoke: ({ kind }: Fault<ProxyFaultKind>) => void provoked.push(kind),
  };
  const shut = (_: unknown, onRefused: () => void): (() => void) => {
    outages.add(onRefused);
    return () => void outages.delete(onRefused);
  };
  const arming = new Arming({ armory, watches, clock, shut, signal: closing.signal }, options);
  const ask = (): void => {
    for (const refused of [...outages]) refused();
  };
  return { arming, armory, clock, closing, provoked, outages, ask };
}

describe("a fault that keeps to its time", () => {
  it("is over when nothing has come for its length", async () => {
    const { arming, armory, clock } = setUp(TIMED);
    arming.arm(fault("answer-500"));

    await clock.advance(LENGTH_MS);

    expect(armory.take("request")).toBeUndefined();
    expect(arming.tally).toEqual({ scheduled: 1, hit: 0, unconnected: 1 });
  });

  it("hits what comes before that, and is not missed", async () => {
    const { arming, armory, clock } = setUp(TIMED);
    arming.arm(fault("answer-500"));
    await clock.advance(LENGTH_MS - 1);

    const taken = armory.take("request");
    armory.hit("answer-500");
    await clock.advance(1);

    expect(taken?.kind).toBe("answer-500");
    expect(arming.tally).toEqual({ scheduled: 1, hit: 1, unconnected: 0 });
  });

  it("takes no other fault of its kind with it", async () => {
    const { arming, armory, clock } = setUp(TIMED);
    arming.arm(fault("answer-500"));
    await clock.advance(LENGTH_MS - 1);
    arming.arm(fault("answer-500"));

    await clock.advance(1);

    expect(armory.waiting).toEqual(["answer-500"]);
  });

  it("is missed only by a connected client that saw no effect", async () => {
    const { arming, clock } = setUp(TIMED, 1);
    arming.arm(fault("truncated-watch"));

    await clock.advance(LENGTH_MS);

    expect(arming.tally).toEqual({ scheduled: 1, hit: 0, unconnected: 0 });
  });

  it.each([
    { kind: "answer-403", provoked: true },
    { kind: "no-answer", provoked: true },
    { kind: "list-stall", provoked: true },
    { kind: "truncated-watch", provoked: false },
    { kind: "half-open", provoked: false },
    { kind: "lost-answer", provoked: false },
  ] as const)("lets who is connected ask for what it waits for: $kind, $provoked", ({ kind, provoked }) => {
    const { arming, provoked: asked } = setUp(TIMED, 1);

    arming.arm(fault(kind));

    expect(asked).toEqual(provoked ? [kind] : []);
  });

  it("is one that is scheduled even where it cannot be: HTTP/1.1 has no GOAWAY", () => {
    const { arming, armory } = setUp({ ...TIMED, protocol: "http/1.1" }, 1);

    arming.arm(fault("goaway"));

    expect(armory.waiting).toEqual([]);
    expect(arming.tally).toEqual({ scheduled: 1, hit: 0, unconnected: 0 });
  });

  it("counts nothing any more when the proxy is closed", async () => {
    const { arming, clock, closing } = setUp(TIMED);
    for (const kind of ["answer-500", "outage"] as const) arming.arm(fault(kind));

    closing.abort();
    await clock.advance(LENGTH_MS);

    expect(arming.tally).toEqual({ scheduled: 2, hit: 0, unconnected: 0 });
  });
});

describe("an outage that keeps to its time", () => {
  it.each([
    { name: "no client is connected", open: 0, asks: false, tally: { scheduled: 1, hit: 0, unconnected: 1 } },
    {
      name: "a client has a watch, which the fault breaks",
      open: 1,
      asks: false,
      tally: { scheduled: 1, hit: 1, unconnected: 0 },
    },
    { name: "a client sends several requests", open: 0, asks: true, tally: { scheduled: 1, hit: 1, unconnected: 0 } },
  ])("lasts its length when $name", async ({ open, asks, tally }) => {
    const { arming, clock, outages, ask } = setUp(TIMED, open);
    arming.arm(fault("outage"));
    await clock.advance(LENGTH_MS - 1);
    const before = outages.size;

    for (let times = 0; asks && times < 3; times += 1) ask();
    await clock.advance(1);

    expect([before, outages.size]).toEqual([1, 0]);
    expect(arming.tally).toEqual(tally);
  });
});

describe("an outage of writes that keeps to its time", () => {
  it("breaks no watch, so that its client does not notice it", async () => {
    const { arming, clock } = setUp(TIMED, 1);
    arming.arm(fault("outage-of-writes"));

    await clock.advance(LENGTH_MS);

    expect(arming.tally).toEqual({ scheduled: 1, hit: 0, unconnected: 0 });
  });
});

describe("a fault that waits", () => {
  it("waits as long as it takes, and provokes nothing", async () => {
    const { arming, armory, clock, provoked } = setUp({ protocol: "h2" }, 1);
    arming.arm(fault("answer-500"));

    await clock.advance(100 * LENGTH_MS);

    expect(armory.take("request")?.kind).toBe("answer-500");
    expect(provoked).toEqual([]);
  });

  it("lasts from the first request that it refuses, if it is an outage", async () => {
    const { arming, clock, outages, ask } = setUp({ protocol: "h2" });
    arming.arm(fault("outage"));
    await clock.advance(100 * LENGTH_MS);

    ask();
    await clock.advance(LENGTH_MS - 1);
    const before = outages.size;
    await clock.advance(1);

    expect([before, outages.size]).toEqual([1, 0]);
    expect(arming.tally).toEqual({ scheduled: 1, hit: 1, unconnected: 0 });
  });
});
