import { describe, expect, it } from "vitest";
import { cutMiddle, layOut, type Screen, type Table } from "../../../cli/table.ts";

const pipe: Screen = { width: undefined, hasColour: false };

function table(...rows: readonly (readonly string[])[]): Table {
  return {
    columns: [{ title: "CLAIM" }, { title: "NODE", shorten: cutMiddle }, { title: "AGE" }],
    rows: rows.map((row) => row.map((text) => ({ text }))),
  };
}

describe("layOut", () => {
  it("lines up the columns with two spaces between them and none at the end", () => {
    const text = layOut(table(["orders", "a", "5d"], ["b", "node-b", ""]), pipe);

    expect(text).toBe("CLAIM   NODE    AGE\norders  a       5d\nb       node-b  -\n");
  });

  it.each([
    { name: "stays whole in a pipe", width: undefined, node: "node-0123456789-abcdef" },
    { name: "stays complete where it fits", width: 38, node: "node-0123456789-abcdef" },
    { name: "loses its middle where it does not fit", width: 37, node: "node-01234…789-abcdef" },
    { name: "keeps twelve characters however narrow the terminal is", width: 10, node: "node-…abcdef" },
  ])("a long name $name", ({ width, node }) => {
    const text = layOut(table(["orders-11", "node-0123456789-abcdef", "5d"]), { width, hasColour: false });

    expect(text.split("\n")[1]?.split(/ +/)).toEqual(["orders-11", node, "5d"]);
  });

  it.each([
    { name: "in red where there is colour", hasColour: true, line: "\u001b[1;31mMounted\u001b[0m   x" },
    { name: "plain without", hasColour: false, line: "Mounted   x" },
  ])("prints an alarm $name and keeps the columns", ({ hasColour, line }) => {
    const columns = [{ title: "STATUS" }, { title: "NODE" }];
    const rows = [
      [{ text: "Mounted", isAlarm: true }, { text: "x" }],
      [{ text: "12345678" }, { text: "y" }],
    ];

    const text = layOut({ columns, rows }, { width: undefined, hasColour });

    expect(text.split("\n")[1]).toBe(line);
  });

  it.each([
    { name: "an escape sequence", text: "\u001b[2Jgone", shown: "?[2Jgone" },
    { name: "a new line", text: "a\nb", shown: "a?b" },
    { name: "a change of the writing direction", text: "a\u202eb", shown: "a?b" },
  ])("shows $name as a question mark", ({ text, shown }) => {
    expect(layOut({ columns: [{ title: "POD" }], rows: [[{ text }]] }, pipe)).toBe(`POD\n${shown}\n`);
  });
});
