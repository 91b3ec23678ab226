import { describe, expect, it } from "vitest";
import { asksFor, readFilter } from "../../../../aggregator/core/list-filter.ts";

const ALLOWED = ["namespace", "name"];

function read(query: string) {
  return readFilter(ALLOWED, new URLSearchParams(query));
}

describe("readFilter", () => {
  it.each([
    { query: "", found: true },
    { query: "namespace=shop", found: true },
    { query: "namespace=sho", found: false },
    { query: "namespace=bank&namespace=shop", found: true },
    { query: "namespace=shop&name=data", found: true },
    { query: "namespace=shop&name=other", found: false },
    { query: "name=d%61ta", found: true },
  ])('"$query" asks for shop/data: $found', ({ query, found }) => {
    const result = read(query);
    if (result.kind === "problems") throw new Error(result.problems.join());

    expect(asksFor(result.filter, "namespace", "shop") && asksFor(result.filter, "name", "data")).toBe(found);
  });

  it.each([
    {
      name: "a parameter that is not known, and says which are",
      query: "status=Unused",
      problems: ['unknown parameter "status"; allowed: namespace, name'],
    },
    { name: "a name that is spelled otherwise", query: "Name=a", problems: [expect.stringContaining('"Name"')] },
    { name: "a value that is empty", query: "namespace=", problems: ["namespace: empty"] },
    {
      name: "everything at once",
      query: "a=1&name=&name=x",
      problems: [expect.stringContaining('"a"'), "name: empty"],
    },
    {
      name: "a parameter of paging, and says what replaced it",
      query: "limit=1000",
      problems: [
        'unknown parameter "limit"; allowed: namespace, name; lists are streamed, not paged, as of api.mooring.dev/v2: update the client',
      ],
    },
  ])("refuses $name", ({ query, problems }) => {
    expect(read(query)).toEqual({ kind: "problems", problems });
  });

  it("tells no more of a wrong name, and no more problems, than help who sent them", () => {
    const result = read(`${"x".repeat(500)}=1&${"a=1&".repeat(50)}`);
    if (result.kind !== "problems") throw new Error("it was taken");

    expect(result.problems).toHaveLength(20);
    expect(result.problems[0]).toContain(`"${"x".repeat(80)}…"`);
  });
});
