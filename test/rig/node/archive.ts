import { HarnessError } from "../process/errors.ts";

const BLOCK = 512;
const NAME_BYTES = 100;
const TYPES = { file: "0", link: "2", folder: "5" } as const;

/** An entry of an archive. It belongs to root. */
export type Entry = { readonly path: string; readonly mode?: number } & (
  | { readonly kind: "file"; readonly content: Uint8Array }
  | { readonly kind: "folder" }
  /** A symbolic link; it has no mode of its own. */
  | { readonly kind: "link"; readonly target: string }
);

/**
 * A tar archive (POSIX ustar). The same entries always give the same bytes: all are dated to the epoch. Throws a
 * HarnessError for a path or target of more than 100 bytes, which this format keeps in another way.
 */
export function tar(entries: readonly Entry[]): Uint8Array {
  return Buffer.concat([...entries.flatMap(entryBlocks), Buffer.alloc(2 * BLOCK)]);
}

function entryBlocks(entry: Entry): readonly Uint8Array[] {
  const content = entry.kind === "file" ? entry.content : new Uint8Array();
  const padding = Buffer.alloc((BLOCK - (content.byteLength % BLOCK)) % BLOCK);
  return [header(entry, content.byteLength), content, padding];
}

/** The fields in their places, as pax(1) lists them under "ustar Interchange Format". */
function header(entry: Entry, size: number): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  block.write(name(entry.kind === "folder" ? `${entry.path}/` : entry.path), 0);
  block.write(octal(entry.mode ?? defaultMode(entry), 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  // The sum of all bytes counts its own field as spaces.
  block.fill(" ", 148, 156);
  block.write(TYPES[entry.kind], 156);
  if (entry.kind === "link") block.write(name(entry.target), 157);
  block.write("ustar\u000000", 257);
  block.write("root", 265);
  block.write("root", 297);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148);
  return block;
}

function defaultMode({ kind }: Entry): number {
  if (kind === "file") return 0o644;
  return kind === "folder" ? 0o755 : 0o777;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function name(text: string): string {
  if (Buffer.byteLength(text) <= NAME_BYTES) return text;
  throw new HarnessError(`${text} is too long for an archive: ${NAME_BYTES} bytes are the limit`);
}
