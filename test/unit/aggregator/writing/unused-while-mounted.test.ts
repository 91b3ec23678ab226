import { describe, expect, it } from "vitest";
import type { DesiredClaim } from "../../../../aggregator/core/claim-write.ts";
import type { ClaimWarning } from "../../../../aggregator/sinks/claim-events.ts";
import { UnusedWhileMounted } from "../../../../aggregator/writing/unused-while-mounted.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";

const unused = { unused: true, sinceMs: NOON, owner: "other" as const };
const mounted = mountedStatus(["n1"]);

function setUp() {
  const clock = createFakeClock();
  const told: ClaimWarning[] = [];
  const disagreements = new UnusedWhileMounted({ clock, warnings: { tell: (_, warning) => void told.push(warning) } });
  const compare = (claim: Partial<Claim>, fields: Partial<DesiredClaim> = {}): number | undefined =>
    disagreements.compare({ claim: claimWith(claim), isEligible: true, desired: undefined, ...fields });
  return { clock, told, disagreements, compare };
}

describe("a claim that Kubernetes calls unused while it is mounted", () => {
  it("is told of once, when that does not pass by itself", () => {
    const { clock, told, disagreements, compare } = setUp();

    const againMs = compare({ upstream: unused, status: mounted });
    const early = [...told];
    clock.pass(againMs ?? 0);
    const later = [1, 2].map(() => compare({ upstream: unused, status: mounted }));

    expect([againMs, early]).toEqual([10_000, []]);
    expect(later).toEqual([undefined, undefined]);
    expect(told).toEqual([{ kind: "unused-while-mounted", nodes: ["n1"] }]);
    expect(disagreements.size).toBe(1);
  });

  it("is told of again after they have agreed", () => {
    const { clock, told, disagreements, compare } = setUp();
    for (const upstream of [unused, { ...unused, unused: false }, unused]) {
      compare({ upstream, status: mounted });
      clock.pass(10_000);
      compare({ upstream, status: mounted });
    }

    expect(told).toHaveLength(2);
    expect(disagreements.size).toBe(1);
  });

  it("is not told of when it passes by itself, as at the end of each job", () => {
    const { clock, told, compare } = setUp();
    compare({ upstream: unused, status: mounted });
    clock.pass(9_999);
    compare({ upstream: unused, status: statusWith({ unused: true, reason: "Unmounted" }) });
    clock.pass(60_000);

    expect(compare({ upstream: unused, status: mounted })).toBe(10_000);
    expect(told).toEqual([]);
  });

  it("is forgotten when it is gone", () => {
    const { clock, disagreements, compare } = setUp();
    compare({ upstream: unused, status: mounted });
    clock.pass(10_000);
    compare({ upstream: unused, status: mounted });

    disagreements.forget(claimWith({ uid: "claim-0" }));
    const before = disagreements.size;
    disagreements.forget(claimWith());

    expect([before, disagreements.size]).toEqual([1, 0]);
  });

  it.each<{ readonly name: string; readonly claim: Partial<Claim>; readonly decision?: Partial<DesiredClaim> }>([
    { name: "Kubernetes says nothing", claim: { status: mounted } },
    { name: "Kubernetes calls it used", claim: { status: mounted, upstream: { ...unused, unused: false } } },
    {
      name: "it is we who speak in Kubernetes' place",
      claim: { status: mounted, upstream: { ...unused, owner: "mooring" } },
    },
    { name: "it is only named by a pod", claim: { status: statusWith(), upstream: unused } },
    {
      name: "it is about to be unmounted",
      claim: { status: mounted, upstream: unused },
      decision: { desired: statusWith({ unused: true, reason: "Unmounted" }) },
    },
    { name: "it is being deleted", claim: { status: mounted, upstream: unused }, decision: { isEligible: false } },
  ])("is none when $name", ({ claim, decision }) => {
    expect(setUp().compare(claim, decision)).toBeUndefined();
  });
});
