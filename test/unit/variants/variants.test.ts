import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { WINGS as WORLDS } from "../../simulation/mutants.ts";
import { unknownCuts, WINGS } from "../../wires/wires.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PATCHES = [...Object.values(WORLDS), ...Object.values(WINGS)].flatMap(({ folder }) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".patch"))
    .map((name) => join(folder, name)),
);

/** The places of a patch, each with its file and the lines that it finds there; `git apply` wants nothing else of them, and no `git` is needed. */
function placesOf(patch: string): readonly { readonly file: string; readonly lines: string }[] {
  return patch.split(/^diff --git .*\n/m).flatMap((change) => {
    const file = /^--- a\/(.*)$/m.exec(change)?.[1];
    const [, ...hunks] = change.split(/^@@ .*\n/m);
    return file === undefined ? [] : hunks.map((hunk) => ({ file, lines: linesBefore(hunk) }));
  });
}

function linesBefore(hunk: string): string {
  const lines = hunk.split("\n").filter((line) => /^[ -]/.test(line));
  return `\n${lines.map((line) => line.slice(1)).join("\n")}\n`;
}

describe("a deliberately wrong variant", () => {
  it.each(PATCHES)("still fits the product: %s", (name) => {
    const places = placesOf(readFileSync(join(ROOT, name), "utf8"));

    const lost = places.filter(({ file, lines }) => !`\n${readFileSync(join(ROOT, file), "utf8")}`.includes(lines));

    expect(places).not.toEqual([]);
    expect(lost).toEqual([]);
  });

  it("says in its first line what is wrong with it", () => {
    const silent = PATCHES.filter((name) => !/^[A-Z].*\.\n/.test(readFileSync(join(ROOT, name), "utf8")));

    expect(silent).toEqual([]);
  });
});

describe("a cut wire", () => {
  it("is tried by its own name alone: a name that none has would be none that survives", async () => {
    expect(await unknownCuts(["acknowledged-records-stay", "settled"])).toEqual(["settled"]);
  });
});
