import { describe, expect, it } from "vitest";
import { matchNodeSelector, matchVolumeAffinity, mayBeMounted } from "../../../../common/storage/node-selector.ts";
import { parseNodeSelector, parseVolumeAffinity } from "../../../../common/storage/node-selector-terms.ts";
import { asks, LABELS, NODE, ofFields, ofLabels, selector } from "./selectors.ts";

const met = asks("zone", "In", ["a"]);
const unmet = asks("zone", "In", ["b"]);
const named = asks("metadata.name", "In", ["n1"]);
const otherName = asks("metadata.name", "In", ["n2"]);

function volumeAnswer(nodeAffinity: unknown, labels: Readonly<Record<string, string>> | null = LABELS): string {
  const answer = matchVolumeAffinity(parseVolumeAffinity(nodeAffinity), labels);
  return answer.kind === "unknown" ? `unknown: ${answer.path}` : answer.kind;
}

describe("the affinity of a PV", () => {
  const requires = (...terms: unknown[]) => ({ required: selector(...terms) });

  it.each([
    { name: "none admits every node", of: undefined, answer: "matches" },
    { name: "null admits every node", of: null, answer: "matches" },
    { name: "without a requirement it admits every node", of: {}, answer: "matches" },
    { name: "with null for the requirement it admits every node", of: { required: null }, answer: "matches" },
    { name: "with a requirement of no terms it admits none", of: { required: {} }, answer: "differs" },
    { name: "with an empty term it admits none", of: requires(ofLabels()), answer: "differs" },
    {
      name: "with several terms, one is enough",
      of: requires(ofLabels(asks("rack", "In", ["a"])), ofLabels(met)),
      answer: "matches",
    },
    {
      name: "with several requirements, all have to hold",
      of: requires(ofLabels(met, asks("disks", "In", ["0", "4"]))),
      answer: "matches",
    },
    { name: "one label of two is missing", of: requires(ofLabels(met, asks("rack", "In", ["a"]))), answer: "differs" },
    {
      name: "one label of two has another value",
      of: requires(ofLabels(met, asks("disks", "In", ["5"]))),
      answer: "differs",
    },
    {
      name: "no term of two holds",
      of: requires(ofLabels(asks("rack", "In", ["a"])), ofLabels(unmet)),
      answer: "differs",
    },
    { name: "names of nodes restrict nothing", of: requires(ofFields(otherName)), answer: "matches" },
    {
      name: "names of nodes restrict nothing beside labels that hold",
      of: requires({ ...ofLabels(met), ...ofFields(otherName) }),
      answer: "matches",
    },
    {
      name: "labels count beside names of nodes",
      of: requires({ ...ofLabels(unmet), ...ofFields(named) }),
      answer: "differs",
    },
    {
      name: "fields of a future version restrict nothing either",
      of: requires(ofFields(asks("spec.rack", "In", ["r"]))),
      answer: "matches",
    },
    {
      name: "fields have to be well formed all the same",
      of: requires(ofFields(asks("metadata.name", "In", ["n1", "n2"]))),
      answer: "unknown: required.nodeSelectorTerms[0].matchFields[0].values",
    },
    {
      name: "a part that cannot be read is reported with its path",
      of: requires(ofLabels(unmet), ofLabels(met, asks("zone", "Near", ["a"]))),
      answer: "unknown: required.nodeSelectorTerms[1].matchExpressions[1].operator",
    },
    { name: "a requirement that is a text cannot be read", of: { required: "zone=a" }, answer: "unknown: required" },
    { name: "a text cannot be read", of: "zone=a", answer: "unknown: " },
    { name: "a list cannot be read", of: [], answer: "unknown: " },
    {
      name: "a preference of a future version changes nothing",
      of: { ...requires(ofLabels(unmet)), preferred: [] },
      answer: "differs",
    },
  ])("$name", ({ of, answer }) => {
    expect(volumeAnswer(of)).toBe(answer);
    expect(mayBeMounted(parseVolumeAffinity(of), LABELS)).toBe(answer !== "differs");
  });

  it("admits no node without labels where it requires one", () => {
    expect(volumeAnswer(requires(ofLabels(met)), null)).toBe("differs");
  });
});

