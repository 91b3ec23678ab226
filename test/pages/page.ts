import { readFileSync } from "node:fs";

const DOCS = new URL("../../docs/", import.meta.url);

/** A page of the documents, for a test that does what it says. */
export interface Page {
  /** The n-th block of commands, from 0, below a heading that is written with its `#`; throws when there is none. */
  readonly block: (heading: string, n?: number) => string;
}

/** Reads a page by its path below `docs`. Commands are what stands in a fence without a language. */
export function readPage(path: string): Page {
  const text = readFileSync(new URL(path, DOCS), "utf8");
  return {
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
  return [...section.matchAll(/^```\n(.*?)^```$/gms)].flatMap(([, commands]) => commands ?? []);
}
