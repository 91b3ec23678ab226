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
  const text = readFileSync(new URL(path, DOCS), "utf8");
  return {
    blocks: blocksIn(text),
    block: (heading, n = 0) => {
      const found = blocksBelow(text, heading)[n];
      if (found === undefined) throw new Error(`${path} has no block ${n} below ${heading}`);
      return found;
    },
  };
}

/** The commands between a heading and the next one. */
function blocksBelow(text: string, heading: string): readonly string[] {
  const begin = `\n${text}`.indexOf(`\n${heading}\n`);
  if (begin === -1) return [];
  const [, section = ""] = text.slice(begin).split(/^#+ .*$/m);
  return blocksIn(section);
}

/** What stands between two fences, of which the first has no language or is of YAML. */
function blocksIn(text: string): readonly string[] {
  const fenced = text.split(/^(```.*)$/m);
  const blocks: string[] = [];
  // By fours: text, opening fence, block, closing fence.
  for (let at = 1; at < fenced.length; at += 4)
    if (fenced[at] === "```" || fenced[at] === "```yaml") blocks.push(fenced[at + 1]?.slice(1) ?? "");
  return blocks;
}
