import fc from "fast-check";

const OLD = "failure-domain.beta.kubernetes.io/";
const NEW = "topology.kubernetes.io/";

// Few keys and values, so that they meet; among them each that has a trap of its own.
const key = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom("zone", "disks", `${OLD}zone`, `${NEW}zone`, `${OLD}region`, `${NEW}region`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("constructor", "example.com/a", "", "a/b/c", "/a", "a/", "__proto__", "-a", "A.b/c"),
  },
  {
    weight: 1,
    arbitrary: fc.string({ maxLength: 70, unit: fc.constantFrom("a", "Z", "9", "-", "_", ".", "/", " ", "é") }),
  },
);
const number = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("0", "4", "05", "4__5") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("9223372036854775807", "9223372036854775808", "9007199254740993", "9007199254740992"),
  },
  { weight: 1, arbitrary: fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String) },
);
const value = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom("a", "b", "a__b", "") },
  { weight: 6, arbitrary: number },
  {
    weight: 1,
    arbitrary: fc.string({ maxLength: 66, unit: fc.constantFrom("a", "9", "-", "_", ".", "+", "x", "\n") }),
  },
);
const operator = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt") },
  { weight: 1, arbitrary: fc.constantFrom("in", "Equals", "", "GT") },
);

/** Something else now and then: null, another kind of value, or an unknown member. */
export function orOdd<T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  const odd: fc.Arbitrary<unknown> = fc.constantFrom(null, undefined, "text", 7, [], {}, [null], { later: 1 }, true);
  return fc.oneof({ weight: 40, arbitrary: good }, { weight: 1, arbitrary: odd });
}

const some = fc.array(value, { minLength: 1, maxLength: 3 });
/** Requirements that are nearly always well formed. */
export const fitting = fc.oneof(
  { weight: 2, arbitrary: fc.record({ key, operator: fc.constantFrom("In", "NotIn"), values: some }) },
  { weight: 1, arbitrary: fc.record({ key, operator: fc.constantFrom("Exists", "DoesNotExist") }) },
  { weight: 1, arbitrary: fc.record({ key, operator: fc.constantFrom("Gt", "Lt"), values: fc.tuple(number) }) },
);
const loose = fc.record(
  { key: orOdd(key), operator: orOdd(operator), values: orOdd(fc.array(orOdd(value), { maxLength: 3 })) },
  { requiredKeys: [] },
);
const expression = fc.oneof({ weight: 7, arbitrary: fitting }, { weight: 1, arbitrary: loose });
const fieldKey = fc.oneof(
  { weight: 5, arbitrary: fc.constant("metadata.name") },
  { weight: 1, arbitrary: fc.constantFrom("spec.x", "") },
);
const field = fc.record({
  key: fieldKey,
  operator: fc.oneof({ weight: 5, arbitrary: fc.constantFrom("In", "NotIn") }, { weight: 1, arbitrary: operator }),
  values: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(["n1"], ["n2"]) },
    { weight: 1, arbitrary: fc.array(value, { maxLength: 2 }) },
  ),
});
const term = fc.record(
  {
    matchExpressions: orOdd(fc.array(orOdd(expression), { maxLength: 3 })),
    matchFields: orOdd(fc.array(orOdd(field), { maxLength: 1 })),
  },
  { requiredKeys: [] },
);
/** Node selectors, now and then with what does not belong there. */
export const selector = fc.record(
  { nodeSelectorTerms: orOdd(fc.array(orOdd(term), { maxLength: 3 })) },
  { requiredKeys: [] },
);
/** Labels of a node. */
export const labels = fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 5 });
