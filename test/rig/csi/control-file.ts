import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import { codeOf } from "../process/errors.ts";
import { type Fault, faultList } from "./faults.ts";

/**
 * The driver reads its faults from a file at the begin of each call, and again and again while one hangs. A file, not a socket:
 * what is renamed into place holds for every call that begins later, without a word from the driver; it can be set before the
 * driver runs, and it outlives a driver that is killed.
 */
export function readFaults(file: string): readonly Fault[] {
  const text = readText(file);
  return text === undefined ? [] : v.parse(faultList, JSON.parse(text));
}

/** Replaces all faults at once; no reader ever sees half of them. */
export function writeFaults(file: string, faults: readonly Fault[]): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify(faults));
  renameSync(`${file}.new`, file);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
