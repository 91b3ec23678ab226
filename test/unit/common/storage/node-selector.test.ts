import { describe, expect, it } from "vitest";
import { answerOf, asks, LABELS, ofFields, ofLabels, selector } from "./selectors.ts";

const VALUES = "unknown: nodeSelectorTerms[0].matchExpressions[0].values";

describe("a requirement on a label", () => {
  it.each([
    { name: "In holds for a value of its list", of: asks("zone", "In", ["b", "a"]), answer: "matches" },
    { name: "In does not hold for another value", of: asks("zone", "In", ["b"]), answer: "differs" },
    { name: "In does not hold without the label", of: asks("rack", "In", ["a"]), answer: "differs" },
    { name: "In does not take a part for the whole", of: asks("zone", "In", ["ab"]), answer: "differs" },
    { name: "In holds for an empty value", of: asks("empty", "In", [""]), answer: "matches" },
    { name: "In with an empty value wants the label", of: asks("rack", "In", [""]), answer: "differs" },
    { name: "In without values cannot be read", of: asks("zone", "In", []), answer: VALUES },
    { name: "In with null for values cannot be read", of: asks("zone", "In", null), answer: VALUES },
    { name: "NotIn does not hold for a value of its list", of: asks("zone", "NotIn", ["a"]), answer: "differs" },
    { name: "NotIn holds for another value", of: asks("zone", "NotIn", ["b", "c"]), answer: "matches" },
    { name: "NotIn holds without the label", of: asks("rack", "NotIn", ["a"]), answer: "matches" },
    { name: "NotIn without values cannot be read", of: asks("rack", "NotIn", []), answer: VALUES },
    { name: "Exists holds for any value", of: asks("zone", "Exists"), answer: "matches" },
    { name: "Exists holds for an empty value", of: asks("empty", "Exists", []), answer: "matches" },
    { name: "Exists does not hold without the label", of: asks("rack", "Exists"), answer: "differs" },
    { name: "Exists with values cannot be read", of: asks("zone", "Exists", ["a"]), answer: VALUES },
    { name: "DoesNotExist holds without the label", of: asks("rack", "DoesNotExist"), answer: "matches" },
    { name: "DoesNotExist does not hold for an empty value", of: asks("empty", "DoesNotExist"), answer: "differs" },
    { name: "DoesNotExist with values cannot be read", of: asks("rack", "DoesNotExist", ["a"]), answer: VALUES },
    { name: "Gt holds for more", of: asks("disks", "Gt", ["3"]), answer: "matches" },
    { name: "Gt does not hold for as many", of: asks("disks", "Gt", ["4"]), answer: "differs" },
    { name: "Gt compares numbers, not texts", of: asks("disks", "Gt", ["12"]), answer: "differs" },
    { name: "Gt reads zeros in front", of: asks("disks", "Gt", ["0003"]), answer: "matches" },
    {
      name: "Gt distinguishes numbers that a double cannot",
      of: asks("huge", "Gt", ["9007199254740992"]),
      answer: "matches",
    },
    { name: "Lt holds for less", of: asks("disks", "Lt", ["5"]), answer: "matches" },
    { name: "Lt does not hold for as many", of: asks("disks", "Lt", ["4"]), answer: "differs" },
    { name: "Lt holds below the largest bound", of: asks("disks", "Lt", ["9223372036854775807"]), answer: "matches" },
    {
      name: "Lt of more than 64 bits cannot be read",
      of: asks("disks", "Lt", ["9223372036854775808"]),
      answer: VALUES,
    },
    { name: "Gt does not hold without the label", of: asks("rack", "Gt", ["3"]), answer: "differs" },
    { name: "Gt does not hold for what is no number", of: asks("odd", "Gt", ["3"]), answer: "differs" },
    { name: "Lt does not hold for what is no number", of: asks("odd", "Lt", ["3"]), answer: "differs" },
    { name: "Lt does not hold for an empty value", of: asks("empty", "Lt", ["3"]), answer: "differs" },
    { name: "Gt with no number cannot be read", of: asks("disks", "Gt", ["many"]), answer: VALUES },
    { name: "Lt with what begins like a number cannot be read", of: asks("disks", "Lt", ["1k"]), answer: VALUES },
    { name: "Lt with an empty value cannot be read", of: asks("disks", "Lt", [""]), answer: VALUES },
    { name: "Gt with two numbers cannot be read", of: asks("disks", "Gt", ["9", "1"]), answer: VALUES },
    { name: "Gt without a number cannot be read", of: asks("disks", "Gt"), answer: VALUES },
    { name: "Gt with a negative number cannot be read", of: asks("disks", "Gt", ["-1"]), answer: `${VALUES}[0]` },
    { name: "Gt with a plus cannot be read", of: asks("disks", "Gt", ["+1"]), answer: `${VALUES}[0]` },
    {
      name: "a value that no label can have cannot be read",
      of: asks("zone", "In", ["a", "b "]),
      answer: `${VALUES}[1]`,
    },
    {
      name: "a value of 64 characters cannot be read",
      of: asks("zone", "NotIn", ["a".repeat(64)]),
      answer: `${VALUES}[0]`,
    },
    {
      name: "an operator in other letters cannot be read",
      of: asks("zone", "in", ["a"]),
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].operator",
    },
    {
      name: "an operator of a later time cannot be read",
      of: asks("zone", "Near", ["a"]),
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].operator",
    },
    {
      name: "no operator cannot be read",
      of: { key: "zone" },
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].operator",
    },
    {
      name: "a key that no label can have cannot be read",
      of: asks("invalid key", "In", ["a"]),
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].key",
    },
    {
      name: "no key cannot be read",
      of: { operator: "Exists" },
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].key",
    },
    {
      name: "a key that every JavaScript object answers to is no label of the node",
      of: asks("constructor", "Exists"),
      answer: "differs",
    },
    {
      name: "the key __proto__ cannot be read",
      of: asks("__proto__", "DoesNotExist"),
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].key",
    },
    {
      name: "a member of a later time cannot be read",
      of: { ...asks("zone", "In", ["a"]), unless: "b" },
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].unless",
    },
    {
      name: "values that are no texts cannot be read",
      of: asks("disks", "In", [4]),
      answer: `${VALUES}[0]`,
    },
    { name: "null cannot be read", of: null, answer: "unknown: nodeSelectorTerms[0].matchExpressions[0].key" },
    { name: "a list cannot be read", of: [], answer: "unknown: nodeSelectorTerms[0].matchExpressions[0]" },
  ])("$name", ({ of, answer }) => {
    expect(answerOf(selector(ofLabels(of)))).toBe(answer);
  });

  it.each([{ labels: null }, { labels: undefined }, { labels: {} }])(
    "of a node whose labels are $labels asks for what is not there",
    ({ labels }) => {
      expect(answerOf(selector(ofLabels(asks("zone", "Exists"))), { name: "n1", labels })).toBe("differs");
      expect(answerOf(selector(ofLabels(asks("zone", "NotIn", ["a"]))), { name: "n1", labels })).toBe("matches");
    },
  );
});

