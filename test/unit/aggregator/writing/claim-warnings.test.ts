import { expect, it } from "vitest";
import { createClaimWarnings } from "../../../../aggregator/writing/claim-warnings.ts";
import type { KubeEvent } from "../../../../common/kube/kube-event.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { claimWith, NOON } from "../world.ts";

it("a warning about a claim is an event and a line, for twenty of thousands of claims, and one line says that there are more", () => {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const events: KubeEvent[] = [];
  const emit = (event: KubeEvent): void => void events.push(event);
  const warnings = createClaimWarnings({ clock, logger, emit, nowMs: () => NOON });
  const warning = { kind: "write-refused", reason: "Forbidden", err: "no" } as const;
  const warnAll = (): void => {
    for (let index = 0; index < 5_000; index += 1) warnings.warn(claimWith({ name: `data-${index}` }), warning);
  };

  warnAll();
  const first = [events.length, logger.lines.length];
  clock.pass(30_000);
  warnAll();

  expect([first, [events.length, logger.lines.length]]).toEqual([
    [20, 21],
    [21, 23],
  ]);
  expect(events[0]).toMatchObject({ reason: "StatusWriteRefused", regarding: { name: "data-0" } });
  const fields = { namespace: "shop", claim: "data-0", warning: "write-refused", reason: "Forbidden", err: "no" };
  expect(logger.lines[0]).toMatchObject({ level: "warn", message: "claim needs attention", fields });
  expect(logger.lines.at(-1)?.message).toMatch(/^more claims need attention/);
});
