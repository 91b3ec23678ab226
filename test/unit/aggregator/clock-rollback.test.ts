import { describe, expect, it } from "vitest";
import { FleetState } from "../../../aggregator/nodes/fleet-state.ts";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { mountedVolumeOf, NOON, reportWith, unmountRecordOf } from "./world.ts";

const HOUR = 3_600_000;

/** A fleet that has heard of `n1` at noon, two hours after its boot: pods 1 and 2 have the volume mounted, pod 9 no longer. */
function heardAtNoon() {
  const clock = createFakeClock();
  const fleet = new FleetState(clock);
  let elapsed = 0;
  /** A message that comes at once, of a scan that ended a millisecond before it was sent. */
  const tell = (sentAt: number, fields: Partial<NodeReport> = {}) => {
    const scan = { beganAt: sentAt - 2, endedAt: sentAt - 1 };
    const receipt = { atMs: NOON + elapsed, widthMs: 0, nodeBootId: "boot-1" };
    return fleet.accept(reportWith({ scan, sentAt, ...fields }), receipt);
  };
  const wait = (ms: number): void => {
    clock.pass(ms);
    elapsed += ms;
  };
  const released = unmountRecordOf("pod-9", { after: 2 * HOUR - 500, by: 2 * HOUR - 400 });
  const clockSamples = [{ at: 2 * HOUR - 2, ms: NOON - 2 }];
  tell(2 * HOUR, {
    mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")],
    unmountRecords: [released],
    clockSamples,
  });
  return { fleet, tell, wait };
}

/** The machine's state of an hour after its boot is put back; its agent goes on from there, a heartbeat every 30 s. */
function putBack(fields: Partial<NodeReport> = {}, count = 5) {
  const { fleet, tell, wait } = heardAtNoon();
  const changes = Array.from({ length: count }, (_, index) => {
    wait(30_000);
    return tell(HOUR + index * 30_000, fields);
  });
  return { fleet, tell, wait, changes };
}

describe("a node whose boot clock has gone back within its boot", () => {
  it("is heard again after two minutes, and is silent until then", () => {
    const { fleet, changes } = putBack();

    expect(changes.map(({ kind }) => kind)).toEqual(["stale", "stale", "stale", "stale", "accepted"]);
    expect(changes.at(-1)).toMatchObject({ rolledBackMs: HOUR - 120_000 });
    expect(fleet.lastReportAgeMs("n1")).toBe(0);
  });

  it("ended by its read what it showed before and shows no longer, and nothing else", () => {
    const { fleet } = putBack({ mountedVolumes: [mountedVolumeOf("pod-2")] });

    const view = fleet.view("n1");
    const [told, inferred, ...others] = [...(view?.unmountRecords.values() ?? [])];
    expect(view?.mountedVolumes.map(({ podUid }) => podUid)).toEqual(["pod-2"]);
    expect(others).toEqual([]);
    expect(inferred).toMatchObject({ podUid: "pod-1", byMs: NOON + 150_000 - 0.999_999, isReported: false });
    // From the begin of the scan that still showed it.
    expect(inferred?.widthMs).toBeCloseTo(150_001, 3);
    expect(told).toMatchObject({ podUid: "pod-9", byMs: NOON - 400, isReported: false });
  });

  it("tells ends that are later than those from before, whatever their stamps", () => {
    const released = unmountRecordOf("pod-2", { after: HOUR - 20, by: HOUR - 10 });
    const { fleet } = putBack({ unmountRecords: [released] });

    const [before, , after] = [...(fleet.view("n1")?.unmountRecords.values() ?? [])].toSorted(
      (one, other) => one.timeline - other.timeline,
    );
    expect([before?.podUid, after?.podUid]).toEqual(["pod-9", "pod-1"]);
    expect((after?.timeline ?? 0) - (before?.timeline ?? 0)).toBe(1);
  });

  it("has to tell the whole: a heartbeat may call another state by a number that is known", () => {
    const { fleet, tell, wait } = putBack({}, 4);
    const {
      mountedVolumes: _,
      unmountRecords: __,
      ...heartbeat
    } = reportWith({
      scan: { beganAt: HOUR + 119_998, endedAt: HOUR + 119_999 },
      sentAt: HOUR + 120_000,
    });
    wait(30_000);

    const asked = fleet.accept(heartbeat, { atMs: NOON + 150_000, widthMs: 0, nodeBootId: "boot-1" });
    const whole = tell(HOUR + 120_001);

    expect([asked.kind, whole.kind]).toEqual(["unknown", "accepted"]);
  });

  it("stays unheard as long as another one with its name and boot is heard: it is a copy", () => {
    const { tell, wait } = heardAtNoon();

    const kinds = Array.from({ length: 20 }, (_, index) => {
      wait(15_000);
      const copy = tell(HOUR + index * 30_000).kind;
      wait(15_000);
      return [copy, tell(2 * HOUR + (index + 1) * 30_000).kind];
    });

    expect(kinds).toEqual(Array.from({ length: 20 }, () => ["stale", "accepted"]));
  });

  it("is not to be found in late copies, however many come", () => {
    const { tell, wait } = heardAtNoon();
    wait(600_000);

    const kinds = Array.from({ length: 100 }, (_, index) => tell(HOUR + index * 30_000).kind);

    expect(new Set(kinds)).toEqual(new Set(["stale"]));
  });
});
