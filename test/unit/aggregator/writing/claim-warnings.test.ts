import { describe, expect, it } from "vitest";
import { ClaimWarnings } from "../../../../aggregator/writing/claim-warnings.ts";
import type { KubeEvent } from "../../../../common/kube/kube-event.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { claimWith, NOON } from "../world.ts";

const warning = { kind: "write-refused", reason: "Forbidden", message: "no" } as const;

function setUp() {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const events: KubeEvent[] = [];
  const emit = (event: KubeEvent): void => void events.push(event);
  return { clock, logger, events, warnings: new ClaimWarnings({ clock, logger, emit, nowMs: () => NOON }) };
}

describe("ClaimWarnings", () => {
  it("tells the claim's owner by an event and the administrator by a line", () => {
    const { logger, events, warnings } = setUp();

    warnings.tell(claimWith(), warning);

    expect(events).toMatchObject([{ reason: "StatusWriteRefused", regarding: { name: "data" } }]);
    expect(logger.lines).toMatchObject([
      {
        level: "warn",
        message: "claim needs attention",
        fields: { namespace: "shop", claim: "data", warning: "write-refused", reason: "Forbidden" },
      },
    ]);
  });

  it("tells a few of what thousands of claims share, and says that there are more", () => {
    const { clock, logger, events, warnings } = setUp();

    for (let index = 0; index < 5_000; index += 1) warnings.tell(claimWith({ name: `data-${index}` }), warning);
    const first = [events.length, logger.lines.length];
    clock.pass(30_000);
    for (let index = 0; index < 5_000; index += 1) warnings.tell(claimWith({ name: `more-${index}` }), warning);

    expect(first).toEqual([20, 21]);
    expect([events.length, logger.lines.length]).toEqual([21, 23]);
    expect(logger.lines.at(-1)?.message).toMatch(/^more claims need attention/);
  });
});
