import { readFileSync } from "node:fs";

const DOCS = new URL("../../docs/", import.meta.url);

/** A page of the documents, for a test that does what it says. */
export interface Page {
  /** The n-th block of commands, from 0, below a heading that is written with its `#`; throws when there is none. */
  readonly block: (heading: string, n?: number) => string;
  /** All blocks of commands, in their order. */
  readonly blocks: readonly string[];
}

/** Reads a page by its path below `docs`. Commands are what stands in a fence without a language, or in one of YAML. */
export function readPage(path: string): Page {
  const blocks = blocksIn(readFileSync(new URL(path, DOCS), "utf8"));
  return {
    blocks: blocks.map(({ text }) => text),
    block: (heading, n = 0) => {
      const found = blocks.filter((block) => block.heading === heading)[n];
      if (found === undefined) throw new Error(`${path} has no block ${n} below ${heading}`);
      return found.text;
    },
  };
}

interface Block {
  /** The last heading before it, written with its `#`. */
  readonly heading: string;
  readonly text: string;
}

/** What stands between two fences, of which the first has no language or is of YAML. */
function blocksIn(page: string): readonly Block[] {
  const fenced = page.split(/^(```.*)$/m);
  const blocks: Block[] = [];
  let heading = "";
  // By fours: text, opening fence, block, closing fence. A comment in a block looks like a heading.
  for (let at = 0; at < fenced.length; at += 4) {
    heading = [...(fenced[at] ?? "").matchAll(/^#+ .*$/gm)].at(-1)?.[0] ?? heading;
    if (["```", "```yaml"].includes(fenced[at + 1] ?? ""))
      blocks.push({ heading, text: fenced[at + 2]?.slice(1) ?? "" });
  }
  return blocks;
}
