import { describe, expect, it } from "vitest";
import type { DesiredClaim } from "../../../../aggregator/core/claim-write.ts";
import type { ProtectionMode } from "../../../../aggregator/core/deletion.ts";
import type { ClaimWarning } from "../../../../aggregator/sinks/claim-events.ts";
import { ClaimWarnings } from "../../../../aggregator/writing/claim-warnings.ts";
import { HeldDeletions, type ObservedDeletion } from "../../../../aggregator/writing/held-deletions.ts";
import { UnusedWhileMounted } from "../../../../aggregator/writing/unused-while-mounted.ts";
import type { KubeEvent } from "../../../../common/kube/kube-event.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";

const mounts = [{ node: "n1", pod: "shop/web-0" }];
const mounted = mountedStatus(["n1"]);
const unused = statusWith({ unused: true, reason: "Unmounted" });

function recorder() {
  const told: ClaimWarning[] = [];
  return { told, warnings: { tell: (_: Claim, warning: ClaimWarning) => void told.push(warning) } };
}

describe("a warning about a claim", () => {
  it("is an event and a line, for twenty of thousands of claims, and one line says that there are more", () => {
    const [clock, logger] = [createFakeClock(), createFakeLogger()];
    const events: KubeEvent[] = [];
    const emit = (event: KubeEvent): void => void events.push(event);
    const warnings = new ClaimWarnings({ clock, logger, emit, nowMs: () => NOON });
    const warning = { kind: "write-refused", reason: "Forbidden", message: "no" } as const;
    const tell = (): void => {
      for (let index = 0; index < 5_000; index += 1) warnings.tell(claimWith({ name: `data-${index}` }), warning);
    };

    tell();
    const first = [events.length, logger.lines.length];
    clock.pass(30_000);
    tell();

    expect([first, [events.length, logger.lines.length]]).toEqual([
      [20, 21],
      [21, 23],
    ]);
    expect(events[0]).toMatchObject({ reason: "StatusWriteRefused", regarding: { name: "data-0" } });
    const fields = { namespace: "shop", claim: "data-0", warning: "write-refused", reason: "Forbidden", err: "no" };
    expect(logger.lines[0]).toMatchObject({ level: "warn", message: "claim needs attention", fields });
    expect(logger.lines.at(-1)?.message).toMatch(/^more claims need attention/);
  });
});

describe("a claim that protection keeps from being deleted", () => {
  const HELD: ClaimWarning = { kind: "deletion-held", mounts };
  const RELEASED: ClaimWarning = { kind: "force-released", mounts, why: "lost" };
  /** The deletion was requested ten seconds before the clock begins. */
  const deletion = { requestedAtMs: NOON - 10_000 };
  const override = { deletion: { ...deletion, override: "lost" } };

  function setUp(protection: ProtectionMode = "enforce") {
    const clock = createFakeClock(undefined, 1);
    const { told, warnings } = recorder();
    const held = new HeldDeletions({ clock, warnings, protection, nowMs: () => clock.wallMs() });
    const observed = (fields: Partial<Claim> = {}, isUsedByPod = false): ObservedDeletion => {
      const claim = claimWith({ isDeleting: true, deletion, status: mounted, ...fields });
      return { claim, mounts, isUsedByPod };
    };
    const look = (fields?: Partial<Claim>, isUsedByPod?: boolean) => held.compare(observed(fields, isUsedByPod));
    return { clock, told, held, look, gone: (fields?: Partial<Claim>) => held.onGone(observed(fields)) };
  }

  it("leads to one warning, after thirty seconds", () => {
    const { clock, told, look } = setUp();

    const againMs = look();
    clock.pass(29_999);
    look();
    const early = [...told];
    clock.pass(1);
    const later = [look(), look()];

    expect([againMs, early, later, told]).toEqual([30_000, [], [undefined, undefined], [HELD]]);
  });

  it.each([
    { name: "it is unused", fields: { status: unused } },
    { name: "it has no status", fields: { status: undefined } },
    { name: "it is not bound", fields: { phase: "Lost" } },
    { name: "a pod still names it, as without Mooring", isUsedByPod: true },
    { name: "protection is not enforced", mode: "audit" as const },
    { name: "an override lets an unused one go", fields: { ...override, status: unused } },
    { name: "an override is there where protection is not enforced", fields: override, mode: "audit" as const },
  ])("leads to no warning where $name", ({ fields = {}, isUsedByPod = false, mode }) => {
    const { clock, told, held, look, gone } = setUp(mode);

    look(fields, isUsedByPod);
    clock.pass(60_000);
    const againMs = look(fields, isUsedByPod);
    const counts = [held.size, held.oldestMs];
    gone(fields);

    expect([againMs, counts, told]).toEqual([undefined, [0, 0], []]);
  });

  it("counts until it is unused or gone, and waits anew when it is held again", () => {
    const { clock, told, held, look, gone } = setUp();
    const counts: number[] = [];

    for (const change of [() => look(), () => look({ status: unused }), () => look(), () => gone()]) {
      change();
      clock.pass(20_000);
      counts.push(held.size);
    }

    expect([counts, told]).toEqual([[1, 0, 1, 0], []]);
  });

  it("has the age of its deletion where a leader finds it held, else since its last pod went; the oldest counts", () => {
    const { clock, held, look } = setUp();
    look({ key: "shop/new", uid: "new" }, true);
    clock.pass(5_000);
    look({ key: "shop/new", uid: "new" });
    clock.pass(2_000);
    const afterPod = held.oldestMs;
    look({ key: "shop/old", uid: "old" });

    expect([afterPod, held.size, held.oldestMs]).toEqual([2_000, 2, 17_000]);
  });

  it.each([
    { name: "is held before", isHeld: true, isSeen: true },
    { name: "is not held before", isHeld: false, isSeen: true },
    { name: "goes before anybody looks", isHeld: false, isSeen: false },
  ])("leads to one warning when an override lets it go: it $name", ({ isHeld, isSeen }) => {
    const { clock, told, held, look, gone } = setUp();
    if (isHeld) look();

    if (isSeen) look(override);
    clock.pass(60_000);
    if (isSeen) look(override);
    gone(override);

    expect([told, held.size]).toEqual([[RELEASED], 0]);
  });
});

