import { describe, expect, it } from "vitest";
import { Template } from "../../cluster/template.ts";

/** A stored object with the lengths that protobuf has before its texts. */
function stored(...texts: readonly string[]): Buffer {
  return Buffer.concat(texts.map((text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])));
}

describe("Template", () => {
  it.each([
    {
      name: "each text of its own stands in the copy, wherever the old one stood",
      bytes: stored("web-0001", "team", "web-0001"),
      from: { name: "web-0001", space: "team" },
      to: { name: "web-0002", space: "team" },
      copy: stored("web-0002", "team", "web-0002"),
    },
    {
      name: "a text within a longer one is part of that one's change",
      bytes: stored("data-web-0001-0", "web-0001"),
      from: ["web-0001", "data-web-0001-0"],
      to: ["web-0002", "data-web-0002-0"],
      copy: stored("data-web-0002-0", "web-0002"),
    },
    {
      name: "a text of another length is left as it is, for its length stands before it",
      bytes: stored("web-0001", "10.0.1.9"),
      from: ["web-0001", "10.0.1.9"],
      to: ["web-0002", "10.0.1.10"],
      copy: stored("web-0002", "10.0.1.9"),
    },
    {
      name: "a text that is short might stand for something else",
      bytes: stored("ab", "cable"),
      from: ["ab"],
      to: ["xy"],
      copy: stored("ab", "cable"),
    },
  ])("$name", ({ bytes, from, to, copy }) => {
    const template = new Template(bytes, from);

    expect(template.copy(to)).toEqual(copy);
  });

  it("is not changed by its copies", () => {
    const template = new Template(stored("web-0001"), ["web-0001"]);

    template.copy(["web-0002"]);

    expect(template.copy(["web-0003"])).toEqual(stored("web-0003"));
  });

  it("refuses a copy that has more or fewer texts", () => {
    const template = new Template(stored("web-0001"), ["web-0001"]);

    expect(() => template.copy(["web-0002", "more"])).toThrow("another shape");
  });
});
