import { describe, expect, it } from "vitest";
import { lasting, type StoredEntry, undoing } from "../../../control-plane/first-state.ts";

const SIGN_OF_LIFE = "/registry/leases/kube-system/apiserver-abc";

function entry(key: string, revision: number, isLeased = false): StoredEntry {
  return { key, revision: String(revision), value: `${key} at ${revision}`, isLeased };
}

const FIRST = [entry("a", 1), entry("b", 2), entry("event", 3, true), entry(SIGN_OF_LIFE, 4)];

describe("the way back to the first state", () => {
  it.each([
    {
      name: "nothing is done where nothing changed but what etcd removes by itself",
      now: [entry("a", 1), entry("b", 2)],
      steps: [],
    },
    { name: "a new key is deleted", now: [entry("a", 1), entry("b", 2), entry("c", 5)], steps: [{ key: "c" }] },
    { name: "a key that is gone is put back", now: [entry("a", 1)], steps: [{ key: "b", value: "b at 2" }] },
    {
      name: "a key that was written again gets its first value",
      now: [entry("a", 9), entry("b", 2)],
      steps: [{ key: "a", value: "a at 1" }],
    },
    {
      name: "what etcd removes by itself is deleted, of the first state too",
      now: [entry("a", 1), entry("b", 2), entry("event", 3, true)],
      steps: [{ key: "event" }],
    },
    {
      name: "the API server's sign of life stays as it is",
      now: [entry("a", 1), entry("b", 2), entry(SIGN_OF_LIFE, 8)],
      steps: [],
    },
  ])("$name", ({ now, steps }) => {
    expect(undoing(lasting(FIRST), now)).toEqual(steps.map((step) => ({ value: undefined, ...step })));
  });
});
