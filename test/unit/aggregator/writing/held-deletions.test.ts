import { describe, expect, it } from "vitest";
import type { ProtectionMode } from "../../../../aggregator/core/deletion.ts";
import type { ClaimWarning } from "../../../../aggregator/sinks/claim-events.ts";
import { HeldDeletions, type ObservedDeletion } from "../../../../aggregator/writing/held-deletions.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";

const mounts = [{ node: "n1", pod: "shop/web-0" }];
const mounted = mountedStatus(["n1"]);
const unused = statusWith({ unused: true, reason: "Unmounted" });
const HELD: ClaimWarning = { kind: "deletion-held", mounts };
const RELEASED: ClaimWarning = { kind: "force-released", mounts, why: "lost" };
/** Its deletion was asked for ten seconds before the clock begins. */
const deletion = { askedAtMs: NOON - 10_000 };

function setUp(protection: ProtectionMode = "enforce") {
  const clock = createFakeClock(undefined, 1);
  const told: ClaimWarning[] = [];
  const warnings = { tell: (_: Claim, warning: ClaimWarning) => void told.push(warning) };
  const held = new HeldDeletions({ clock, warnings, protection, nowMs: () => clock.wallMs() });
  const sight = (fields: Partial<Claim>, isUsedByPod = false): ObservedDeletion => {
    const claim = claimWith({ isDeleting: true, deletion, status: mounted, ...fields });
    return { claim, mounts, isUsedByPod };
  };
  const look = (fields: Partial<Claim> = {}, isUsedByPod = false): number | undefined =>
    held.compare(sight(fields, isUsedByPod));
  return { clock, told, held, look, sight };
}

describe("a claim that is being deleted", () => {
  it("is told of once, when protection has kept it for thirty seconds", () => {
    const { clock, told, look } = setUp();

    const againMs = look();
    clock.pass(29_999);
    look();
    const early = [...told];
    clock.pass(1);
    const later = [1, 2].map(() => look());

    expect([againMs, early]).toEqual([30_000, []]);
    expect([told, later]).toEqual([[HELD], [undefined, undefined]]);
  });

  it.each([
    { name: "it is unused", fields: { status: unused } },
    { name: "nothing was written of it", fields: { status: undefined } },
    { name: "it is not bound", fields: { phase: "Lost" } },
    { name: "a pod still names it, as without Mooring", fields: {}, isUsedByPod: true },
    { name: "protection is not enforced", fields: {}, mode: "audit" as const },
  ])("is not told of where $name", ({ fields, isUsedByPod = false, mode }) => {
    const { clock, told, held, look } = setUp(mode);

    look(fields, isUsedByPod);
    clock.pass(60_000);
    const againMs = look(fields, isUsedByPod);

    expect([againMs, told, held.size, held.oldestMs]).toEqual([undefined, [], 0, 0]);
  });

  it("does not count any more when it is unused or gone", () => {
    const { held, look, sight } = setUp();
    const counts: number[] = [];

    for (const change of [() => look(), () => look({ status: unused }), () => look(), () => held.onGone(sight({}))]) {
      change();
      counts.push(held.size);
    }

    expect(counts).toEqual([1, 0, 1, 0]);
  });

  it("is held since its deletion was asked for where a leader finds it so, and else since its last pod went", () => {
    const found = setUp();
    found.look();
    const seen = setUp();
    seen.look({}, true);
    seen.clock.pass(5_000);
    seen.look();
    for (const { clock } of [found, seen]) clock.pass(2_000);

    expect([found.held.oldestMs, seen.held.oldestMs]).toEqual([12_000, 2_000]);
  });

  it("has as its age that of the one which is held for longest", () => {
    const { clock, held, look } = setUp();
    look({ key: "shop/old", uid: "old" });
    clock.pass(60_000);
    look({ key: "shop/new", uid: "new", deletion: { askedAtMs: clock.wallMs() } });

    expect([held.size, held.oldestMs]).toEqual([2, 70_000]);
  });
});

describe("an override", () => {
  const override = { ...deletion, override: "lost" };

  it("is told of once, and the claim is held no more", () => {
    const { clock, told, held, look, sight } = setUp();
    look();

    look({ deletion: override });
    clock.pass(60_000);
    look({ deletion: override });
    held.onGone(sight({ deletion: override }));

    expect([told, held.size]).toEqual([[RELEASED], 0]);
  });

  it("is told of where the claim went before anybody could look", () => {
    const { told, held, sight } = setUp();

    held.onGone(sight({ deletion: override }));

    expect(told).toEqual([RELEASED]);
  });

  it.each([
    { name: "the claim is unused", fields: { status: unused }, mode: "enforce" as const },
    { name: "nothing would keep the claim", fields: {}, mode: "audit" as const },
  ])("is not told of where $name", ({ fields, mode }) => {
    const { told, held, look, sight } = setUp(mode);

    look({ deletion: override, ...fields });
    held.onGone(sight({ deletion: override, ...fields }));

    expect(told).toEqual([]);
  });
});