describe("a requirement on a field", () => {
  const path = "unknown: nodeSelectorTerms[0].matchFields[0]";

  it.each([
    { name: "holds for the node's name", of: asks("metadata.name", "In", ["n1"]), answer: "matches" },
    { name: "does not hold for another name", of: asks("metadata.name", "In", ["n2"]), answer: "differs" },
    { name: "may exclude the node", of: asks("metadata.name", "NotIn", ["n1"]), answer: "differs" },
    { name: "may exclude another", of: asks("metadata.name", "NotIn", ["n2"]), answer: "matches" },
    { name: "has one value, not two", of: asks("metadata.name", "In", ["n1", "n2"]), answer: `${path}.values` },
    { name: "has one value, not none", of: asks("metadata.name", "NotIn", []), answer: `${path}.values` },
    { name: "has no other operators", of: asks("metadata.name", "Exists"), answer: `${path}.operator` },
    { name: "of a future version is unknown", of: asks("spec.rack", "In", ["r1"]), answer: `${path}.key` },
  ])("$name", ({ of, answer }) => {
    expect(answerOf(selector(ofFields(of)))).toBe(answer);
  });

  it("is left out for a node without a name", () => {
    const term = ofFields(asks("metadata.name", "In", ["n1"]));

    expect(answerOf(selector(term), { name: "", labels: LABELS })).toBe("matches");
  });
});
