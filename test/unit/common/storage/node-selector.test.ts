import { describe, expect, it } from "vitest";
import { mayMatch, type NodeRequirement, nodeSelectorTerms } from "../../../../common/storage/node-selector.ts";

const NODE = { name: "n1", labels: { zone: "a", disks: "4", odd: "x4", empty: "" } };

function expression(key: string, operator: string, values: readonly string[] = []): NodeRequirement {
  return { key, operator, values };
}

describe("whether a node may match", () => {
  it.each([
    { name: "In a list that has its value", of: expression("zone", "In", ["b", "a"]), may: true },
    { name: "In a list that has not", of: expression("zone", "In", ["b"]), may: false },
    { name: "In, without the label", of: expression("rack", "In", ["a"]), may: false },
    { name: "In a list with an empty value", of: expression("empty", "In", [""]), may: true },
    { name: "NotIn a list that has its value", of: expression("zone", "NotIn", ["a"]), may: false },
    { name: "NotIn a list that has not", of: expression("zone", "NotIn", ["b"]), may: true },
    { name: "NotIn, without the label", of: expression("rack", "NotIn", ["a"]), may: true },
    { name: "Exists", of: expression("zone", "Exists"), may: true },
    { name: "Exists, without the label", of: expression("rack", "Exists"), may: false },
    { name: "DoesNotExist", of: expression("zone", "DoesNotExist"), may: false },
    { name: "DoesNotExist, without the label", of: expression("rack", "DoesNotExist"), may: true },
    { name: "Gt what it is more than", of: expression("disks", "Gt", ["3"]), may: true },
    { name: "Gt what it is not more than", of: expression("disks", "Gt", ["4"]), may: false },
    { name: "Lt what it is less than", of: expression("disks", "Lt", ["5"]), may: true },
    { name: "Lt what it is not less than", of: expression("disks", "Lt", ["4"]), may: false },
    { name: "Gt, without the label", of: expression("rack", "Gt", ["3"]), may: false },
    { name: "Gt, where its value is no number", of: expression("odd", "Gt", ["3"]), may: false },
    { name: "Gt what is no number: nobody knows", of: expression("disks", "Gt", ["many"]), may: true },
    { name: "Gt a number of several digits", of: expression("disks", "Gt", ["12"]), may: false },
    { name: "Lt what only begins like a number: nobody knows", of: expression("disks", "Lt", ["1k"]), may: true },
    {
      name: "Gt two numbers of which the first is more: nobody knows",
      of: expression("disks", "Gt", ["9", "1"]),
      may: true,
    },
    {
      name: "an operator of a later time with a number: nobody knows",
      of: expression("disks", "AtMost", ["3"]),
      may: true,
    },
    { name: "Gt two numbers: nobody knows", of: expression("disks", "Gt", ["3", "5"]), may: true },
    { name: "an operator of a later time: nobody knows", of: expression("zone", "Near", ["b"]), may: true },
  ])("$name: $may", ({ of, may }) => {
    expect(mayMatch([{ labels: [of], fields: [] }], NODE)).toBe(may);
  });

  it.each([
    { name: "its name", of: expression("metadata.name", "In", ["n1"]), may: true },
    { name: "another name", of: expression("metadata.name", "In", ["n2"]), may: false },
    { name: "any name but its own", of: expression("metadata.name", "NotIn", ["n1"]), may: false },
    { name: "a field of a later time: nobody knows", of: expression("spec.rack", "In", ["n2"]), may: true },
  ])("by $name: $may", ({ of, may }) => {
    expect(mayMatch([{ labels: [], fields: [of] }], NODE)).toBe(may);
  });

  const met = expression("zone", "In", ["a"]);
  const unmet = expression("zone", "In", ["b"]);

  it.each([
    {
      name: "one of two terms is enough",
      terms: [
        { labels: [unmet], fields: [] },
        { labels: [met], fields: [] },
      ],
      may: true,
    },
    { name: "of a term all has to be met", terms: [{ labels: [met, unmet], fields: [] }], may: false },
    {
      name: "labels and fields alike",
      terms: [{ labels: [met], fields: [expression("metadata.name", "In", ["n2"])] }],
      may: false,
    },
    { name: "an empty term matches nothing", terms: [{ labels: [], fields: [] }], may: false },
    { name: "no term matches nothing", terms: [], may: false },
  ])("$name", ({ terms, may }) => {
    expect(mayMatch(terms, NODE)).toBe(may);
  });
});

describe("a node selector of the API", () => {
  it("is read with everything that may be left out", () => {
    const terms = nodeSelectorTerms({
      nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "Exists" }] }, { matchFields: null }],
    });

    expect(terms).toEqual([
      { labels: [expression("zone", "Exists")], fields: [] },
      { labels: [], fields: [] },
    ]);
  });

  it.each([{ input: undefined }, { input: {} }, { input: { nodeSelectorTerms: "all" } }])(
    "that is none says nothing: $input",
    ({ input }) => {
      expect(nodeSelectorTerms(input)).toBeUndefined();
    },
  );
});