describe("why a part cannot be read", () => {
  const ofZone = (operator: string, values?: readonly unknown[]) => ofLabels(asks("zone", operator, values));

  it.each([
    { why: "is no qualified name", of: ofLabels(asks("a b", "Exists")) },
    { why: "can be the value of no label", of: ofZone("In", ["a b"]) },
    { why: "is empty for In", of: ofZone("In") },
    { why: "is empty for NotIn", of: ofZone("NotIn") },
    { why: "is not empty for Exists", of: ofZone("Exists", ["a"]) },
    { why: "is not empty for DoesNotExist", of: ofZone("DoesNotExist", ["a"]) },
    { why: "is not one whole number of 64 bits for Gt", of: ofZone("Gt", ["a"]) },
    { why: "is not one whole number of 64 bits for Lt", of: ofZone("Lt", ["1", "2"]) },
    { why: "is none of In, NotIn, Exists, DoesNotExist, Gt and Lt", of: ofZone("Near") },
    { why: "is neither In nor NotIn", of: ofFields(asks("metadata.name", "Gt", ["1"])) },
    { why: "has not exactly one element", of: ofFields(asks("metadata.name", "In", [])) },
    { why: "is not metadata.name", of: ofFields(asks("spec.rack", "In", ["r1"])) },
    { why: "is not as the API has it", of: ofZone("In", [1]) },
  ])("$why", ({ of, why }) => {
    expect(matchNodeSelector(parseNodeSelector(selector(of)), NODE)).toMatchObject({ kind: "unknown", why });
  });

  it("is that an old name was used", () => {
    const old = ofLabels(asks("failure-domain.beta.kubernetes.io/zone", "Exists"));
    const answer = matchVolumeAffinity(parseVolumeAffinity({ required: selector(old) }), {
      "topology.kubernetes.io/zone": "a",
    });

    expect(answer).toEqual({
      kind: "unknown",
      path: "required.nodeSelectorTerms[0].matchExpressions[0].key",
      why: "is an old name for a zone or region that the node has under the new one",
    });
  });

  it("names the begin of an unknown member's name", () => {
    const answer = matchVolumeAffinity(parseVolumeAffinity({ required: { ["x".repeat(5_000)]: 1 } }), LABELS);

    expect(answer).toMatchObject({ path: `required.${"x".repeat(99)}` });
  });
});

describe("why a node is not selected", () => {
  const many = ["v1", "v2", "v3", "v4"];

  it.each([
    { name: "names the label", of: [ofLabels(unmet)], why: 'it asks for zone In (b), the node has "a"' },
    {
      name: "names the missing label",
      of: [ofLabels(asks("rack", "Exists"))],
      why: "it asks for rack Exists, the node has no such label",
    },
    {
      name: "names the bound",
      of: [ofLabels(asks("disks", "Gt", ["007"]))],
      why: 'it asks for disks Gt 7, the node has "4"',
    },
    {
      name: "names the first values",
      of: [ofLabels(asks("zone", "In", many))],
      why: 'it asks for zone In (v1, v2, v3, …), the node has "a"',
    },
    {
      name: "names three values",
      of: [ofLabels(asks("zone", "In", ["v1", "v2", "v3"]))],
      why: 'it asks for zone In (v1, v2, v3), the node has "a"',
    },
    {
      name: "names a key of eighty characters",
      of: [ofLabels(asks(`${"k".repeat(70)}/${"n".repeat(9)}`, "Exists"))],
      why: `it asks for ${"k".repeat(70)}/${"n".repeat(9)} Exists, the node has no such label`,
    },
    {
      name: "cuts a longer one",
      of: [ofLabels(asks(`${"k".repeat(70)}/${"n".repeat(10)}`, "Exists"))],
      why: `it asks for ${"k".repeat(70)}/${"n".repeat(9)}… Exists, the node has no such label`,
    },
    { name: "names the node", of: [ofFields(otherName)], why: "it asks for metadata.name In (n2)" },
    {
      name: "names the number of terms",
      of: [ofLabels(unmet), ofLabels(unmet)],
      why: 'none of its 2 terms is met; of the first, it asks for zone In (b), the node has "a"',
    },
    { name: "mentions that there are no terms", of: [], why: "it has no terms, so that it admits no node" },
  ])("$name", ({ of, why }) => {
    const answer = matchNodeSelector(parseNodeSelector(selector(...of)), NODE);

    expect(answer).toEqual({ kind: "differs", why });
  });

  it("is never longer than an event can be, whatever the affinity requires", () => {
    const key = `${"a".repeat(253)}/${"b".repeat(63)}`;
    const values = Array.from({ length: 100 }, (_, n) => `${"v".repeat(60)}${n}`);
    const answer = matchNodeSelector(
      parseNodeSelector(selector(ofLabels(asks(key, "In", values)), ofLabels(unmet))),
      NODE,
    );

    expect(JSON.stringify(answer).length).toBeLessThan(500);
  });
});
