import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConsistencyCheck } from "../../../../common/kube/consistency.ts";
import type { Identity } from "../../../../common/kube/identity.ts";
import { Store } from "../../../../common/kube/store.ts";

/** `a1@5` is the object named a with UID a1 in the state of version 5. */
function identityOf(text: string): Identity {
  const [uid = "", resourceVersion = ""] = text.split("@");
  return { key: uid.slice(0, 1), uid, resourceVersion };
}

describe("a consistency check", () => {
  it.each([
    { name: "finds no drift where nothing differs", store: "a1@5 b1@6", listed: "a1@5 b1@6", drift: [] },
    { name: "finds what is missing", store: "a1@5", listed: "a1@5 b1@6", drift: ["missing b"] },
    { name: "finds what is outdated", store: "a1@5", listed: "a1@6", drift: ["outdated a"] },
    { name: "compares versions as numbers", store: "a1@9", listed: "a1@10", drift: ["outdated a"] },
    { name: "finds what was replaced", store: "a1@5", listed: "a2@6", drift: ["replaced a"] },
    { name: "finds what is left over", store: "a1@5 b1@6", listed: "a1@5", drift: ["leftover b"] },
    { name: "accepts an object that is newer than the list", store: "a1@12", listed: "a1@5", drift: [] },
    { name: "accepts an object that was created after the list", store: "a1@5 b1@11", listed: "a1@5", drift: [] },
    { name: "accepts an object that was re-created after the list", store: "a2@12", listed: "a1@5", drift: [] },
    {
      name: "accepts differences before the store has reached the list's version",
      store: "a1@5 c1@4",
      listed: "a2@8 b1@9",
      after: (store: Store<Identity>) => {
        store.put(identityOf("a2@8"));
        store.put(identityOf("b1@9"));
        store.remove(identityOf("c1@10"));
      },
      drift: [],
    },
    {
      name: "accepts an object that is deleted while the list arrives",
      store: "a1@5 b1@6",
      listed: "a1@5 b1@6",
      before: (store: Store<Identity>) => store.remove(identityOf("b1@11")),
      drift: [],
    },
    {
      name: "accepts an object that is created and deleted while the list arrives",
      store: "a1@5",
      listed: "a1@5 b1@6",
      before: (store: Store<Identity>) => {
        store.put(identityOf("b1@6"));
        store.remove(identityOf("b1@11"));
      },
      drift: [],
    },
    { name: "finds no drift between resource versions that are no numbers", store: "a1@x", listed: "a1@y", drift: [] },
  ])("$name", ({ store: stored, listed, before = () => {}, after = () => {}, drift }) => {
    const { store, check } = checked(stored);

    before(store);
    check.compare(listed.split(" ").map(identityOf));
    check.end("10");
    after(store);

    expect(check.drift().map(({ kind, key }) => `${kind} ${key}`)).toEqual(drift);
  });

  it("does not find again what has been settled", () => {
    const { store, check } = checked("a1@5");
    check.compare([identityOf("a1@6")]);
    check.end("10");

    const first = check.drift();
    store.put(identityOf("a1@6"));

    expect([first.length, check.drift().length]).toEqual([1, 0]);
  });
});

function checked(objects: string): { readonly store: Store<Identity>; readonly check: ConsistencyCheck } {
  let check: ConsistencyCheck | undefined;
  const store = new Store<Identity>((change) => check?.onChange(change));
  for (const text of objects.split(" ")) store.put(identityOf(text));
  check = new ConsistencyCheck(store.keys(), (key) => store.get(key));
  return { store, check };
}

/** Something that happens on the server, and whether the watch loses it. */
interface Happening {
  readonly key: string;
  readonly kind: "write" | "delete";
  readonly isLost: boolean;
}

interface Event {
  readonly kind: "write" | "delete";
  readonly object: Identity;
  readonly isLost: boolean;
}

/** What a server makes of it: versions, UIDs, and no deletion of what is not there. */
function history(happenings: readonly Happening[]): readonly Event[] {
  const live = new Map<string, string>();
  const events: Event[] = [];
  for (const { key, kind, isLost } of happenings) {
    const known = live.get(key);
    if (kind === "delete" && known === undefined) continue;
    const version = events.length + 1;
    const uid = known ?? `${key}${version}`;
    if (kind === "delete") live.delete(key);
    else live.set(key, uid);
    events.push({ kind, isLost, object: { key, uid, resourceVersion: String(version) } });
  }
  return events;
}

function stateAfter(events: readonly Event[]): ReadonlyMap<string, Identity> {
  const state = new Map<string, Identity>();
  for (const { kind, object } of events) {
    if (kind === "delete") state.delete(object.key);
    else state.set(object.key, object);
  }
  return state;
}

function textOf(objects: Iterable<Identity>): readonly string[] {
  return [...objects].map(({ key, uid, resourceVersion }) => `${key} ${uid}@${resourceVersion}`).toSorted();
}

const happening = fc.record({
  key: fc.constantFrom("a", "b", "c", "d"),
  kind: fc.constantFrom("write" as const, "write" as const, "delete" as const),
  isLost: fc.boolean(),
});

/** A history, where the store is in it when the check begins, where the list is, and how many events come before each page. */
const scene = fc.record({
  happenings: fc.array(happening, { maxLength: 25 }),
  begin: fc.nat(25),
  listed: fc.nat(25),
  steps: fc.array(fc.nat(6), { minLength: 6, maxLength: 6 }),
});

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { seed: 11, numRuns: 300 } : { numRuns: Number(hunt) };

type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

/** Runs a check beside a watch, until the watch has come to the end of the history. */
function play({ happenings, begin, listed, steps }: Scene, isComplete: boolean) {
  const events = history(happenings);
  const listAt = Math.max(Math.min(begin, events.length), Math.min(listed, events.length));
  const store = new Store<Identity>((change) => check?.onChange(change));
  let position = 0;
  const goOn = (count: number): void => {
    for (const { kind, object, isLost } of events.slice(position, position + count)) {
      position += 1;
      if (isLost && !isComplete) continue;
      if (kind === "delete") store.remove(object);
      else store.put(object);
    }
  };
  let check: ConsistencyCheck | undefined;
  goOn(Math.min(begin, events.length));
  check = new ConsistencyCheck(store.keys(), (key) => store.get(key));
  const pages = [...stateAfter(events.slice(0, listAt)).values()];
  for (const [index, object] of pages.entries()) {
    goOn(steps[index] ?? 0);
    check.compare([object]);
  }
  check.end(String(listAt));
  goOn(events.length);
  return { drift: check.drift(), store, truth: stateAfter(events) };
}

describe("a consistency check of a store that follows a watch", () => {
  it("finds no drift where the watch loses nothing, for any interleaving with the list", () => {
    fc.assert(
      fc.property(scene, (one) => {
        const { drift, store, truth } = play(one, true);

        expect(textOf(store.all())).toEqual(textOf(truth.values()));
        expect(drift).toEqual([]);
      }),
      RUNS,
    );
  });

  it("finds exactly what the watch has lost when nothing changes after the list", () => {
    fc.assert(
      fc.property(scene, (one) => {
        const { drift, store, truth } = play({ ...one, listed: one.happenings.length }, false);
        const differing = ["a", "b", "c", "d"].filter((key) => {
          const [known, real] = [store.get(key), truth.get(key)];
          return known?.uid !== real?.uid || known?.resourceVersion !== real?.resourceVersion;
        });

        expect(drift.map(({ key }) => key).toSorted()).toEqual(differing);
      }),
      RUNS,
    );
  });
});
