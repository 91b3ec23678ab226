import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IndexMap } from "../../../../common/kube/index-map.ts";
import { Store, type StoreChange, type Stored } from "../../../../common/kube/store.ts";

/** `a1@5` is the object named a with UID a1 and resource version 5. */
function objectOf(text: string): Stored {
  const [uid = "", resourceVersion = ""] = text.split("@");
  return { key: uid.slice(0, 1), uid, resourceVersion };
}

function storeWith(...texts: readonly string[]) {
  const changes: string[] = [];
  const write = (change: StoreChange<Stored>): void => {
    const { kind, object } = change;
    const rest = { added: "", updated: "", deleted: "" };
    if (change.kind === "updated") rest.updated = ` from ${change.previous.resourceVersion}`;
    if (change.kind === "deleted") rest.deleted = ` from ${change.previous.resourceVersion} gone ${change.gone}`;
    changes.push(`${kind} ${object.uid}@${object.resourceVersion}${rest[kind]}`);
  };
  const store = new Store<Stored>(write);
  for (const text of texts) store.put(objectOf(text));
  changes.splice(0);
  return { store, changes };
}

describe("a store", () => {
  it.each([
    { name: "a new object", act: (store: Store<Stored>) => store.put(objectOf("b1@9")), changes: ["added b1@9"] },
    {
      name: "a newer state",
      act: (store: Store<Stored>) => store.put(objectOf("a1@9")),
      changes: ["updated a1@9 from 5"],
    },
    {
      name: "a re-creation under one name",
      act: (store: Store<Stored>) => store.put(objectOf("a2@9")),
      changes: ["deleted a1@5 from 5 gone 9", "added a2@9"],
    },
    {
      name: "a deletion with a last state that was not seen",
      act: (store: Store<Stored>) => store.remove(objectOf("a1@9"), objectOf("a1@9")),
      changes: ["deleted a1@9 from 5 gone 9"],
    },
    {
      name: "the deletion of a successor, which ends the one it knew",
      act: (store: Store<Stored>) => store.remove(objectOf("a2@9")),
      changes: ["deleted a1@5 from 5 gone 9"],
    },
    {
      name: "the deletion of an unknown object as no change",
      act: (store: Store<Stored>) => store.remove(objectOf("z1@9")),
      changes: [],
    },
    {
      name: "a list with one more and one less",
      act: (store: Store<Stored>) => store.replace([objectOf("b1@8")], "9"),
      changes: ["deleted a1@5 from 5 gone 9", "added b1@8"],
    },
    {
      name: "a list with a re-creation",
      act: (store: Store<Stored>) => store.replace([objectOf("a2@8")], "9"),
      changes: ["deleted a1@5 from 5 gone 8", "added a2@8"],
    },
    { name: "an older state as no change", act: (store: Store<Stored>) => store.put(objectOf("a1@4")), changes: [] },
    {
      name: "the same state again as no change",
      act: (store: Store<Stored>) => store.put(objectOf("a1@5")),
      changes: [],
    },
    {
      name: "a state of an earlier object of that name as no change",
      act: (store: Store<Stored>) => store.put(objectOf("a0@4")),
      changes: [],
    },
    {
      name: "the late deletion of an earlier object of that name as no change",
      act: (store: Store<Stored>) => store.remove(objectOf("a0@4")),
      changes: [],
    },
    {
      name: "a state that arrives after the deletion as no change",
      act: (store: Store<Stored>) => {
        store.remove(objectOf("a1@9"));
        store.put(objectOf("a1@8"));
      },
      changes: ["deleted a1@5 from 5 gone 9"],
    },
    {
      name: "a state that arrives after its successor is gone as no change",
      act: (store: Store<Stored>) => {
        store.put(objectOf("a2@9"));
        store.remove(objectOf("a2@10"));
        store.put(objectOf("a1@8"));
      },
      changes: ["deleted a1@5 from 5 gone 9", "added a2@9", "deleted a2@9 from 9 gone 10"],
    },
    {
      name: "an object that left a selector and is back",
      act: (store: Store<Stored>) => {
        store.remove(objectOf("a1@9"));
        store.put(objectOf("a1@10"));
      },
      changes: ["deleted a1@5 from 5 gone 9", "added a1@10"],
    },
    {
      name: "a list that shows an older state: a list is the truth",
      act: (store: Store<Stored>) => store.replace([objectOf("a1@4")], "4"),
      changes: ["updated a1@4 from 5"],
    },
    {
      name: "a list that shows what was deleted, and what follows it: a list is the truth",
      act: (store: Store<Stored>) => {
        store.remove(objectOf("a1@9"));
        store.replace([objectOf("a1@4")], "4");
        store.put(objectOf("a1@6"));
      },
      changes: ["deleted a1@5 from 5 gone 9", "added a1@4", "updated a1@6 from 4"],
    },
    {
      name: "a list with the same states as no change",
      act: (store: Store<Stored>) => store.replace([objectOf("a1@5")], "9"),
      changes: [],
    },
    {
      name: "an empty list",
      act: (store: Store<Stored>) => store.replace([], "9"),
      changes: ["deleted a1@5 from 5 gone 9"],
    },
  ])("delivers $name", ({ act, changes: expected }) => {
    const { store, changes } = storeWith("a1@5");

    act(store);

    expect(changes).toEqual(expected);
  });

  it("has the whole list before it delivers the first change of it", () => {
    const seen: number[] = [];
    const store: Store<Stored> = new Store(() => seen.push(store.size));

    store.replace(["a1@1", "b1@2", "c1@3"].map(objectOf), "5");
    store.replace(["d1@6"].map(objectOf), "9");

    expect(seen).toEqual([3, 3, 3, 1, 1, 1, 1]);
  });

  it("remembers the latest thousand deletions, no more", () => {
    const { store, changes } = storeWith();
    store.put(objectOf("a1@5"));
    store.remove(objectOf("a1@6"));
    for (let uid = 0; uid < 1_000; uid += 1) store.remove({ key: "x", uid: `x${uid}`, resourceVersion: "7" });
    changes.splice(0);

    store.put(objectOf("a1@5"));
    store.put({ key: "x", uid: "x0", resourceVersion: "6" });

    expect(changes).toEqual(["added a1@5"]);
  });

  it("has what its changes add up to", () => {
    const step = fc.record({ kind: fc.constantFrom("put", "remove"), text: fc.stringMatching(/^[abc][12]@[1-9]$/) });
    const list = fc.record({
      kind: fc.constant("replace"),
      texts: fc.uniqueArray(fc.stringMatching(/^[abc][12]@[1-9]$/), { selector: (text) => text[0] }),
    });
    fc.assert(
      fc.property(fc.array(fc.oneof(step, list)), (steps) => {
        const seen = new Map<string, Stored>();
        const store = new Store<Stored>(({ kind, object }) => {
          if (kind === "deleted") seen.delete(object.uid);
          else seen.set(object.uid, object);
        });
        for (const one of steps) {
          if ("texts" in one) store.replace(one.texts.map(objectOf), "10");
          else store[one.kind === "put" ? "put" : "remove"](objectOf(one.text));
        }

        expect([...seen.values()].toSorted(byKey)).toEqual([...store.all()].toSorted(byKey));
        expect(store.size).toBe(seen.size);
      }),
    );
  });
});

function byKey(one: Stored, other: Stored): number {
  return one.key.localeCompare(other.key);
}

describe("an index", () => {
  it("knows the keys of a value until they are removed", () => {
    const index = new IndexMap();

    index.add("pv-1", "a");
    index.add("pv-1", "b");
    index.add("pv-1", "b");
    index.remove("pv-1", "a");
    index.remove("pv-1", "never added");
    index.remove("pv-2", "a");

    expect([...index.get("pv-1")]).toEqual(["b"]);
    index.remove("pv-1", "b");
    expect([...index.get("pv-1")]).toEqual([]);
  });

  it("is what sets of keys would be", () => {
    const step = fc.record({
      kind: fc.constantFrom("add" as const, "remove" as const),
      value: fc.constantFrom("x", "y"),
      key: fc.constantFrom("a", "b", "c"),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const index = new IndexMap();
        const sets = new Map([
          ["x", new Set<string>()],
          ["y", new Set<string>()],
        ]);
        for (const { kind, value, key } of steps) {
          index[kind](value, key);
          sets.get(value)?.[kind === "add" ? "add" : "delete"](key);
        }

        for (const [value, keys] of sets) expect([...index.get(value)].toSorted()).toEqual([...keys].toSorted());
      }),
    );
  });
});
