import { describe, expect, it } from "vitest";
import { ownersOf } from "../../../../common/storage/managed-fields.ts";

const PATH = ["f:status", "f:conditions", 'k:{"type":"Unused"}'];
const ITEM = { "f:status": { "f:conditions": { 'k:{"type":"Unused"}': { "f:status": {} } } } };

function entry(fields: Readonly<Record<string, unknown>>): unknown {
  return { manager: "m", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: ITEM, ...fields };
}

describe("ownersOf", () => {
  it("names those who own the field or something below it, and how they came to it", () => {
    const owners = ownersOf(
      [
        entry({ manager: "one", operation: "Apply", subresource: "status" }),
        entry({ manager: "two" }),
        entry({ manager: "none", fieldsV1: { "f:status": { "f:conditions": { ".": {} } } } }),
      ],
      PATH,
    );

    expect(owners).toEqual([
      { manager: "one", isApply: true },
      { manager: "two", isApply: false },
    ]);
  });

  it.each([
    { name: "there are none", managedFields: undefined },
    { name: "they are no list", managedFields: {} },
    { name: "an entry is null", managedFields: [null] },
    { name: "an entry has no fields", managedFields: [entry({ fieldsV1: undefined })] },
    { name: "an entry has fields of another shape", managedFields: [entry({ fieldsV1: { "f:status": "all" } })] },
    { name: "an entry has no manager", managedFields: [entry({ manager: undefined })] },
    { name: "a field is inherited", managedFields: [entry({ fieldsV1: Object.create(ITEM) })] },
  ])("finds no owner when $name", ({ managedFields }) => {
    expect(ownersOf(managedFields, PATH)).toEqual([]);
  });
});
