import fc from "fast-check";
import { expect, it } from "vitest";
import { unusedMessage } from "../../../../aggregator/core/claims/message.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import { claimKeeper } from "../../../../aggregator/sources/claims.ts";
import { podKeeper } from "../../../../aggregator/sources/pods.ts";
import { volumeKeeper } from "../../../../aggregator/sources/volumes.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { volumeWith } from "../world.ts";

const NUM_RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 100);

/** Half of the time nothing: what few objects have is often all that one has of it. */
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined, freq: 2 });
const text = fc.constantFrom(
  "",
  "300",
  "0300",
  "1e3",
  "9007199254740993",
  "a text that is longer than those that V8 shares itself",
);
const texts = fc.array(text, { maxLength: 3 });
/** Most at a whole second, as the API's are. */
const ms = fc.oneof(fc.constant(1_795_262_400_000), fc.integer({ min: -1, max: 4_000_000_000_000 }));
const flag = fc.boolean();
const yes = maybe(fc.constant(true as const));
const identity = { uid: text, resourceVersion: text, createdAtMs: maybe(ms) };

const anyStatus: fc.Arbitrary<ClaimStatus> = fc.record({
  ...{ unused: flag, reason: fc.constantFrom("Mounted", "Unmounted"), message: text, sinceMs: ms },
  mountedOn: maybe(fc.record({ nodes: texts, more: flag })),
  lastUse: maybe(
    fc.record({
      ...{ id: text, node: text, pod: text, podUid: text, byMs: ms, widthMs: maybe(ms) },
      evidence: fc.constant("mount-table"),
    }),
  ),
  gap: maybe(fc.record({ fromMs: ms, toMs: ms })),
  staged: maybe(text),
});
/** Half of the messages say what follows from the other fields. */
const status = fc.tuple(anyStatus, flag).map(([one, isOwn]) => (isOwn ? one : { ...one, message: unusedMessage(one) }));
const claim: fc.Arbitrary<Claim> = fc.record({
  ...{ ...identity, key: fc.constant("shop/data"), namespace: fc.constant("shop"), name: fc.constant("data") },
  ...{ phase: text, isDeleting: flag, volume: maybe(text), storageClass: maybe(text), capacity: maybe(text) },
  ...{ controllerUid: maybe(text), hasInvalidCondition: yes, status: maybe(status) },
  deletion: maybe(fc.record({ requestedAtMs: ms, override: maybe(text) })),
  strays: maybe(fc.array(fc.record({ annotation: text, fault: fc.constant("unwanted"), managers: texts }))),
  upstream: maybe(fc.record({ unused: flag, sinceMs: maybe(ms) })),
});
const volume: fc.Arbitrary<Volume & { readonly resourceVersion: string }> = fc.record({
  ...{ ...identity, key: text, phase: text, phaseSinceMs: maybe(ms), storageClass: maybe(text), capacity: maybe(text) },
  ...{ reclaimPolicy: maybe(text), isHostPath: flag, nodeAffinity: maybe(text) },
  claim: maybe(fc.record({ key: text, uid: text })),
  csi: maybe(fc.record({ driver: text, handleHash: text })),
  annotations: maybe(fc.record({ mountedOn: maybe(text), lastUse: maybe(text) })),
});
const pod: fc.Arbitrary<Pod> = fc.record({
  ...{ ...identity, key: fc.constant("shop/web-0"), node: maybe(text), claims: texts, ephemeralClaims: maybe(texts) },
  ...{ isTerminal: flag, hasStarted: flag, isAgent: yes, deletedAtMs: maybe(ms) },
  rejection: maybe(fc.record({ atMs: maybe(ms), level: fc.nat() })),
});

/** Keeps several at once, as what they have in common is kept once, and reads them field by field. */
function readsBackAll<T extends object>(one: fc.Arbitrary<T>, keeper: () => (value: T) => object): void {
  const property = fc.property(fc.array(one, { minLength: 1, maxLength: 4 }), (given) => {
    const kept = given.map(keeper());
    const fields = Object.keys(given[0] ?? {});
    const read = kept.map((object) => Object.fromEntries(fields.map((field) => [field, Reflect.get(object, field)])));
    expect(read).toEqual(given);
  });
  fc.assert(property, { numRuns: NUM_RUNS });
}

it.each<readonly [what: string, check: () => void]>([
  ["claims", () => readsBackAll(claim, claimKeeper)],
  ["volumes", () => readsBackAll(volume, volumeKeeper)],
  ["pods", () => readsBackAll(pod, podKeeper)],
])("the kept form of %s has every field that was given", (_, check) => check());

/** The object in which a kept one has what it shares. */
function sharedBy(kept: object): unknown {
  const slot = Object.getOwnPropertySymbols(kept).find(({ description }) => description === "shared");
  return slot && Reflect.get(kept, slot);
}

it("a volume's own annotation leaves it what it has in common with others", () => {
  const keep = volumeKeeper();
  const [one, other] = ["claim-1", "claim-2"].map((lastUse) =>
    keep({ ...volumeWith({ annotations: { mountedOn: undefined, lastUse } }), resourceVersion: "1" }),
  );

  expect(sharedBy(one ?? {})).toBeDefined();
  expect(sharedBy(one ?? {})).toBe(sharedBy(other ?? {}));
});
