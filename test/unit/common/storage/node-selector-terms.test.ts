import { describe, expect, it } from "vitest";
import { answerOf, asks, ofFields, ofLabels, selector } from "./selectors.ts";

const met = asks("zone", "In", ["a"]);
const unmet = asks("zone", "In", ["b"]);
const broken = asks("invalid key", "In", ["a"]);
const named = asks("metadata.name", "In", ["n1"]);
const otherName = asks("metadata.name", "In", ["n2"]);

describe("the terms of a selector", () => {
  it.each([
    { name: "none matches nothing", of: selector(), answer: "differs" },
    { name: "null matches nothing", of: { nodeSelectorTerms: null }, answer: "differs" },
    { name: "nothing at all matches nothing", of: {}, answer: "differs" },
    { name: "an empty one matches nothing", of: selector({}), answer: "differs" },
    {
      name: "one of empty lists matches nothing",
      of: selector({ matchExpressions: [], matchFields: [] }),
      answer: "differs",
    },
    {
      name: "one of nulls matches nothing",
      of: selector({ matchExpressions: null, matchFields: null }),
      answer: "differs",
    },
    { name: "one that is null matches nothing", of: selector(null), answer: "differs" },
    { name: "an empty one takes nothing from another", of: selector({}, ofLabels(met)), answer: "matches" },
    { name: "one of two is enough", of: selector(ofLabels(unmet), ofLabels(met)), answer: "matches" },
    { name: "two that do not hold are not enough", of: selector(ofLabels(unmet), ofLabels(unmet)), answer: "differs" },
    { name: "of one, every requirement has to hold", of: selector(ofLabels(met, unmet)), answer: "differs" },
    {
      name: "of one, all requirements may hold",
      of: selector(ofLabels(met, asks("disks", "Exists"))),
      answer: "matches",
    },
    {
      name: "labels and fields have to hold together",
      of: selector({ ...ofLabels(met), ...ofFields(named) }),
      answer: "matches",
    },
    {
      name: "the labels hold, the name does not",
      of: selector({ ...ofLabels(met), ...ofFields(otherName) }),
      answer: "differs",
    },
    {
      name: "the name holds, the labels do not",
      of: selector({ ...ofLabels(unmet), ...ofFields(named) }),
      answer: "differs",
    },
    {
      name: "two requirements on one label have to hold both",
      of: selector(ofLabels(asks("zone", "Exists"), asks("zone", "NotIn", ["b", "c"]))),
      answer: "matches",
    },
    {
      name: "of two requirements on one label, one does not hold",
      of: selector(ofLabels(asks("zone", "Exists"), asks("zone", "In", ["b", "c"]))),
      answer: "differs",
    },
    { name: "the first may go by another name", of: selector(ofFields(otherName), ofLabels(met)), answer: "matches" },
    {
      name: "neither the name nor the labels of another one hold",
      of: selector(ofFields(otherName), ofLabels(unmet)),
      answer: "differs",
    },
    { name: "the second may go by name", of: selector(ofLabels(unmet), ofFields(named)), answer: "matches" },
    {
      name: "one that cannot be read does not matter where another one holds",
      of: selector(ofLabels(broken), ofLabels(met)),
      answer: "matches",
    },
    {
      name: "one that cannot be read does not matter behind one that holds",
      of: selector(ofLabels(met), ofLabels(broken)),
      answer: "matches",
    },
    {
      name: "one that cannot be read counts where no other one holds",
      of: selector(ofLabels(unmet), ofLabels(broken)),
      answer: "unknown: nodeSelectorTerms[1].matchExpressions[0].key",
    },
    {
      name: "a requirement that cannot be read spoils its term, though another one of it does not hold",
      of: selector(ofLabels(unmet, broken)),
      answer: "unknown: nodeSelectorTerms[0].matchExpressions[1].key",
    },
    {
      name: "a field that cannot be read spoils its term, too",
      of: selector({ ...ofLabels(unmet), ...ofFields(asks("metadata.name", "In", ["n1", "n2"])) }),
      answer: "unknown: nodeSelectorTerms[0].matchFields[0].values",
    },
    {
      name: "a name of two values, a good term for this node and a key that is none: the good one counts",
      of: selector(
        ofFields(asks("metadata.name", "In", ["n1", "n2"])),
        { ...ofLabels(met), ...ofFields(named) },
        ofLabels(broken),
      ),
      answer: "matches",
    },
    {
      name: "the first of several parts that cannot be read is reported",
      of: selector(ofFields(asks("metadata.name", "In", ["n1", "n2"])), ofLabels(broken)),
      answer: "unknown: nodeSelectorTerms[0].matchFields[0].values",
    },
    {
      name: "a term with a member of a later time cannot be read",
      of: selector({ ...ofLabels(unmet), matchTaints: [] }),
      answer: "unknown: nodeSelectorTerms[0].matchTaints",
    },
    { name: "a term that is a list cannot be read", of: selector([]), answer: "unknown: nodeSelectorTerms[0]" },
    {
      name: "a text for the terms cannot be read",
      of: { nodeSelectorTerms: "all" },
      answer: "unknown: nodeSelectorTerms",
    },
    {
      name: "a selector with a member of a later time cannot be read",
      of: { ...selector(), anyOf: [] },
      answer: "unknown: anyOf",
    },
    { name: "a selector that is a list cannot be read", of: [], answer: "unknown: " },
  ])("$name", ({ of, answer }) => {
    expect(answerOf(of)).toBe(answer);
  });
});

