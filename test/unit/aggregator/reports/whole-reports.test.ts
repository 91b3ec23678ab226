import { describe, expect, it } from "vitest";
import { WholeReports } from "../../../../aggregator/reports/whole-reports.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeRandom } from "../../../fakes/random.ts";
import { reportWith } from "../world.ts";

function heartbeatOf(node: string) {
  const { mountedVolumes: _, unmountRecords: __, ...heartbeat } = reportWith({ node });
  return heartbeat;
}

function setUp(nodes: number) {
  const clock = createFakeClock();
  const isAwaited = (node: string): boolean => node === "awaited";
  const whole = new WholeReports({ clock, random: createFakeRandom(), nodes: () => nodes, isAwaited });
  const asked = (count: number): number =>
    Array.from({ length: count }, (_, index) => whole.ask(heartbeatOf(`n${index}`)).kind).filter(
      (kind) => kind === "unknown",
    ).length;
  return { clock, whole, asked };
}

describe("nodes of which the state is not known", () => {
  it("are asked a few at a time when all of them come at once, and at their next heartbeat at last", () => {
    const { clock, asked } = setUp(5_000);

    const first = asked(5_000);
    clock.pass(1_000);
    const second = asked(5_000);
    clock.pass(24_000);

    expect(first).toBeGreaterThan(150);
    expect(first).toBeLessThan(250);
    expect(second).toBeGreaterThan(350);
    expect(second).toBeLessThan(450);
    expect(asked(5_000)).toBe(5_000);
  });

  it("are asked at once where they are few", () => {
    expect(setUp(200).asked(200)).toBe(200);
  });

  it("are asked at once where a claim waits for them, or they have news", () => {
    const { whole } = setUp(5_000);

    expect(whole.ask(heartbeatOf("awaited")).kind).toBe("unknown");
    expect(whole.ask(reportWith({ node: "n1" })).kind).toBe("unknown");
  });
});