describe("a claim that Kubernetes calls unused while it is mounted", () => {
  const upstream = { unused: true, sinceMs: NOON, owner: "other" as const };
  const mountedAgainst = { upstream, status: mounted };

  function setUp() {
    const clock = createFakeClock();
    const { told, warnings } = recorder();
    const claims = new UnusedWhileMounted({ clock, warnings });
    const compare = (claim: Partial<Claim>, fields: Partial<DesiredClaim> = {}): number | undefined =>
      claims.compare({ claim: claimWith(claim), isEligible: true, desired: undefined, ...fields });
    return { clock, told, claims, compare };
  }

  it("leads to one warning after ten seconds, to another one after both agreed, and counts until it is gone", () => {
    const { clock, told, claims, compare } = setUp();

    const againMs = compare(mountedAgainst);
    clock.pass(9_999);
    compare(mountedAgainst);
    const early = [told.length, claims.size];
    clock.pass(1);
    const later = [compare(mountedAgainst), compare(mountedAgainst)];
    const first = [...told];
    compare({ upstream: { ...upstream, unused: false }, status: mounted });
    compare(mountedAgainst);
    clock.pass(10_000);
    compare(mountedAgainst);

    expect([againMs, early, later]).toEqual([10_000, [0, 0], [undefined, undefined]]);
    expect(first).toEqual([{ kind: "unused-while-mounted", nodes: ["n1"] }]);
    expect([told.length, claims.size]).toEqual([2, 1]);
    claims.forget(claimWith({ uid: "claim-0" }));
    expect(claims.size).toBe(1);
    claims.forget(claimWith());
    expect(claims.size).toBe(0);
  });

  it("leads to none where that passes by itself, as at the end of each job", () => {
    const { clock, told, compare } = setUp();
    compare(mountedAgainst);
    clock.pass(9_999);
    compare({ upstream, status: unused });
    clock.pass(60_000);

    expect([compare(mountedAgainst), told]).toEqual([10_000, []]);
  });

  it.each<{ readonly name: string; readonly claim: Partial<Claim>; readonly decision?: Partial<DesiredClaim> }>([
    { name: "Kubernetes says nothing", claim: { status: mounted } },
    { name: "Kubernetes calls it used", claim: { status: mounted, upstream: { ...upstream, unused: false } } },
    {
      name: "Mooring writes the condition itself",
      claim: { status: mounted, upstream: { ...upstream, owner: "mooring" } },
    },
    { name: "only a pod names it", claim: { status: statusWith(), upstream } },
    { name: "it is about to be unused", claim: mountedAgainst, decision: { desired: unused } },
    { name: "it is being deleted", claim: mountedAgainst, decision: { isEligible: false } },
  ])("is none where $name", ({ claim, decision }) => {
    expect(setUp().compare(claim, decision)).toBeUndefined();
  });
});