const OLD = "failure-domain.beta.kubernetes.io/zone";
const REGION = "failure-domain.beta.kubernetes.io/region";
const NEW = "topology.kubernetes.io/zone";

describe("an old name for a zone", () => {
  const unsure = "unknown: nodeSelectorTerms[0].matchExpressions[0].key";
  const both = { [OLD]: "a", [NEW]: "b" };

  it.each([
    {
      name: "is a label like others where the node has it",
      labels: { [OLD]: "a" },
      of: asks(OLD, "In", ["a"]),
      answer: "matches",
    },
    { name: "is what counts where the node has both", labels: both, of: asks(OLD, "In", ["b"]), answer: "differs" },
    { name: "is absent where the node has neither", labels: {}, of: asks(OLD, "In", ["a"]), answer: "differs" },
    {
      name: "may mean the zone that the node has under the new one",
      labels: { [NEW]: "a" },
      of: asks(OLD, "In", ["a"]),
      answer: unsure,
    },
    {
      name: "does not select a node of another zone, whichever way it is read",
      labels: { [NEW]: "b" },
      of: asks(OLD, "In", ["a"]),
      answer: "differs",
    },
    { name: "may mean both of two zones", labels: { [NEW]: "b" }, of: asks(OLD, "In", ["a__b"]), answer: unsure },
    {
      name: "may mean both of two zones with longer names",
      labels: { [NEW]: "eu-1" },
      of: asks(OLD, "In", ["eu-1__eu-2"]),
      answer: unsure,
    },
    {
      name: "does not mean a zone for the letters of its name",
      labels: { [NEW]: "e" },
      of: asks(OLD, "In", ["eu-1__eu-2"]),
      answer: "differs",
    },
    {
      name: "may exclude both of two zones",
      labels: { [NEW]: "b" },
      of: asks(OLD, "NotIn", ["a__b"]),
      answer: unsure,
    },
    {
      name: "may exclude the zone that the node has under the new one",
      labels: { [NEW]: "a" },
      of: asks(OLD, "NotIn", ["a"]),
      answer: unsure,
    },
    {
      name: "does not exclude a node of another zone",
      labels: { [NEW]: "b" },
      of: asks(OLD, "NotIn", ["a"]),
      answer: "matches",
    },
    { name: "may be there under the new one", labels: { [NEW]: "b" }, of: asks(OLD, "Exists"), answer: unsure },
    {
      name: "may be unwanted under the new one",
      labels: { [NEW]: "b" },
      of: asks(OLD, "DoesNotExist"),
      answer: unsure,
    },
    {
      name: "goes for regions, too",
      labels: { "topology.kubernetes.io/region": "r" },
      of: asks(REGION, "In", ["r"]),
      answer: unsure,
    },
    {
      name: "of a zone does not affect the region",
      labels: { "topology.kubernetes.io/region": "a" },
      of: asks(OLD, "In", ["a"]),
      answer: "differs",
    },
    { name: "is not read out of the new one", labels: { [OLD]: "a" }, of: asks(NEW, "In", ["a"]), answer: "differs" },
  ])("$name", ({ labels, of, answer }) => {
    expect(answerOf(selector(ofLabels(of)), { name: "n1", labels })).toBe(answer);
  });

  it.each([
    {
      name: "leaves a term that does not hold anyway",
      terms: [ofLabels(asks(OLD, "In", ["a"]), unmet)],
      answer: "differs",
    },
    {
      name: "leaves another term that holds",
      terms: [ofLabels(asks(OLD, "In", ["a"])), ofLabels(asks(NEW, "In", ["a"]))],
      answer: "matches",
    },
  ])("$name", ({ terms, answer }) => {
    expect(answerOf(selector(...terms), { name: "n1", labels: { [NEW]: "a", zone: "z" } })).toBe(answer);
  });
});
