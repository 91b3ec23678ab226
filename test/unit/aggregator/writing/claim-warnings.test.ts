import { expect, it } from "vitest";
import type { ClaimWarning } from "../../../../aggregator/sinks/claim-events.ts";
import { ClaimWarnings } from "../../../../aggregator/writing/claim-warnings.ts";
import { HeldDeletions } from "../../../../aggregator/writing/held-deletions.ts";
import type { KubeEvent } from "../../../../common/kube/kube-event.ts";
import { createFakeClock, type FakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { claimWith, mountedStatus, NOON } from "../world.ts";

it("a warning about a claim is an event and a line, for twenty of thousands of claims, and one line says that there are more", () => {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const events: KubeEvent[] = [];
  const emit = (event: KubeEvent): void => void events.push(event);
  const warnings = new ClaimWarnings({ clock, logger, emit, nowMs: () => NOON });
  const warning = { kind: "write-refused", reason: "Forbidden", message: "no" } as const;
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

it.each([
  { name: "is one where protection kept it", protection: "enforce", expected: ["force-released"] },
  { name: "is none where protection is not enforced", protection: "audit", expected: [] },
] as const)("a warning that an override let a claim go, where the claim is gone before a check, $name", (row) => {
  const [clock, warned]: [FakeClock, string[]] = [createFakeClock(), []];
  const warnings = { warn: (_: unknown, { kind }: ClaimWarning) => void warned.push(kind) };
  const deletions = new HeldDeletions({ clock, warnings, protection: row.protection, nowMs: clock.wallMs });
  const deletion = { requestedAtMs: NOON, override: "lost" };

  const claim = claimWith({ isDeleting: true, deletion, status: mountedStatus(["n1"]) });
  deletions.onGone({ claim, mounts: [], isUsedByPod: false });

  expect([warned, deletions.size]).toEqual([row.expected, 0]);
});
