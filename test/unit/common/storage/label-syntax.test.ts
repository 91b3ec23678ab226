import * as v from "valibot";
import { describe, expect, it } from "vitest";
import {
  isLabelKey,
  isLabelValue,
  labelOf,
  labelsSchema,
  parseInt64,
} from "../../../../common/storage/label-syntax.ts";

const A63 = "a".repeat(63);

describe("the key of a label", () => {
  it.each([
    { name: "is a word", key: "zone", is: true },
    { name: "may have capitals, dots, dashes and underscores inside", key: "My.Zone-1_b", is: true },
    { name: "may be a single digit", key: "1", is: true },
    { name: "may have a subdomain in front", key: "topology.kubernetes.io/zone", is: true },
    { name: "may have a subdomain with digits and dashes", key: "a-1.b2/x", is: true },
    { name: "has at most 63 characters", key: A63, is: true },
    { name: "has no 64", key: `${A63}a`, is: false },
    { name: "has at most 63 characters beside 253 of the subdomain", key: `${"a.".repeat(126)}a/${A63}`, is: true },
    { name: "has no 254 characters of a subdomain", key: `${"a.".repeat(126)}aa/x`, is: false },
    { name: "is not empty", key: "", is: false },
    { name: "has no empty name", key: "example.com/", is: false },
    { name: "has no empty subdomain", key: "/zone", is: false },
    { name: "has one slash", key: "a/b/c", is: false },
    { name: "has no blank", key: "invalid key", is: false },
    { name: "does not begin with an underscore, so that __proto__ is none", key: "__proto__", is: false },
    { name: "may be called like a member of every object", key: "constructor", is: true },
    { name: "does not end with a dot", key: "zone.", is: false },
    { name: "has no capitals in the subdomain", key: "Example.com/zone", is: false },
    { name: "has no underscore in the subdomain", key: "a_b.com/zone", is: false },
    { name: "has no empty part in the subdomain", key: "a..b/zone", is: false },
    { name: "has no part of the subdomain that ends with a dash", key: "a-.b/zone", is: false },
    { name: "has no letters beyond ASCII", key: "zöne", is: false },
    { name: "has no end of line", key: "zone\n", is: false },
  ])("$name: $is", ({ key, is }) => {
    expect(isLabelKey(key)).toBe(is);
  });
});

describe("the value of a label", () => {
  it.each([
    { name: "may be empty", value: "", is: true },
    { name: "is a word", value: "eu-west-1a", is: true },
    { name: "has at most 63 characters", value: A63, is: true },
    { name: "has no 64", value: `${A63}a`, is: false },
    { name: "does not begin with a dash", value: "-1", is: false },
    { name: "does not begin with a plus", value: "+5", is: false },
    { name: "does not end with an underscore", value: "a_", is: false },
    { name: "has no slash", value: "a/b", is: false },
    { name: "has no blank", value: "a b", is: false },
    { name: "has no end of line", value: "a\n", is: false },
  ])("$name: $is", ({ value, is }) => {
    expect(isLabelValue(value)).toBe(is);
  });
});

describe("a number of 64 bits", () => {
  it.each([
    { text: "0", value: 0n },
    { text: "0206", value: 206n },
    { text: "-7", value: -7n },
    { text: "+7", value: 7n },
    { text: "9007199254740993", value: 9007199254740993n },
    { text: "9223372036854775807", value: 9223372036854775807n },
    { text: "9223372036854775808", value: undefined },
    { text: "-9223372036854775808", value: -9223372036854775808n },
    { text: "-9223372036854775809", value: undefined },
    { text: `${"0".repeat(40)}5`, value: 5n },
    { text: "", value: undefined },
    { text: "+", value: undefined },
    { text: "--1", value: undefined },
    { text: "12abc", value: undefined },
    { text: "0x10", value: undefined },
    { text: "1_000", value: undefined },
    { text: "1.0", value: undefined },
    { text: "1e3", value: undefined },
    { text: " 1", value: undefined },
    { text: "1\n", value: undefined },
    { text: "٣", value: undefined },
  ])("reads $text as $value", ({ text, value }) => {
    expect(parseInt64(text)).toBe(value);
  });
});

describe("labels", () => {
  it("keep keys that every object has", () => {
    const labels = v.parse(labelsSchema, JSON.parse('{"constructor": "a", "prototype": "b", "__proto__": "c"}'));

    expect(labelOf(labels, "constructor")).toBe("a");
    expect(labelOf(labels, "prototype")).toBe("b");
    expect(labelOf(labels, "__proto__")).toBe("c");
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])("have no %s unless they were given it", (key) => {
    expect(labelOf({ zone: "a" }, key)).toBeUndefined();
  });

  it.each([{ labels: null }, { labels: undefined }, { labels: {} }])("that are $labels have no keys", ({ labels }) => {
    expect(labelOf(labels, "zone")).toBeUndefined();
  });

  it.each([
    { input: null },
    { input: ["a"] },
    { input: { zone: 1 } },
    { input: { zone: "a", rack: 1 } },
    { input: "zone=a" },
  ])("are not $input", ({ input }) => {
    expect(v.is(labelsSchema, input)).toBe(false);
  });
});
