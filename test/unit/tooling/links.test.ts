import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const pages = globSync("**/*.md", { cwd: root, exclude: (name) => name.startsWith("node_modules") });
const textOf = (page: string): string => readFileSync(join(root, page), "utf8");

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const prose = textOf(page).replaceAll(/^```.*?^```/gms, "");
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading.replaceAll(/\]\([^)]*\)/g, "]"),
  );
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** Links of a page to files of the repository and to headings, that lead nowhere. */
function brokenLinks(page: string): readonly string[] {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : normalize(join(dirname(page), path));
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
  });
}

describe("links between documents", () => {
  it.each(pages)("lead somewhere: %s", (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });
});
