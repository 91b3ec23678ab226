import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { safeParse } from "valibot";
import { identify, ProcessIdentity, type ProcessTable } from "./identity.ts";

const OWNER = "owner.json";
/** Names of run folders begin with it. */
export const RUN_PREFIX = "mooring-";
/** Until its owner is written, a run folder is hidden under this name. */
export const UNFINISHED_PREFIX = `.${RUN_PREFIX}`;
/**
 * Every process that a run starts carries its run folder under this name, and so do the processes that those start. A run
 * inside a run has its folder in the outer one's, so that the outer one's end finds those processes too.
 */
export const RUN_VARIABLE = "MOORING_RUN";

/** Makes a run folder below `parent` that records `pid` as its owner; no other run ever sees it without the owner. */
export function createRunFolder(parent: string, table: ProcessTable, pid: number): string {
  const unfinished = mkdtempSync(join(parent, UNFINISHED_PREFIX));
  writeFileSync(join(unfinished, OWNER), JSON.stringify(identify(table, pid)));
  const folder = join(dirname(unfinished), basename(unfinished).slice(1));
  renameSync(unfinished, folder);
  return folder;
}

/** Notes a process that the run started, so that a later sweep can end it. */
export function recordChild(folder: string, child: ProcessIdentity): void {
  appendFileSync(join(folder, "children.jsonl"), `${JSON.stringify(child)}\n`);
}

/** The owner of a run folder; nothing when it is not recorded legibly. */
export function ownerOf(folder: string): ProcessIdentity | undefined {
  return identitiesIn(join(folder, OWNER))[0];
}

/** The processes that a run recorded; a line cut short by a crash is left out. */
export function childrenOf(folder: string): readonly ProcessIdentity[] {
  return identitiesIn(join(folder, "children.jsonl"));
}

/** Removes a run folder at once. Its owner's record goes last: what is left of it by a failure or a kill stays a run folder that a sweep removes. */
export function removeRunFolder(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (name !== OWNER) rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 3 });
  }
  rmSync(folder, { recursive: true, force: true });
}

function identitiesIn(file: string): readonly ProcessIdentity[] {
  return linesOf(file).flatMap((line) => {
    const parsed = safeParse(ProcessIdentity, parseJson(line));
    return parsed.success ? [parsed.output] : [];
  });
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    // Not written yet, or removed by another sweep: it names no process.
    return [];
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
